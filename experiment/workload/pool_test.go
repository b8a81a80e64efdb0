package workload

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func drawShared(t *rapid.T) Workload {
	w := Workload{Input: Length{Dist: "uniform", Min: 20, Max: 60}, Output: Length{Dist: "uniform", Min: 1, Max: 30}, Rate: 3}
	if rapid.Bool().Draw(t, "prefix") {
		w.Prefix = &Prefix{Tokens: rapid.IntRange(1, 19).Draw(t, "tokens"), Groups: rapid.IntRange(1, 4).Draw(t, "groups"),
			State: rapid.SampledFrom([]string{Cold, Shared, Warm}).Draw(t, "state"), Zipf: rapid.Float64Range(0, 2).Draw(t, "zipf")}
		if rapid.Bool().Draw(t, "by rate") {
			w.Prefix.Tokens, w.Prefix.HitRate = 0, rapid.Float64Range(0.1, 0.9).Draw(t, "rate")
		}
	}
	if rapid.Bool().Draw(t, "conversations") {
		w.Session = &Session{Turns: Turns{Length{Dist: "uniform", Min: 1, Max: 4}}, User: Length{Dist: "uniform", Min: 1, Max: 40}, Think: Think{Dist: "exponential", Mean: 2}}
	}
	if rapid.Bool().Draw(t, "closed") {
		w.Rate = 0
	}
	return w
}

// The hits of a plan equal those of a brute-force comparison of the tokens that it sends, request by request.
func TestHitsAreThoseOfTheTokens(t *testing.T) {
	vocabulary := Vocabulary{IDs: 1 << 30}
	hits := 0
	rapid.Check(t, func(t *rapid.T) {
		w := drawShared(t)
		plan := NewPlan(w, rapid.Uint64().Draw(t, "seed"), "")
		blocks, size := rapid.IntRange(0, 60).Draw(t, "blocks"), rapid.SampledFrom([]int{1, 4, 7, 16, 32}).Draw(t, "block")
		pool := NewPool(blocks, size)
		other := newReader(blocks, size)
		tokens := func(blocks []Block) []int32 { return vocabulary.TokenIDs(nil, &Request{Blocks: blocks}) }
		for r := range plan.Priming {
			other.serve(tokens(r.Blocks), tokens(plan.Answer(&r)))
		}
		n := 0
		for r, hit := range plan.Serve(pool, rapid.IntRange(1, 4).Draw(t, "slots"), 0) {
			if want := other.serve(tokens(r.Blocks), tokens(plan.Answer(&r))); hit != want {
				t.Fatalf("request %d (conversation %d, turn %d) of %d tokens hits %d, by the tokens %d", r.Index, r.Session, r.Turn, r.Input, hit, want)
			}
			hits += hit
			if n++; n == 40 {
				break
			}
		}
	})
	if hits == 0 {
		t.Error("nothing was ever hit: the test says nothing")
	}
}

// The same for prompts that come again as they were, or as a part of each other: the last block of a prompt
// is computed again then.
func TestHitsOfRepeatedPrompts(t *testing.T) {
	vocabulary := Vocabulary{IDs: 1 << 30}
	rapid.Check(t, func(t *rapid.T) {
		blocks, size := rapid.IntRange(0, 30).Draw(t, "blocks"), rapid.SampledFrom([]int{4, 8, 16}).Draw(t, "block")
		pool := NewPool(blocks, size)
		other := newReader(blocks, size)
		for range rapid.IntRange(1, 40).Draw(t, "requests") {
			r := Request{}
			text := rapid.Uint64Range(1, 3).Draw(t, "text")
			for i := range rapid.Uint64Range(1, 6).Draw(t, "length") {
				r.Blocks = append(r.Blocks, Block{ID: text*100 + i, Tokens: 8})
				r.Input += 8
			}
			tokens := vocabulary.TokenIDs(nil, &r)
			if hit, want := pool.serve(&r, nil), other.serve(tokens, nil); hit != want {
				t.Fatalf("hits %d, by the tokens %d", hit, want)
			}
		}
	})
}

// cycle serves some contexts of so many blocks in turn.
func cycle(t *testing.T, contexts, blocks, capacity int) (hits []int) {
	t.Helper()
	pool := NewPool(capacity, BlockTokens)
	for i := range 4 * contexts {
		r := Request{Input: blocks*BlockTokens + 1} // one token more, which has to be computed
		for b := range blocks {
			r.Blocks = append(r.Blocks, Block{ID: uint64(i%contexts*1000 + b), Tokens: BlockTokens})
		}
		r.Blocks = append(r.Blocks, Block{ID: uint64(1e6 + i%contexts), Tokens: 1})
		hits = append(hits, pool.serve(&r, nil))
	}
	return hits[contexts:] // the first round fills it
}

// Contexts in a cycle are the worst case of every cache that frees what was used longest ago.
func TestCyclicContexts(t *testing.T) {
	const contexts, blocks = 5, 8
	for _, tt := range []struct {
		capacity int
		want     int
	}{
		// Each context takes a block more for its last token.
		{contexts * (blocks + 1), blocks}, {(contexts - 1) * (blocks + 1), 0}, {blocks, 0}, {0, blocks},
	} {
		for _, hit := range cycle(t, contexts, blocks, tt.capacity) {
			if hit != tt.want*BlockTokens {
				t.Errorf("%d blocks: a hit of %d tokens, want %d", tt.capacity, hit, tt.want*BlockTokens)
			}
		}
	}
	// vLLM keeps the front of a context longest, so that a pool a few blocks short still hits there.
	for _, hit := range cycle(t, contexts, blocks, contexts*(blocks+1)-3) {
		if hit == 0 || hit == blocks*BlockTokens {
			t.Errorf("three blocks short: a hit of %d tokens", hit)
		}
	}
}

func TestPoolRefuses(t *testing.T) {
	pool := NewPool(3, 16)
	big := NewPlan(Workload{Input: Fixed(64), Output: Fixed(1)}, 1, "").Next()
	for range 2 {
		if hit := pool.serve(&big, nil); hit != 0 {
			t.Errorf("a prompt larger than the pool hits %d", hit)
		}
	}
}

// The order of an endlessly fast server, and of one that takes its time.
func TestOrderOfAll(t *testing.T) {
	type turn struct{ session, turn int }
	order := func(w Workload, slots, n int, takes time.Duration) (out []turn) {
		for r := range NewPlan(w, 1, "").all(slots, takes) {
			if out = append(out, turn{r.Session, r.Turn}); len(out) == n {
				return out
			}
		}
		return out
	}
	w := Workload{Input: Fixed(9), Output: Fixed(9), Session: &Session{Turns: Turns{Fixed(2)}, User: Fixed(3), Think: Think{Dist: "fixed", Mean: 2.5}}}
	if got, want := order(w, 2, 6, time.Second), []turn{{0, 0}, {1, 0}, {0, 1}, {1, 1}, {2, 0}, {3, 0}}; !slices.Equal(got, want) {
		t.Errorf("two users: %v, want %v", got, want)
	}
	w.Rate, w.Arrival.Process = 1, "constant"
	if got, want := order(w, 0, 7, 0), []turn{{0, 0}, {1, 0}, {2, 0}, {0, 1}, {3, 0}, {1, 1}, {4, 0}}; !slices.Equal(got, want) {
		t.Errorf("one a second: %v, want %v", got, want)
	}
	if got, want := order(w, 0, 7, time.Second), []turn{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {0, 1}, {4, 0}, {1, 1}}; !slices.Equal(got, want) {
		t.Errorf("answers of a second: %v, want %v", got, want)
	}
}

func TestAllIsThePlan(t *testing.T) {
	for _, rate := range []Rate{0, 2, Rate(math.Inf(1))} {
		w := talking
		w.Rate = rate
		p := NewPlan(w, 1, "")
		got := map[int]Request{}
		for r := range p.all(7, time.Second) {
			if got[r.Index] = r; len(got) == 900 {
				break
			}
		}
		missing := 0
		for _, want := range turns(w, 1, 100) {
			r, ok := got[want.Index]
			if !ok {
				missing++
			} else if r.Input != want.Input || r.Turn != want.Turn || r.Session != want.Session || !slices.Equal(r.Blocks, want.Blocks) {
				t.Fatalf("rate %v: %+v, want %+v", rate, r, want)
			}
		}
		if missing > 0 {
			t.Errorf("rate %v: %d turns of the first conversations are missing from the first 900 requests", rate, missing)
		}
	}
}

// A warm row hits its whole prefix from the first request on, a cold one nothing, a shared one all but the
// first of each group.
func TestHitsOfTheStates(t *testing.T) {
	hits := func(state string) (found int) {
		w := Workload{Input: Fixed(1000), Output: Fixed(100), Prefix: &Prefix{Tokens: 500, Groups: 4, State: state}}
		pool := NewPool(0, BlockTokens)
		sent := 0
		for _, hit := range NewPlan(w, 1, "").Serve(pool, 8, 0) {
			if found, sent = found+hit, sent+1; sent == 100 {
				break
			}
		}
		return found
	}
	const whole = 500 / 16 * 16
	for state, want := range map[string]int{Cold: 0, Shared: 96 * whole, Warm: 100 * whole} {
		if got := hits(state); got != want {
			t.Errorf("%s: %d, want %d", state, got, want)
		}
	}
}

// An unbounded pool keeps only what may come again: cold requests leave nothing in it.
func TestUnboundedPoolStaysSmall(t *testing.T) {
	pool := NewPool(0, BlockTokens)
	w := Workload{Input: Fixed(2048), Output: Fixed(128), Prefix: &Prefix{Tokens: 1024, Groups: 10}}
	n := 0
	for range NewPlan(w, 1, "").Serve(pool, 1, 0) {
		if n++; n == 1000 {
			break
		}
	}
	if len(pool.seen) != 640 {
		t.Errorf("%d keys, want those of ten prefixes of 64 blocks", len(pool.seen))
	}
}

func BenchmarkServe(b *testing.B) {
	for _, blocks := range []int{0, 10_000} {
		b.Run(fmt.Sprint(blocks, " blocks"), func(b *testing.B) {
			pool := NewPool(blocks, BlockTokens)
			w := Workload{Input: Fixed(2048), Output: Fixed(128), Prefix: &Prefix{Tokens: 1024, Groups: 10, Zipf: 1}}
			n := 0
			b.ReportAllocs()
			for range NewPlan(w, 1, "").Serve(pool, 1, 0) {
				if n++; n >= b.N {
					break
				}
			}
		})
	}
}

package mock

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"bench/experiment/kv"
	"bench/experiment/workload"
)

// The hits of a plan, as the client computes them, are those of this server: request by request, for prefixes
// and conversations, in caches of which some are too small. The two share no code.
func TestHitsOfAPlan(t *testing.T) {
	zipf := workload.Prefix{Tokens: 200, Groups: 7, Zipf: 1, State: workload.Shared}
	warm := workload.Prefix{Tokens: 96, Groups: 4, State: workload.Warm}
	talk := workload.Session{Turns: workload.Turns{Length: workload.Fixed(4)}, User: workload.Fixed(30)}
	for name, w := range map[string]workload.Workload{
		"cold":          {Input: workload.Fixed(300), Output: workload.Fixed(20)},
		"popular":       {Input: workload.Length{Dist: "uniform", Min: 210, Max: 400}, Output: workload.Fixed(33), Prefix: &zipf},
		"warm":          {Input: workload.Fixed(150), Output: workload.Length{Dist: "uniform", Min: 1, Max: 40}, Prefix: &warm},
		"conversations": {Input: workload.Fixed(100), Output: workload.Fixed(25), Session: &talk},
		"both":          {Input: workload.Fixed(250), Output: workload.Fixed(17), Prefix: &zipf, Session: &talk},
	} {
		for _, blocks := range []int{36, 60, 100, 2000} {
			t.Run(fmt.Sprint(name, " in ", blocks), func(t *testing.T) {
				if hits := replay(t, w, blocks); name != "cold" && blocks == 2000 && hits == 0 {
					t.Error("nothing hit")
				}
			})
		}
	}
}

// replay sends a plan, each request alone, and holds what the server finds against what the plan says. It
// returns the hits.
func replay(t *testing.T, w workload.Workload, blocks int) (all int) {
	w.Seed = 11
	plan := workload.NewPlan(w, 3, "salt")
	pool := workload.NewPool(blocks, kv.BlockTokens)
	c := stepped()
	c.KVBlocks, c.MaxModelLen = blocks, blocks*kv.BlockTokens
	s := speaker{bench: newBench(t, c), said: map[uint64][]int32{}}
	for r := range plan.Priming {
		s.ask(plan, &r)
	}
	n := 0
	for r, want := range plan.Serve(pool, 3, time.Second) {
		if q := s.ask(plan, &r); q.cached != want {
			t.Fatalf("request %d (conversation %d, turn %d) of %d tokens: %d hit, by the plan %d", r.Index, r.Session, r.Turn, r.Input, q.cached, want)
		}
		all += want
		if n++; n == 120 {
			return all
		}
	}
	return all
}

// speaker asks what a plan says, with the server's own answers in later turns.
type speaker struct {
	*bench
	said map[uint64][]int32 // by the block that stands for it
}

func (s speaker) ask(plan *workload.Plan, r *workload.Request) *seq {
	q := s.add(s.tokens(r.Blocks), r.Output, s.now)
	s.settle()
	written := 0
	for _, b := range plan.Answer(r) {
		for range b.Tokens {
			s.said[b.ID] = append(s.said[b.ID], q.generated(written))
			written++
		}
	}
	return q
}

func (s speaker) tokens(blocks []workload.Block) (ids []int32) {
	for _, b := range blocks {
		if said := s.said[b.ID]; said != nil {
			ids = append(ids, said[:b.Tokens]...)
			continue
		}
		r := rand.New(rand.NewPCG(b.ID, 1))
		for range b.Tokens {
			ids = append(ids, r.Int32N(32000))
		}
	}
	return ids
}

// Contexts in a circle, one request at a time: a whole context more than the first tier holds, and it finds
// nothing; a second tier that has room for all of them finds every context from the second round on; one that
// has not, nothing.
func TestTilingOverTwoTiers(t *testing.T) {
	const contexts, blocks, rounds = 6, 20, 4
	w := workload.Workload{Generator: workload.Tiling, Input: workload.Fixed(blocks * kv.BlockTokens), Output: workload.Fixed(5),
		Tile: &workload.Tile{Contexts: contexts, QuestionTokens: 2 * kv.BlockTokens}}
	const whole = (blocks - 2) * kv.BlockTokens
	for _, tt := range []struct {
		name      string
		hbm, tier int // blocks
		from      int // tokens of a prompt that are found after the first round, at least
		upTo      int
	}{
		{"both tiers too small", (contexts - 1) * blocks / 2, (contexts - 1) * blocks / 2, 0, 0},
		{"a whole context over the first, no second", (contexts - 1) * blocks, 0, 0, 0},
		{"a whole context over the first, under the second", (contexts - 1) * blocks, 3 * contexts * blocks, whole, whole + kv.BlockTokens},
		{"under the first", 3 * contexts * blocks, 0, whole, whole + kv.BlockTokens},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := stepped()
			c.KVBlocks, c.MaxModelLen = tt.hbm, 512
			c.KVBytesPerToken, c.KVOffloadingGB = 1e6, float64(tt.tier)*kv.BlockTokens*1.0001e-3
			s := speaker{bench: newBench(t, c), said: map[uint64][]int32{}}
			plan := workload.NewPlan(w, 3, "salt")
			for i := range rounds * contexts {
				r := plan.Next()
				q := s.ask(plan, &r)
				if from, upTo := tt.from, tt.upTo; i >= contexts && (q.cached < from || q.cached > upTo) || i < contexts && q.cached > 0 {
					t.Errorf("request %d found %d tokens of %d, not %d to %d", i, q.cached, r.Input, from, upTo)
				}
			}
		})
	}
}

package mock

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"bench/experiment/kv"
)

// naiveCache is both tiers of a cache by brute force: lists of whole prefixes, each ending with the block
// that it stands for.
type naiveCache struct {
	free   []naiveBlock // in the order in which they will be taken
	second [][]int32    // the latest last
	room   int          // of second
	born   int
}

type naiveBlock struct {
	prefix []int32 // nil: it stands for nothing
	born   int     // when it got its name: of twins the older one is found
}

// run is what one request, alone on the server, finds in the two tiers and leaves behind.
func (c *naiveCache) run(prompt, computed []int32, chunk int) (hit, loads int) {
	at := func(b int) []int32 { return prompt[:b*kv.BlockTokens] }
	var held []naiveBlock
	for (hit+1)*kv.BlockTokens < len(prompt) && c.find(at(hit+1)) >= 0 {
		i := c.find(at(hit + 1))
		held = append(held, c.free[i])
		c.free = slices.Delete(c.free, i, i+1)
		hit++
	}
	for n := hit + 1; n*kv.BlockTokens < len(prompt) && c.stored(at(n)) >= 0; n++ {
		loads++
	}
	for n := hit + loads; n > hit; n-- {
		c.store(at(n)) // again: it is the latest now
	}
	held = c.grow(held, loads, len(prompt))
	c.name(held, computed, hit, hit+loads)
	for done := (hit + loads) * kv.BlockTokens; done < len(computed); {
		next := done + min(chunk, max(1, len(prompt)-done))
		held = c.grow(held, 1, next)
		c.name(held, computed, done/kv.BlockTokens, next/kv.BlockTokens)
		done = next
	}
	slices.Reverse(held) // its last block is the next to be taken
	c.free = append(c.free, held...)
	return hit, loads
}

// grow takes blocks for so many tokens, if at all.
func (c *naiveCache) grow(held []naiveBlock, all, tokens int) []naiveBlock {
	for all > 0 && len(held)*kv.BlockTokens < tokens {
		c.evict(c.free[0], held)
		c.free = c.free[1:]
		held = append(held, naiveBlock{})
	}
	return held
}

// name has blocks stand for what is in them.
func (c *naiveCache) name(held []naiveBlock, computed []int32, from, to int) {
	for b := from; b < to; b++ {
		c.born++
		held[b] = naiveBlock{computed[:(b+1)*kv.BlockTokens], c.born}
	}
}

// find is the oldest block of a name, -1 if there is none.
func (c *naiveCache) find(prefix []int32) int {
	found := -1
	for i, b := range c.free {
		if b.prefix != nil && slices.Equal(b.prefix, prefix) && (found < 0 || b.born < c.free[found].born) {
			found = i
		}
	}
	return found
}

// evict loses a block, to the second tier if it was the last of its name.
func (c *naiveCache) evict(b naiveBlock, held []naiveBlock) {
	same := func(o naiveBlock) bool { return o.born != b.born && slices.Equal(o.prefix, b.prefix) }
	if b.prefix != nil && !slices.ContainsFunc(c.free, same) && !slices.ContainsFunc(held, same) {
		c.store(b.prefix)
	}
}

func (c *naiveCache) stored(prefix []int32) int {
	return slices.IndexFunc(c.second, func(p []int32) bool { return slices.Equal(p, prefix) })
}

func (c *naiveCache) store(prefix []int32) {
	if i := c.stored(prefix); i >= 0 {
		c.second = slices.Delete(c.second, i, i+1)
	}
	c.second = append(c.second, prefix)
	c.second = c.second[max(0, len(c.second)-c.room):]
}

// With each request alone, the hits are those of a search through whole prefixes in plain lists, evictions
// and all.
func TestPrefixHitsEqualBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := stepped()
		c.MaxNumBatchedTokens = 64 // prompts come in chunks
		c.KVBlocks, c.MaxModelLen = rapid.IntRange(10, 60).Draw(t, "capacity"), 160
		room := rapid.IntRange(0, 30).Draw(t, "second")
		c.KVBytesPerToken, c.KVOffloadingGB = 1e6, float64(room)*kv.BlockTokens*1.0001e-3
		b := newBench(t, c)
		naive := naiveCache{free: make([]naiveBlock, c.KVBlocks), room: room}
		for range rapid.IntRange(1, 25).Draw(t, "requests") {
			// Few different blocks, so that prefixes repeat.
			var prompt []int32
			for range rapid.IntRange(0, 6).Draw(t, "blocks") {
				prompt = append(prompt, fresh(rapid.IntRange(0, 1).Draw(t, "block"), kv.BlockTokens)...)
			}
			prompt = append(prompt, fresh(9, rapid.IntRange(1, 20).Draw(t, "tail"))...)
			q := b.add(prompt, rapid.IntRange(1, 40).Draw(t, "output"), b.now)
			before := *b.counters
			b.settle()
			computed := slices.Clone(prompt)
			for i := range q.want - 1 { // the last token's KV is never computed
				computed = append(computed, q.generated(i))
			}
			hit, loads := naive.run(prompt, computed, c.MaxNumBatchedTokens)
			hits, twos := (b.counters.hit-before.hit)/kv.BlockTokens, (b.counters.offloadHit-before.offloadHit)/kv.BlockTokens
			if hits != hit || twos != loads || q.cached != (hit+loads)*kv.BlockTokens {
				t.Fatalf("%d blocks hit and %d loaded of %d tokens (%d cached), by brute force %d and %d", hits, twos, len(prompt), q.cached, hit, loads)
			}
			if b.counters.queried-before.queried != len(prompt) || room > 0 && b.counters.offloadQueried-before.offloadQueried != len(prompt)-hit*kv.BlockTokens {
				t.Fatalf("%d and %d tokens were looked up, of %d", b.counters.queried-before.queried, b.counters.offloadQueried-before.offloadQueried, len(prompt))
			}
		}
	})
}

// Tiling: prompts in a cycle hit always if they all fit, and never if one whole prompt is too many.
func TestCyclicPromptsAndCapacity(t *testing.T) {
	const prompts, blocks = 4, 5 // each prompt: 4 full blocks and one more for the rest of it
	for _, test := range []struct{ capacity, hits int }{{prompts * blocks, 4 * kv.BlockTokens}, {blocks * (prompts - 1), 0}} {
		c := stepped()
		c.KVBlocks, c.MaxModelLen = test.capacity, blocks*kv.BlockTokens
		b := newBench(t, c)
		for round := range 3 {
			for i := range prompts {
				q := b.add(fresh(i, 4*kv.BlockTokens+1), 2, b.now)
				b.settle()
				if round > 0 && q.cached != test.hits {
					t.Errorf("%d blocks, round %d: %d tokens hit, want %d", test.capacity, round, q.cached, test.hits)
				}
			}
		}
	}
}

// What the first tier has lost comes back from the second, in the time that its bandwidth takes; meanwhile
// others go on.
func TestSecondTier(t *testing.T) {
	c := stepped()
	c.KVBlocks, c.MaxModelLen = 10, 160
	c.KVBytesPerToken, c.KVOffloadingGB, c.KVOffloadingGBs = 1e6, 1, 2 // a block: 16 MB, 8 ms
	b := newBench(t, c)
	one, two := fresh(1, 129), fresh(2, 129) // 9 blocks each: one evicts the other
	for _, prompt := range [][]int32{one, two} {
		b.add(prompt, 1, b.now)
		b.settle()
	}
	b.now = time.Second
	q := b.add(one, 1, b.now)
	b.settle()
	if q.cached != 128 || q.admitted != time.Second+7*8*time.Millisecond || q.emitted[0] != q.admitted+base+perFill {
		t.Errorf("%d tokens found, admitted at %v, first token at %v", q.cached, q.admitted, q.emitted)
	}
	if s := b.sim.offload; s.loaded != 7 || s.tier.Stored() != 14 || b.counters.offloadHit != 7*kv.BlockTokens { // the head of its prefix was the last to go

		t.Errorf("%d blocks loaded, %d stored, %d tokens hit", s.loaded, s.tier.Stored(), b.counters.offloadHit)
	}
	b.now = 2 * time.Second
	loads := b.add(two[:97], 1, b.now) // 7 blocks, 5 of them to load
	short := b.add(fresh(3, 8), 1, b.now)
	b.settle()
	if short.emitted[0] != 2*time.Second+base+8*perFill || loads.admitted != 2*time.Second+5*8*time.Millisecond {
		t.Errorf("a request beside a load: token at %v; the load was over at %v", short.emitted[0], loads.admitted)
	}
}

// A link so fast that a block takes less than a nanosecond: what it brings is there at once, and not computed
// again.
func TestSecondTierInNoTime(t *testing.T) {
	c := stepped()
	c.KVBlocks, c.MaxModelLen = 10, 160
	c.KVBytesPerToken, c.KVOffloadingGB, c.KVOffloadingGBs = 1e4, 1, 1e6 // 160 kB at 1000 TB/s
	b := newBench(t, c)
	one, two := fresh(1, 129), fresh(2, 129) // 9 blocks each: one evicts the other
	for _, prompt := range [][]int32{one, two} {
		b.add(prompt, 1, b.now)
		b.settle()
	}
	b.now = time.Second
	q := b.add(one, 1, b.now)
	b.settle()
	if q.cached != 128 || b.sim.offload.loaded != 7 || q.loading != 0 || q.emitted[0] != time.Second+base+perFill {
		t.Errorf("%d tokens found, %d blocks loaded, %d of them still on their way; first token at %v", q.cached, b.sim.offload.loaded, q.loading, q.emitted)
	}
}

// Cached tokens take no time; after a reset they do again. A whole prompt is never a hit.
func TestCachedPrefillIsFree(t *testing.T) {
	b := newBench(t, stepped())
	prompt := fresh(1, 10*kv.BlockTokens)
	ttft := func() time.Duration {
		q := b.add(prompt, 1, b.now)
		start := b.sim.end
		b.settle()
		return q.emitted[0] - max(start, q.arrival)
	}
	if cold := ttft(); cold != base+160*perFill {
		t.Errorf("cold: %v", cold)
	}
	if warm := ttft(); warm != base+16*perFill {
		t.Errorf("warm: %v", warm)
	}
	if !b.sim.resetCache(false) {
		t.Error("an idle cache could not be reset")
	}
	if cold := ttft(); cold != base+160*perFill {
		t.Errorf("after a reset: %v", cold)
	}
}

// A cache in use is not reset, unless those who use it are preempted for it; they start again then.
func TestResetWhileRunning(t *testing.T) {
	b := newBench(t, stepped())
	q := b.add(fresh(1, 64), 20, 0)
	b.until(10 * time.Millisecond)
	if b.sim.resetCache(false) {
		t.Error("a cache in use was reset")
	}
	if !b.sim.resetCache(true) || b.sim.pool.Used() != 0 {
		t.Error("it was not, although that was asked for")
	}
	b.settle()
	if q.preemptions != 1 || q.out != 20 || len(q.emitted) != 20 || q.cached != 0 {
		t.Errorf("%d preemptions, %d tokens", q.preemptions, q.out)
	}
}

// A conversation's next turn finds the prompt and the answer of the one before.
func TestNextTurnHits(t *testing.T) {
	b := newBench(t, stepped())
	s := &responder{vocab: b.vocab}
	turns := []message{{Role: "user", Content: content{{text: "one two three four five six seven eight nine ten"}}}}
	q := b.add(s.chat(turns), 50, 0)
	b.settle()
	p := reply{q: q}
	answer := p.text(0, q.want)
	turns = append(turns, message{Role: "assistant", Content: content{{text: answer}}}, message{Role: "user", Content: content{{text: "and then"}}})
	next := b.add(s.chat(turns), 1, b.now)
	b.settle()
	if want := (len(q.prompt) + q.want - 1) / kv.BlockTokens * kv.BlockTokens; next.cached != want {
		t.Errorf("%d tokens hit, want %d", next.cached, want)
	}
}

// Clients leave while the cache is taken from the running: what is noted of a request and what the reset does
// to it don't meet. With the race detector this fails where they do.
func TestResetWhileClientsLeave(t *testing.T) {
	url := real(t, stepped())
	h := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 20}}
	defer h.CloseIdleConnections()
	var leaving sync.WaitGroup
	for i := range 8 {
		leaving.Go(func() {
			for range 10 {
				ctx, cancel := context.WithTimeout(t.Context(), 15*time.Millisecond)
				req, _ := http.NewRequestWithContext(ctx, "POST", url+"/v1/completions", strings.NewReader(idBody(i, 200, 2000)))
				if resp, err := h.Do(req); err == nil {
					io.Copy(io.Discard, resp.Body) // until it is cut
					resp.Body.Close()
				}
				cancel()
			}
		})
	}
	left := make(chan struct{})
	go func() {
		leaving.Wait()
		close(left)
	}()
	for over := false; !over; {
		fetch(t, h, url+"/reset_prefix_cache?reset_running_requests=true", "")
		select {
		case <-left:
			over = true
		default:
		}
	}
	preempted := 0
	for _, r := range truths(t, h, url) {
		preempted += r.Preemptions
	}
	if preempted == 0 {
		t.Error("no request was preempted: the test has not met what it is about")
	}
}

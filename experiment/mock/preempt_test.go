package mock

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"bench/experiment/kv"
)

// Two that fit when they come and not when they have grown: the later one gives its blocks up, and gets the
// rest of its tokens when the first has ended.
func TestPreemption(t *testing.T) {
	c := stepped()
	c.KVBlocks, c.MaxModelLen = 10, 160
	b := newBench(t, c)
	one, two := b.add(fresh(1, 64), 60, 0), b.add(fresh(2, 64), 60, 0)
	b.settle()
	if one.preemptions != 0 || two.preemptions != 1 || b.counters.preemptions != 1 {
		t.Fatalf("preempted %d and %d times", one.preemptions, two.preemptions)
	}
	// Both have 5 blocks with 80 tokens each: the first token is of the prompt's 64, so the 17th is the last
	// to be computed by both.
	stop, last := two.emitted[16], one.emitted[59]
	if stop != one.emitted[16] || two.emitted[17] <= last {
		t.Errorf("the later one stopped at %v and went on at %v; the first ended at %v", stop, two.emitted[17], last)
	}
	// What it had computed is found again, but for what the first one took meanwhile: 3 more blocks of the
	// tail, and one is partly full.
	if len(two.emitted) != 60 || len(one.emitted) != 60 || two.cached != 0 || b.counters.queried != 128 {
		t.Errorf("%d and %d tokens; %d cached, %d looked up", len(one.emitted), len(two.emitted), two.cached, b.counters.queried)
	}
	again := two.emitted[17] - last
	if want := base + time.Duration(64+17-2*kv.BlockTokens)*perFill; again != want {
		t.Errorf("going on took %v, want %v", again, want)
	}
}

// Whatever comes, in a cache that is too small and with a second tier: everybody gets all tokens, in order,
// and no block is lost.
func TestThrashing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := stepped()
		c.MaxNumSeqs = rapid.IntRange(1, 6).Draw(t, "seqs")
		c.MaxNumBatchedTokens = rapid.IntRange(c.MaxNumSeqs, 80).Draw(t, "budget")
		c.MaxModelLen, c.KVBlocks = 160, rapid.IntRange(10, 20).Draw(t, "blocks")
		c.KVBytesPerToken = 1e6
		c.KVOffloadingGB = rapid.SampledFrom([]float64{0, 0.1, 1}).Draw(t, "second")
		c.KVOffloadingGBs = rapid.SampledFrom([]float64{0.1, 1, 1e6}).Draw(t, "bandwidth")
		b := newBench(t, c)
		var all []*seq
		var at time.Duration
		for i := range rapid.IntRange(1, 30).Draw(t, "requests") {
			at += time.Duration(rapid.IntRange(0, 9000).Draw(t, "gap")) * time.Microsecond
			b.until(at)
			all = append(all, b.add(fresh(i%4, rapid.IntRange(1, 100).Draw(t, "prompt")), rapid.IntRange(1, 60).Draw(t, "output"), at))
			if rapid.IntRange(0, 9).Draw(t, "leaves") == 0 {
				b.drop(all[rapid.IntRange(0, i).Draw(t, "who")], new(Record))
			}
		}
		for next, pending := b.engine.advance(b.now); pending; next, pending = b.engine.advance(b.now) {
			if next <= b.now {
				t.Fatalf("at %v the next step is at %v", b.now, next)
			}
			b.now = next
			checkHeld(t, b.sim)
		}
		checkEnd(t, b, all)
	})
}

// checkHeld counts the blocks that sequences hold.
func checkHeld(t *rapid.T, e *simulated) {
	held := map[*kv.Block]bool{}
	for _, list := range [][]*seq{e.running, e.loading} {
		for _, q := range list {
			for _, b := range q.held {
				held[b] = true
			}
			if tokens := q.computed + q.scheduled; len(q.held) < kv.Blocks(tokens, kv.BlockTokens) {
				t.Fatalf("%d tokens in %d blocks", tokens, len(q.held))
			}
		}
	}
	if len(held) != e.pool.Used() || e.pool.Used() > e.pool.Capacity() {
		t.Fatalf("%d blocks are held, %d in use of %d", len(held), e.pool.Used(), e.pool.Capacity())
	}
}

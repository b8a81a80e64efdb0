package mock

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// naiveCache is a prefix cache by brute force: one entry for each block, in the order in which they would be taken, with the
// whole prefix that ends in it, or nothing.
type naiveCache [][]int32

// run is what one request, alone on the server, finds and leaves behind.
func (c *naiveCache) run(prompt, computed []int32, blocks int) (hit int) {
	for (hit+1)*blockTokens < len(prompt) && c.find(prompt[:(hit+1)*blockTokens]) >= 0 {
		hit++
	}
	held := make([][]int32, blocks)
	for b := range hit {
		held[b] = prompt[:(b+1)*blockTokens]
		i := c.find(held[b])
		*c = slices.Delete(*c, i, i+1)
	}
	*c = slices.Delete(*c, 0, blocks-hit)
	for b := hit; (b+1)*blockTokens <= len(computed); b++ {
		if p := computed[:(b+1)*blockTokens]; c.find(p) < 0 {
			held[b] = p
		}
	}
	slices.Reverse(held) // its last block is the next to be taken
	*c = append(*c, held...)
	return hit
}

func (c *naiveCache) find(prefix []int32) int {
	return slices.IndexFunc(*c, func(p []int32) bool { return slices.Equal(p, prefix) })
}

// With each request alone, the hits are those of a search through whole prefixes in a plain list, evictions and all.
func TestPrefixHitsEqualBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := stepped()
		c.MaxNumBatchedTokens = 64 // prompts come in chunks
		c.KVBlocks, c.MaxModelLen = rapid.IntRange(10, 60).Draw(t, "capacity"), 160
		b := newBench(t, c)
		naive := make(naiveCache, c.KVBlocks)
		queried, hit := 0, 0
		for range rapid.IntRange(1, 25).Draw(t, "requests") {
			// Few different blocks, so that prefixes repeat.
			var prompt []int32
			for range rapid.IntRange(0, 6).Draw(t, "blocks") {
				prompt = append(prompt, fresh(rapid.IntRange(0, 1).Draw(t, "block"), blockTokens)...)
			}
			prompt = append(prompt, fresh(9, rapid.IntRange(1, 20).Draw(t, "tail"))...)
			q := b.add(prompt, rapid.IntRange(1, 40).Draw(t, "output"), b.now)
			b.settle()
			computed := slices.Clone(prompt)
			for i := range q.want - 1 { // the last token's KV is never computed
				computed = append(computed, q.generated(i))
			}
			want := naive.run(prompt, computed, blocksFor(len(prompt)+q.want)) * blockTokens
			if q.cached != want {
				t.Fatalf("%d tokens hit of %d, by brute force %d", q.cached, len(prompt), want)
			}
			queried, hit = queried+len(prompt), hit+want
		}
		if b.books.queried != queried || b.books.hit != hit {
			t.Fatalf("counted %d of %d, want %d of %d", b.books.hit, b.books.queried, hit, queried)
		}
	})
}

// Tiling: prompts in a cycle hit always if they all fit, and never if one block is missing.
func TestCyclicPromptsAndCapacity(t *testing.T) {
	const prompts, blocks = 4, 5 // each prompt: 4 full blocks and one more for the rest of it
	for _, test := range []struct{ capacity, hits int }{{prompts * blocks, 4 * blockTokens}, {blocks * (prompts - 1), 0}} {
		c := stepped()
		c.KVBlocks, c.MaxModelLen = test.capacity, blocks*blockTokens
		b := newBench(t, c)
		for round := range 3 {
			for i := range prompts {
				q := b.add(fresh(i, 4*blockTokens+1), 2, b.now)
				b.settle()
				if round > 0 && q.cached != test.hits {
					t.Errorf("%d blocks, round %d: %d tokens hit, want %d", test.capacity, round, q.cached, test.hits)
				}
			}
		}
	}
}

// Cached tokens take no time; after a reset they do again. A whole prompt is never a hit.
func TestCachedPrefillIsFree(t *testing.T) {
	b := newBench(t, stepped())
	prompt := fresh(1, 10*blockTokens)
	ttft := func() time.Duration {
		q := b.add(prompt, 1, b.now)
		start := b.engine.(*simulated).end
		b.settle()
		return q.fresh[0] - max(start, q.arrival)
	}
	if cold := ttft(); cold != base+160*perFill {
		t.Errorf("cold: %v", cold)
	}
	if warm := ttft(); warm != base+16*perFill {
		t.Errorf("warm: %v", warm)
	}
	b.pool.forget()
	if cold := ttft(); cold != base+160*perFill {
		t.Errorf("after a reset: %v", cold)
	}
}

// A conversation's next turn finds the prompt and the answer of the one before.
func TestNextTurnHits(t *testing.T) {
	b := newBench(t, stepped())
	messages := []message{{Role: "user", Content: "one two three four five six seven eight nine ten"}}
	q := b.add(b.vocab.chat(messages), 50, 0)
	b.settle()
	var answer []byte
	p := reply{q: q}
	for i := range q.want {
		answer = p.appendWord(answer, i)
	}
	messages = append(messages, message{"assistant", content(answer)}, message{"user", "and then"})
	next := b.add(b.vocab.chat(messages), 1, b.now)
	b.settle()
	if want := (len(q.prompt) + q.want - 1) / blockTokens * blockTokens; next.cached != want {
		t.Errorf("%d tokens hit, want %d", next.cached, want)
	}
}

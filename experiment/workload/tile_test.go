package workload

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// tiling is a workload with that many contexts.
func tiling(contexts, questions, input, asks int) Workload {
	return Workload{Generator: Tiling, Input: Fixed(input), Output: Fixed(7),
		Tile: &Tile{Contexts: contexts, Questions: questions, QuestionTokens: asks}}
}

func TestTiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		contexts, questions := rapid.IntRange(1, 9).Draw(t, "contexts"), rapid.IntRange(0, 5).Draw(t, "questions")
		asks := rapid.IntRange(0, 70).Draw(t, "question")
		input := asks + rapid.IntRange(2, 300).Draw(t, "context")
		w := tiling(contexts, questions, input, asks)
		seed := rapid.Uint64().Draw(t, "seed")
		plan, again := NewPlan(w, seed, "a"), NewPlan(w, seed, "a")
		other := NewPlan(w, seed, "b").Next()
		inContext := input - w.Tile.question(input)
		seen := make([]map[uint64]bool, contexts) // the questions of each context, by their first block
		starts := make([]uint64, contexts)
		for i := range 40 * contexts {
			r := plan.Next()
			if same := again.Next(); !reflect.DeepEqual(r, same) {
				t.Fatalf("request %d is %v, and the next time %v", i, r, same)
			}
			c := i % contexts
			if i < contexts {
				starts[c], seen[c] = r.Blocks[0].ID, map[uint64]bool{}
			}
			if r.Blocks[0].ID != starts[c] {
				t.Fatalf("request %d does not begin with context %d", i, c)
			}
			total, question := 0, uint64(0)
			for _, b := range r.Blocks {
				if total == inContext {
					question = b.ID
				}
				total += b.Tokens
			}
			if total != input || r.Input != input || r.Output != 7 || question == 0 {
				t.Fatalf("request %d has %d tokens of %d, a question %d", i, total, input, question)
			}
			seen[c][question] = true
			if i == 0 && other.Blocks[0].ID == r.Blocks[0].ID {
				t.Fatal("another salt has the same prompts")
			}
		}
		all := map[uint64]bool{}
		for c := range seen {
			if want := w.Tile.PerContext(); len(seen[c]) > want || len(seen[c]) < min(want, 2) {
				t.Fatalf("context %d has %d questions of %d", c, len(seen[c]), want)
			}
			for q := range seen[c] {
				if all[q] {
					t.Fatal("two contexts share a question")
				}
				all[q] = true
			}
		}
	})
}

// In a pool of n blocks, what is a whole context over it finds nothing, for ever; what
// fits finds the whole context from the second rotation on.
func TestTilesInAPool(t *testing.T) {
	const asks = 2 * BlockTokens
	rapid.Check(t, func(t *rapid.T) {
		contexts, blocks := rapid.IntRange(2, 8).Draw(t, "contexts"), rapid.IntRange(3, 20).Draw(t, "blocks")
		input := (blocks + 2) * BlockTokens
		each := blocks + 3 // the question, and a block for the answer of 7 tokens
		for _, fits := range []bool{false, true} {
			// Old questions and answers take room too, until they are the oldest: a rotation's worth of them
			// at most.
			capacity := (contexts - 1) * blocks
			if fits {
				capacity = contexts * each * 2
			}
			pool := NewPool(max(capacity, each), BlockTokens)
			if !fits && capacity < each {
				continue // not one request would be served
			}
			plan := NewPlan(tiling(contexts, 0, input, asks), rapid.Uint64().Draw(t, "seed"), "")
			n := 0
			for r, hit := range plan.Serve(pool, 1, 0) {
				least, most := 0, 0
				if fits && n >= contexts {
					least, most = input-asks, input-BlockTokens // the question may have come before, all but its last block
				}
				if hit < least || hit > most {
					t.Fatalf("%d contexts of %d blocks in %d: request %d found %d tokens, not %d to %d", contexts, blocks, capacity, r.Index, hit, least, most)
				}
				if n++; n == 5*contexts {
					break
				}
			}
		}
	})
}

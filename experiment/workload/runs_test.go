package workload

import (
	"testing"

	"pgregory.net/rapid"
)

// Runs count as a cache with a key for every token does, whatever shares a prefix, and wherever a block ends.
func TestRunsEqualBlocksOfOneToken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := Workload{Input: Length{Dist: "uniform", Min: 40, Max: 150}, Output: Length{Dist: "uniform", Min: 1, Max: 40}}
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			w.Prefix = &Prefix{Tokens: rapid.IntRange(1, 39).Draw(t, "prefix"), Groups: 3, State: rapid.SampledFrom([]string{Shared, Warm}).Draw(t, "state")}
		case 1:
			w.Session = &Session{Turns: Turns{Fixed(4)}, User: Fixed(rapid.IntRange(1, 40).Draw(t, "user"))}
		case 2:
			w = Workload{Generator: Tiling, Input: Fixed(rapid.IntRange(40, 90).Draw(t, "input")), Output: Fixed(3),
				Tile: &Tile{Contexts: 3, QuestionTokens: rapid.IntRange(1, 30).Draw(t, "question")}}
		}
		keys := NewPool(1<<17, 1) // roomy
		plan := NewPlan(w, rapid.Uint64().Draw(t, "seed"), "")
		runs := NewPool(0, 1)
		n := 0
		for r := range plan.Priming {
			if a, b := keys.serve(&r, plan.Answer(&r)), runs.serve(&r, plan.Answer(&r)); a != b {
				t.Fatalf("priming: %d tokens by runs, %d by keys", b, a)
			}
		}
		for r := range plan.all(2, 0) {
			if a, b := keys.serve(&r, plan.Answer(&r)), runs.serve(&r, plan.Answer(&r)); a != b {
				t.Fatalf("request %d of %d tokens: %d by runs, %d by keys", r.Index, r.Input, b, a)
			}
			if n++; n == 60 {
				break
			}
		}
	})
}

// Of a primed prefix a server finds the whole blocks of its own size, and never a prompt's last token.
func TestHitsByTheServersBlock(t *testing.T) {
	for _, c := range []struct{ prefix, input, block, want int }{
		{256, 300, 128, 256}, {200, 300, 128, 128}, {200, 300, 16, 192}, {200, 300, 1, 200}, {100, 300, 128, 0},
		{255, 256, 128, 128}, {255, 256, 1, 255}, {256, 257, 128, 256},
	} {
		w := Workload{Input: Fixed(c.input), Output: Fixed(4), Prefix: &Prefix{Tokens: c.prefix, Groups: 2, State: Warm}}
		if got := w.WarmTokens("", c.block); got != c.want {
			t.Errorf("%+v: %d warm tokens", c, got)
		}
		n := 0
		for r, hit := range NewPlan(w, 1, "").Serve(NewPool(0, c.block), 1, 0) {
			if hit != c.want {
				t.Errorf("%+v: request %d hits %d tokens", c, r.Index, hit)
			}
			if n++; n == 5 {
				break
			}
		}
	}
}

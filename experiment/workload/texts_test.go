package workload

import (
	"slices"
	"testing"
)

// TestTexts: the texts of a request have the row's length each and share nothing; the prompt is all of them.
func TestTexts(t *testing.T) {
	w := Workload{Input: Length{Dist: "uniform", Min: 5, Max: 60}, Texts: 7}
	plan := NewPlan(w, 1, "salt")
	seen := map[uint64]bool{}
	for range 50 {
		r := plan.Next()
		if len(r.Texts) != 7 || r.Output != 0 || r.Own != r.Input || r.Query == nil {
			t.Fatalf("%+v", r)
		}
		sum, blocks := 0, 0
		for _, text := range r.Texts {
			tokens := 0
			for _, b := range text.Blocks {
				tokens += b.Tokens
				if seen[b.ID] {
					t.Fatal("a block appears twice")
				}
				seen[b.ID] = true
			}
			if tokens != text.Input || text.Input != r.Texts[0].Input {
				t.Fatalf("%+v", text)
			}
			sum, blocks = sum+tokens, blocks+len(text.Blocks)
		}
		if sum != r.Input || blocks != len(r.Blocks) {
			t.Fatalf("%d tokens in %d blocks: %+v", sum, blocks, r)
		}
	}
	w.Output, w.Leave = Fixed(5), &Leave{}
	var got []string
	w.Check(func(key, _, _ string) { got = append(got, key) })
	if !slices.Contains(got, "output") || !slices.Contains(got, "leave") {
		t.Error(got)
	}
}

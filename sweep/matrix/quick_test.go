package matrix

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"bench/experiment/workload"
)

// The workloads of bench URL have the lengths that their comments state, and searches without a range.
func TestQuickWorkloads(t *testing.T) {
	text, err := os.ReadFile("../../matrices/quick.toml")
	if err != nil {
		t.Fatal(err)
	}
	m := mustParse(t, string(text))
	type length struct{ median, mean, most float64 }
	want := map[string][2]length{
		"chat":  {{1020, 1117, 3400}, {129, 216, 601}},
		"code":  {{1469, 1973, 7437}, {13, 27, 500}},
		"rag":   {{5000, 5000, 6500}, {180, 208, 600}},
		"agent": {{8000, 8596, 20000}, {130, 182, 1000}},
		"fixed": {{512, 512, 512}, {128, 128, 128}},
	}
	if len(m.Points) != len(want) {
		t.Fatalf("%d points", len(m.Points))
	}
	for i := range m.Points {
		s := &m.Points[i]
		if k := s.Search; k == nil || !k.Open || s.Rate != 1 {
			t.Errorf("%s: %+v at rate %v", s.Name, k, s.Rate)
		}
		for j, l := range []workload.Length{s.Input, s.Output} {
			rng, sum, all := rand.New(rand.NewPCG(1, uint64(j))), 0.0, []float64{}
			for range 20_000 {
				x := float64(l.Draw(rng))
				sum, all = sum+x, append(all, x)
			}
			slices.Sort(all)
			got, want := length{all[len(all)/2], sum / float64(len(all)), all[len(all)-1]}, want[s.Name][j]
			off := func(a, b float64) bool { return math.Abs(a/b-1) > 0.04 }
			if off(got.median, want.median) || off(got.mean, want.mean) || got.most > want.most {
				t.Errorf("%s: %+v, want %+v", s.Name, got, want)
			}
		}
	}
}

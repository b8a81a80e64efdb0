package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestHolmKnown(t *testing.T) {
	// statsmodels.stats.multitest.multipletests(p, method="holm")
	got := Holm([]float64{0.01, 0.04, math.NaN(), 0.03, 0.005})
	want := []float64{0.03, 0.06, math.NaN(), 0.06, 0.02}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-12 || math.IsNaN(got[i]) != math.IsNaN(want[i]) {
			t.Errorf("the test %d has %v, want %v", i, got[i], want[i])
		}
	}
}

func TestHolmProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOf(rapid.Float64Range(0, 1)).Draw(t, "p")
		adjusted := Holm(p)
		for i := range p {
			if adjusted[i] < p[i] || adjusted[i] > min(1, p[i]*float64(len(p))) {
				t.Fatalf("%v became %v among %d", p[i], adjusted[i], len(p))
			}
			for j := range p {
				if p[i] < p[j] && adjusted[i] > adjusted[j] {
					t.Fatalf("%v < %v became %v > %v", p[i], p[j], adjusted[i], adjusted[j])
				}
			}
		}
	})
}

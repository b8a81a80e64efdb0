package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// R: p.adjust(c(0.01, 0.04, 0.03, 0.005, 0.8), "BH").
func TestFalseDiscoveryKnown(t *testing.T) {
	got := FalseDiscovery([]float64{0.01, 0.04, math.NaN(), 0.03, 0.005, 0.8})
	for i, want := range []float64{0.025, 0.05, math.NaN(), 0.05, 0.025, 0.8} {
		if !(math.Abs(got[i]-want) < 1e-12) && !(math.IsNaN(want) && math.IsNaN(got[i])) {
			t.Errorf("p %d: %g, not %g", i, got[i], want)
		}
	}
}

// Where nothing differs, tests that share most of their noise name even one change in at most 5 % of
// comparisons; where half of them differ clearly, they name nearly all of these.
func TestFalseDiscoveryKeepsItsLevel(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	const trials, tests = 4000, 30
	named, found := 0, 0
	for range trials {
		shared := r.NormFloat64()
		p, q := make([]float64, tests), make([]float64, tests)
		for i := range p {
			z := 0.8*shared + 0.6*r.NormFloat64()
			p[i] = math.Erfc(math.Abs(z) / math.Sqrt2)
			if i%2 == 0 {
				z += 4
			}
			q[i] = math.Erfc(math.Abs(z) / math.Sqrt2)
		}
		if slices.Min(FalseDiscovery(p)) <= 0.05 {
			named++
		}
		for i, x := range FalseDiscovery(q) {
			if i%2 == 0 && x <= 0.05 {
				found++
			}
		}
	}
	if share := float64(named) / trials; share > 0.055 {
		t.Errorf("%.3f of quiet comparisons name a change", share)
	}
	if share := float64(found) / (trials * tests / 2); share < 0.9 {
		t.Errorf("%.3f of the changes are named", share)
	}
}

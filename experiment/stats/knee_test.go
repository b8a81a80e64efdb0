package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func curve(n int, from, to float64, f func(float64) float64) (load, gain []float64) {
	for i := range n {
		x := from + (to-from)*float64(i)/float64(n-1)
		load, gain = append(load, x), append(gain, f(x))
	}
	return load, gain
}

// The answers are from kneed 0.9.0 (KneeLocator(x, y, S, curve="concave", direction="increasing")), the
// same method in Python; the first two curves are the example y = -1/x + 5 of the Kneedle paper, over 1…10
// and as its figure 2 has it.
func TestKnee(t *testing.T) {
	hyperbola := func(x float64) float64 { return -1/x + 5 }
	type series struct{ load, gain []float64 }
	of := func(load, gain []float64) series { return series{load, gain} }
	doubling := []float64{1, 2, 4, 8, 16, 32, 64}
	tests := []struct {
		name        string
		series      series
		sensitivity float64
		index       int
		ok          bool
	}{
		{"-1/x+5 over 1 to 10", of(curve(10, 1, 10, hyperbola)), 1, 2, true},
		{"figure 2", of(curve(10, 0.1, 1.1, hyperbola)), 1, 2, true},
		{"figure 2, too strict", of(curve(10, 0.1, 1.1, hyperbola)), 10, 0, false},
		{"square root", of(curve(101, 0, 100, math.Sqrt)), 1, 25, true},
		{"exponential", of(curve(101, 0, 100, func(x float64) float64 { return 1 - math.Exp(-x/10) })), 1, 23, true},
		{"straight line", of(curve(10, 0, 1, func(x float64) float64 { return 3*x + 2 })), 1, 0, false},
		{"convex", of(curve(10, 0, 1, func(x float64) float64 { return x * x })), 1, 0, false},
		{"constant", of(curve(10, 0, 1, func(float64) float64 { return 4 })), 1, 0, false},
		{"saturating server", series{doubling, []float64{100, 195, 370, 650, 900, 980, 1000}}, 1, 4, true},
		{"server that collapses", series{doubling, []float64{100, 195, 370, 650, 900, 850, 700}}, 1, 4, true},
		{"not bent yet", series{doubling[:6], []float64{1, 1.99, 3.9, 7.6, 14.5, 27}}, 1, 0, false},
		{"three points", series{doubling[:3], []float64{1, 2, 2}}, 1, 0, false},
		{"one load", series{[]float64{2, 2, 2, 2}, []float64{1, 2, 3, 4}}, 1, 0, false},
		{"nothing", series{}, 1, 0, false},
	}
	for _, tt := range tests {
		index, ok := Knee(tt.series.load, tt.series.gain, tt.sensitivity)
		if index != tt.index || ok != tt.ok {
			t.Errorf("%s: %d, %v, want %d, %v", tt.name, index, ok, tt.index, tt.ok)
		}
	}
}

func TestKneePassesOverWhatIsNotFinite(t *testing.T) {
	load := []float64{1, 2, math.NaN(), 4, 8, inf, 16, 32, 64}
	gain := []float64{100, 195, 1e9, 370, 650, 5, 900, 980, 1000}
	if index, ok := Knee(load, gain, 1); index != 6 || !ok {
		t.Errorf("%d, %v, want 6, true", index, ok)
	}
}

// Neither the units of the axes nor the order of the points matter.
func TestKneeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(4, 30).Draw(t, "n")
		bend := rapid.Float64Range(1, 20).Draw(t, "bend")
		load, gain := curve(n, 0, 1, func(x float64) float64 { return 1 - math.Exp(-bend*x) })
		index, ok := Knee(load, gain, 1)

		order := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)).Perm(n)
		mixedLoad, mixedGain := make([]float64, n), make([]float64, n)
		for to, from := range order {
			mixedLoad[to], mixedGain[to] = 1024*load[from], 4096*gain[from] // powers of two: no rounding
		}
		mixed, mixedOK := Knee(mixedLoad, mixedGain, 1)
		if mixedOK != ok || ok && order[mixed] != index {
			t.Fatalf("%d, %v in order; %d, %v mixed", index, ok, mixed, mixedOK)
		}
	})
}

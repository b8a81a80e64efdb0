package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func TestBends(t *testing.T) {
	doubling := []float64{1, 2, 4, 8, 16, 32, 64}
	twice := func(values []float64) []float64 { return append(append([]float64{}, values...), values...) }
	for _, c := range []struct {
		name       string
		load, gain []float64
		want       bool
	}{
		{"two lines, exactly", doubling[:5], []float64{10, 20, 40, 40, 40}, true},
		{"saturating", doubling, []float64{100, 195, 370, 650, 900, 980, 1000}, true},
		{"collapsing", doubling, []float64{100, 195, 370, 650, 900, 850, 700}, true},
		{"bent upwards", doubling[:5], []float64{10, 10, 10, 40, 100}, false},
		{"noise", doubling, []float64{100, 130, 95, 125, 90, 120, 110}, false},
		{"bent, within a tenth", doubling[:5], []float64{100, 104, 108, 108, 108}, false},
		{"too few runs to know the noise", doubling[:4], []float64{10, 20, 35, 36}, false},
		{"the same, each load twice", twice(doubling[:4]), twice([]float64{10, 20, 35, 36}), true},
		{"two loads", []float64{1, 1, 2, 2}, []float64{1, 2, 3, 4}, false},
		{"three runs", doubling[:3], []float64{10, 20, 20}, false},
		{"nothing", nil, nil, false},
	} {
		if got := Bends(c.load, c.gain); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

// Neither the units nor a line that is added to the gains matter.
func TestBendsProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(4, 12).Draw(t, "n")
		load, gain := curve(n, 0, 1, func(float64) float64 { return 0 })
		for i := range gain {
			gain[i] = rapid.Float64Range(1, 10).Draw(t, "gain") // a range below a tenth counts otherwise
		}
		gain[0], gain[n-1] = 1, 10
		tilted, slope := make([]float64, n), rapid.Float64Range(0, 5).Draw(t, "slope")
		for i := range gain {
			tilted[i] = 1024 * (gain[i] + slope*load[i])
		}
		if a, b := Bends(load, gain), Bends(load, tilted); a != b {
			t.Fatalf("%t, tilted %t", a, b)
		}
	})
}

// A straight line with normal noise is called bent in at most the level.
func TestBendsKeepsItsLevel(t *testing.T) {
	const trials = 2000
	for _, n := range []int{4, 5, 8, 24} {
		rng := rand.New(rand.NewPCG(3, uint64(n)))
		wrong := 0
		for range trials {
			load, gain := curve(n, 1, 10, func(float64) float64 { return 1 + rng.NormFloat64() })
			if Bends(load, gain) {
				wrong++
			}
		}
		if wrong > trials*7/100 { // 100 expected at most; more than this by chance once in ten thousand
			t.Errorf("%d loads: %d of %d", n, wrong, trials)
		}
	}
}

// The right line leaves 1/6 of squares with two degrees of freedom, and t(2) is 2.919986 at 95 %.
func TestNoiseMargin(t *testing.T) {
	load := []float64{1, 2, 3, 4, 5, 6}
	margin, ok := NoiseMargin(load, []float64{1, 2, 3, 5, 4, 4}, 0.95)
	if near(t, "margin", margin, 2.919986*math.Sqrt(1./12), 1e-6); !ok {
		t.Error("unknown")
	}
	if _, ok := NoiseMargin(load[:5], load[:5], 0.95); ok {
		t.Error("five runs show their noise")
	}
	if _, ok := NoiseMargin([]float64{1, 1, 2, 2, 3, 3}, load, 0.95); ok {
		t.Error("three loads show two lines")
	}
}

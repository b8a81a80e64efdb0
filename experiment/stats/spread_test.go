package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestSpreadOf(t *testing.T) {
	got := SpreadOf([]float64{4, 2, 6})
	if want := (Spread{Std: 2, CV: 0.5, Min: 2, Max: 6}); got == nil || *got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if s := SpreadOf([]float64{1}); s != nil {
		t.Errorf("one value: %+v", s)
	}
	if s := SpreadOf([]float64{-1, 1}); s.CV != 0 || s.Std != math.Sqrt2 {
		t.Errorf("a mean of 0: %+v", s)
	}
}

func TestSame(t *testing.T) {
	// Q = 2·(1/1)² = 2 with one degree of freedom: erfc(1).
	if p, ok := Same([]float64{9, 11}, []float64{1, 1}); !ok || math.Abs(p-math.Erfc(1)) > 1e-12 {
		t.Errorf("%v, %v", p, ok)
	}
	for _, errors := range [][]float64{{1, 0}, {1, math.Inf(1)}, {1, math.NaN()}} {
		if _, ok := Same([]float64{1, 2}, errors); ok {
			t.Errorf("errors %v say something", errors)
		}
	}
	if _, ok := Same([]float64{1}, []float64{1}); ok {
		t.Error("one value is the same as itself")
	}
	rng := rand.New(rand.NewPCG(1, 3))
	below := 0
	for range 2000 {
		values, errors := make([]float64, 5), make([]float64, 5)
		for i := range values {
			errors[i] = 1 + float64(i)
			values[i] = errors[i] * rng.NormFloat64()
		}
		if p, _ := Same(values, errors); p < 0.05 {
			below++
		}
	}
	if got := float64(below) / 2000; math.Abs(got-0.05) > 0.02 {
		t.Errorf("P below 0.05 in %.3f of the trials", got)
	}
}

func TestDifference(t *testing.T) {
	got := Difference(100, 140, Interval{94, 103}, Interval{136, 148})
	if want := (Interval{40 - 5, 40 + 10}); math.Abs(got.Lo-want.Lo) > 1e-12 || math.Abs(got.Hi-want.Hi) > 1e-12 {
		t.Errorf("%v, want %v", got, want)
	}
	if got := Difference(1, 2, Interval{0, 3}, Interval{1, inf}); got.Hi != inf || math.IsInf(got.Lo, 0) {
		t.Errorf("no upper end of the one: %v", got)
	}
	if got := Difference(1, 2, Interval{0, inf}, Interval{1, 4}); got.Lo != -inf || math.IsInf(got.Hi, 0) {
		t.Errorf("no upper end of the other: %v", got)
	}
}

// The difference of two p99 is inside as often as each p99 is.
func TestDifferenceCovers(t *testing.T) {
	simulation(t)
	const trials, n = 600, 2000
	rng := rand.New(rand.NewPCG(3, 3))
	truth := 2 * math.Log(100) // scale 3 and scale 1
	covered := 0
	for range trials {
		a, b := make([]float64, n), make([]float64, n)
		for i := range n {
			a[i], b[i] = rng.ExpFloat64(), 3*rng.ExpFloat64()
		}
		x, y := Summarize(a), Summarize(b)
		if iv := Difference(x.P99, y.P99, x.CI95["p99"], y.CI95["p99"]); iv.Lo <= truth && truth <= iv.Hi {
			covered++
		}
	}
	if got := float64(covered) / trials; got < 0.925 || got > 0.985 {
		t.Errorf("covers %.3f", got)
	}
}

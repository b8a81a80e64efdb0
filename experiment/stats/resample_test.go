package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// For independent values the variance of the mean over blocks is σ²/n, and values that come in bursts make it
// larger.
func TestResampleVariance(t *testing.T) {
	simulation(t)
	r := rand.New(rand.NewPCG(7, 3))
	const n, times = 2000, 20
	mean := func(w *Resample) float64 { return w.Mean() }
	var independent, bursts float64
	for range times {
		a, b := make([]float64, n), make([]float64, n)
		level := 0.0
		for i := range n {
			a[i] = r.NormFloat64()
			level = 0.8*level + r.NormFloat64()*0.6 // the same variance, but neighbours are alike
			b[i] = level
		}
		independent += NewResample(a).Variance(mean, r) / times
		bursts += NewResample(b).Variance(mean, r) / times
	}
	near(t, "variance of the mean of independent values", independent*n, 1, 0.1)
	if bursts*n < 4 || bursts*n > 9 { // (1+ρ)/(1−ρ) = 9, of which blocks of 13 see a part
		t.Errorf("values in bursts have %.1f times the variance of independent ones", bursts*n)
	}
	for _, few := range [][]float64{nil, {1, 2, 3, 4}} {
		if v := NewResample(few).Variance(mean, r); v != 0 {
			t.Errorf("%v has the variance %v: not known is 0", few, v)
		}
	}
}

// A redrawn quantile is the Quantile of the values that were drawn.
func TestResampleQuantile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.OneOf(rapid.Float64Range(-5, 5), rapid.SampledFrom([]float64{1, 2})), 5, 200).Draw(t, "values")
		p := rapid.Float64Range(0, 1).Draw(t, "p")
		length := rapid.IntRange(1, len(values)).Draw(t, "length")
		w := newResample(values, length, len(values)/length)
		w.redraw(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)))
		var drawn []float64
		for i, x := range w.sorted {
			for range w.drawn[w.block[i]] {
				drawn = append(drawn, x)
			}
		}
		if got, want := w.Quantile(p), Quantile(drawn, p); got != want {
			t.Fatalf("%v, want %v", got, want)
		}
		if got, want := w.Mean(), Summarize(drawn).Mean; math.Abs(got-want) > 1e-9 {
			t.Fatalf("mean %v, want %v", got, want)
		}
	})
}

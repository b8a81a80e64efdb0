package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Four batches with the means 1, 2, 3 and 4: t of three degrees of freedom is 3.1824, the standard deviation 1.2910.
func TestBatchMeansKnownAnswer(t *testing.T) {
	var values []float64
	for batch := range 4 {
		for range 5 {
			values = append(values, float64(batch+1))
		}
	}
	got := BatchMeans(values, 0.95)
	if half := 3.182446 * 1.290994 / 2; math.Abs(got.Lo-(2.5-half)) > 1e-5 || math.Abs(got.Hi-(2.5+half)) > 1e-5 {
		t.Errorf("%v, want 2.5 ± %v", got, half)
	}
	if got := BatchMeans(values[:19], 0.95); !math.IsInf(got.Lo, -1) || !math.IsInf(got.Hi, 1) {
		t.Errorf("19 values: %v", got)
	}
}

// The interval covers the mean of a series whose neighbours depend on each other about as often as it says.
func TestBatchMeansCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	const runs = 4000
	covered := 0
	for range runs {
		x, values := 0.0, make([]float64, 100)
		for i := range values {
			x = 0.5*x + rng.NormFloat64()
			values[i] = x + 7
		}
		if iv := BatchMeans(values, 0.95); iv.Lo <= 7 && 7 <= iv.Hi {
			covered++
		}
	}
	if share := float64(covered) / runs; share < 0.92 || share > 0.97 {
		t.Errorf("covers in %.3f", share)
	}
}

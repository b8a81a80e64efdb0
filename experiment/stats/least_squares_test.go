package stats

import (
	"math"
	"testing"
)

func nearly(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-6*math.Abs(want)) {
		t.Errorf("%s is %g, want %g", what, got, want)
	}
}

// The decay a·exp(−b·t) through points of it is found from far away, and next to a limit that excludes it.
func TestLeastSquares(t *testing.T) {
	residuals := func(x []float64) (r []float64) {
		for _, at := range []float64{0, 1, 2, 4} {
			r = append(r, x[0]*math.Exp(-x[1]*at)-3*math.Exp(-0.7*at))
		}
		return r
	}
	start := []float64{0.1, 2}
	for _, limits := range [][][]float64{{nil, nil}, {{0, 0}, {10, 10}}} {
		x := LeastSquares(residuals, start, limits[0], limits[1])
		nearly(t, "a", x[0], 3)
		nearly(t, "b", x[1], 0.7)
	}
	x := LeastSquares(residuals, start, []float64{0, 0}, []float64{2.5, 10})
	nearly(t, "a at its limit", x[0], 2.5)
	alone := LeastSquares(func(b []float64) []float64 { return residuals([]float64{2.5, b[0]}) }, []float64{2}, nil, nil)
	nearly(t, "b beside it", x[1], alone[0])
	if start[0] != 0.1 || start[1] != 2 {
		t.Errorf("the start became %v", start)
	}
}

// A slope has the error of linear regression; two constants with the same effect, and one without, have none of use.
func TestStandardErrors(t *testing.T) {
	residuals := func(x []float64) (r []float64) {
		for i := range 8 {
			r = append(r, x[0]*float64(i)+x[1]+x[2])
		}
		return r
	}
	got := StandardErrors(Jacobian(residuals, make([]float64, 4), nil, nil), 0.01)
	nearly(t, "the slope's error", got[0], 0.01/math.Sqrt(42)) // Σ(i − mean)² = 42
	if !(got[1] > 10 && got[2] > 10 && math.IsInf(got[3], 1)) {
		t.Errorf("%v", got)
	}
}

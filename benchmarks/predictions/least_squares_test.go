package main

import (
	"math"
	"testing"
)

// The decay a·exp(−b·t) through points of it is found from far away.
func TestLeastSquares(t *testing.T) {
	start := []float64{0.1, 2}
	x := leastSquares(func(x []float64) (r []float64) {
		for _, at := range []float64{0, 1, 2, 4} {
			r = append(r, x[0]*math.Exp(-x[1]*at)-3*math.Exp(-0.7*at))
		}
		return r
	}, start)
	if !(math.Abs(x[0]-3) < 1e-6 && math.Abs(x[1]-0.7) < 1e-6) {
		t.Errorf("a and b are %v, want 3 and 0.7", x)
	}
	if start[0] != 0.1 || start[1] != 2 {
		t.Errorf("the start became %v", start)
	}
}

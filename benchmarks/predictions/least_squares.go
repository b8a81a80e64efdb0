package main

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// leastSquares returns the x near start with the smallest sum of squared residuals, by Levenberg and Marquardt's
// method (Nocedal & Wright, Numerical Optimization, section 10.3) with a Jacobian of central differences. residuals
// returns the same number of values for every x and must not keep x. start is not changed.
func leastSquares(residuals func(x []float64) []float64, start []float64) []float64 {
	const most, enough = 200, 1e-12 // iterations; relative decrease of the sum
	x := slices.Clone(start)
	r := residuals(x)
	sum, damping := sumOfSquares(r), 1e-3
	j := jacobian(residuals, x)
	for range most {
		next := step(j, r, x, damping)
		tried := residuals(next)
		if less := sumOfSquares(tried); less < sum {
			done := sum-less < enough*sum
			x, r, sum, damping = next, tried, less, damping/5
			if done {
				return x
			}
			j = jacobian(residuals, x)
			continue
		}
		if damping *= 4; damping > 1e12 {
			return x
		}
	}
	return x
}

// jacobian has the derivative of each residual (row) by each x (column) at x.
func jacobian(residuals func(x []float64) []float64, x []float64) *mat.Dense {
	var j *mat.Dense
	for k := range x {
		h := 1e-6 * math.Max(1, math.Abs(x[k]))
		up, down := slices.Clone(x), slices.Clone(x)
		up[k] += h
		down[k] -= h
		above, below := residuals(up), residuals(down)
		if j == nil {
			j = mat.NewDense(len(above), len(x), nil)
		}
		for i := range above {
			j.Set(i, k, (above[i]-below[i])/(up[k]-down[k]))
		}
	}
	return j
}

// step is x − (JᵀJ + damping·diag(JᵀJ))⁻¹·Jᵀr.
func step(j *mat.Dense, r, x []float64, damping float64) []float64 {
	var square mat.Dense
	var gradient, move mat.VecDense
	square.Mul(j.T(), j)
	gradient.MulVec(j.T(), mat.NewVecDense(len(r), r))
	for k := range x {
		square.Set(k, k, square.At(k, k)*(1+damping)+1e-12)
	}
	next := slices.Clone(x)
	if err := move.SolveVec(&square, &gradient); err != nil {
		if _, ill := err.(mat.Condition); !ill {
			return next
		}
	}
	for k := range x {
		next[k] -= move.AtVec(k)
	}
	return next
}

func sumOfSquares(r []float64) (sum float64) {
	for _, v := range r {
		sum += v * v
	}
	return sum
}

package stats

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// LeastSquares returns the x near start with the smallest sum of squared residuals, by Levenberg and Marquardt's
// method (Nocedal & Wright, Numerical Optimization, section 10.3) with a Jacobian of central differences. residuals
// returns the same number of values for every x and must not keep x. Limits are low ≤ x ≤ high; nil = none. start is
// not changed.
func LeastSquares(residuals func(x []float64) []float64, start, low, high []float64) []float64 {
	const most, enough = 200, 1e-12 // iterations; relative decrease of the sum
	x := within(append([]float64(nil), start...), low, high)
	r := residuals(x)
	sum, damping := SumOfSquares(r), 1e-3
	j := Jacobian(residuals, x, low, high)
	for range most {
		next := within(step(j, r, x, low, high, damping), low, high)
		tried := residuals(next)
		if less := SumOfSquares(tried); less < sum {
			done := sum-less < enough*sum
			x, r, sum, damping = next, tried, less, damping/5
			if done {
				return x
			}
			j = Jacobian(residuals, x, low, high)
			continue
		}
		if damping *= 4; damping > 1e12 {
			return x
		}
	}
	return x
}

// Jacobian has the derivative of each residual (row) by each x (column) at x. At a limit it is one-sided.
func Jacobian(residuals func(x []float64) []float64, x, low, high []float64) *mat.Dense {
	var j *mat.Dense
	for k := range x {
		h := 1e-6 * math.Max(1, math.Abs(x[k]))
		up, down := append([]float64(nil), x...), append([]float64(nil), x...)
		up[k] += h
		down[k] -= h
		up, down = within(up, low, high), within(down, low, high)
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

// step is x − (JᵀJ + damping·diag(JᵀJ))⁻¹·Jᵀr. What is at a limit stays there if the gradient points outward.
func step(j *mat.Dense, r, x, low, high []float64, damping float64) []float64 {
	var square mat.Dense
	var gradient, move mat.VecDense
	square.Mul(j.T(), j)
	gradient.MulVec(j.T(), mat.NewVecDense(len(r), r))
	for k := range x {
		g := gradient.AtVec(k)
		if low != nil && x[k] <= low[k] && g > 0 || high != nil && x[k] >= high[k] && g < 0 {
			for i := range x {
				square.Set(i, k, 0)
				square.Set(k, i, 0)
			}
			gradient.SetVec(k, 0)
		}
		square.Set(k, k, square.At(k, k)*(1+damping)+1e-12)
	}
	next := append([]float64(nil), x...)
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

func within(x, low, high []float64) []float64 {
	for k := range x {
		if low != nil {
			x[k] = math.Max(x[k], low[k])
		}
		if high != nil {
			x[k] = math.Min(x[k], high[k])
		}
	}
	return x
}

// StandardErrors are those of each x if each residual has the error noise. +Inf: no residual depends on it; huge: the
// residuals do not tell it from another.
func StandardErrors(j *mat.Dense, noise float64) []float64 {
	_, n := j.Dims()
	const ridge = 1e-9 // keeps collinear columns invertible
	var a, inverse mat.Dense
	a.Mul(j.T(), j)
	out, scale := make([]float64, n), make([]float64, n)
	for k := range scale {
		scale[k] = math.Sqrt(a.At(k, k))
	}
	a.Apply(func(i, k int, v float64) float64 {
		switch {
		case i == k:
			return 1 + ridge
		case scale[i] == 0 || scale[k] == 0:
			return 0
		}
		return v / scale[i] / scale[k]
	}, &a)
	_ = inverse.Inverse(&a) // an ill-conditioned one has large entries, as it should
	for k := range out {
		out[k] = noise * math.Sqrt(math.Max(0, inverse.At(k, k))) / scale[k]
	}
	return out
}

func SumOfSquares(r []float64) (sum float64) {
	for _, v := range r {
		sum += v * v
	}
	return sum
}

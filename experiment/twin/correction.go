package twin

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// correction is ln(server ÷ twin) as a function of ln(load): a Gaussian process through the residuals, whose amplitude
// is the likeliest one (Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, section 5.4).
type correction struct {
	at        []float64 // ln(load) of the residuals
	weights   *mat.VecDense
	chol      mat.Cholesky
	amplitude float64
}

const (
	anyLevel = 0.3 // standard deviation of a correction that all loads share
	reach    = 0.3 // of ln(load), over which it changes
)

func (c *correction) covariance(x, y float64) float64 {
	d := (x - y) / reach
	return anyLevel*anyLevel + c.amplitude*c.amplitude*math.Exp(-d*d/2)
}

func newCorrection(residuals []Residual) *correction {
	best := &correction{amplitude: anyLevel} // nothing is known of it
	if len(residuals) == 0 {
		return best
	}
	likeliest := math.Inf(-1)
	n := len(residuals)
	values := mat.NewVecDense(n, nil)
	for i, r := range residuals {
		values.SetVec(i, r.Log)
	}
	for _, amplitude := range []float64{0.01, 0.03, 0.1, 0.3} {
		c := &correction{amplitude: amplitude, weights: mat.NewVecDense(n, nil)}
		for _, r := range residuals {
			c.at = append(c.at, math.Log(r.Load))
		}
		k := mat.NewSymDense(n, nil)
		for i, r := range residuals {
			for j := i; j < n; j++ {
				k.SetSym(i, j, c.covariance(c.at[i], c.at[j]))
			}
			k.SetSym(i, i, k.At(i, i)+r.Error*r.Error+1e-6)
		}
		if !c.chol.Factorize(k) || c.chol.SolveVecTo(c.weights, values) != nil {
			continue
		}
		if l := -mat.Dot(values, c.weights)/2 - c.chol.LogDet()/2; l > likeliest {
			best, likeliest = c, l
		}
	}
	return best
}

// near is the correction at ln(load) and its standard error.
func (c *correction) near(x float64) (mean, err float64) {
	if len(c.at) == 0 {
		return 0, math.Sqrt(c.covariance(x, x))
	}
	k := mat.NewVecDense(len(c.at), nil)
	for i, at := range c.at {
		k.SetVec(i, c.covariance(x, at))
	}
	var v mat.VecDense
	if c.chol.SolveVecTo(&v, k) != nil {
		return 0, anyLevel
	}
	return mat.Dot(k, c.weights), math.Sqrt(max(0, c.covariance(x, x)-mat.Dot(k, &v)))
}

package stats

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"
)

// harrellDavis is the share-quantile of the logarithms of values by Harrell and Davis, and what each value adds to it: the
// influence function of an L-estimator (Serfling, "Approximation Theorems of Mathematical Statistics", section 8.1.1).
// NaN: a value is not above 0, or there are none.
func harrellDavis(values []float64, share float64) (quantile float64, added []float64) {
	n := len(values)
	order := argsort(values)
	if n == 0 || !(values[order[0]] > 0) || !(share > 0 && share < 1) {
		return math.NaN(), nil
	}
	weights := distuv.Beta{Alpha: float64(n+1) * share, Beta: float64(n+1) * (1 - share)}
	reach := 10*math.Sqrt(share*(1-share)/float64(n)) + 10/float64(n) // the weights beyond are below 1e-9
	from, to := max(0, int((share-reach)*float64(n))), min(n, int((share+reach)*float64(n))+1)
	added = make([]float64, n)
	below, step := 0.0, 0.0
	for rank, i := range order {
		if rank > 0 {
			gap := math.Log(values[i] / values[order[rank-1]])
			if rank >= from && rank < to {
				step += gap * weights.Prob(float64(rank)/float64(n))
			}
		}
		added[i] = step / float64(n)
		if rank >= from && rank < to {
			upTo := 1.0
			if rank < to-1 {
				upTo = weights.CDF(float64(rank+1) / float64(n))
			}
			quantile += (upTo - below) * math.Log(values[i])
			below = upTo
		}
	}
	floats.AddConst(-floats.Sum(added)/float64(n), added)
	return quantile, added
}

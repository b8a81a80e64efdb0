package twin

import (
	"math"
	"slices"
)

// Foreseen is a percentile of a trial that the model was not fitted to, measured and as the model has it.
type Foreseen struct {
	Load, Measured float64
	Latency
}

// Foresee predicts the limits' percentiles, whose values do not count, of later trials on their own arrivals, corrected
// by the trials of the fit.
func (m *Model) Foresee(fitted, later []Trial, limits []Limit) [][]Foreseen {
	out := make([][]Foreseen, len(limits))
	slow, fast := m.Scaled(math.Exp(2*m.SpeedError)), m.Scaled(math.Exp(-2*m.SpeedError))
	before := m.Residuals(fitted, limits...)
	at, slower, faster := m.Residuals(later, limits...), slow.Residuals(later, limits...), fast.Residuals(later,
		limits...)
	for i := range limits {
		if len(before[i]) == 0 || len(at[i]) != len(slower[i]) || len(at[i]) != len(faster[i]) {
			continue
		}
		correction, luck := newCorrection(before[i]), middleError(before[i])
		for k, r := range at[i] {
			mean, err := correction.near(math.Log(r.Load))
			half := max(leastWidth, widening*math.Hypot(math.Hypot(err, luck), misfit))
			value, a, b := math.Log(r.Twin), math.Log(slower[i][k].Twin), math.Log(faster[i][k].Twin)
			out[i] = append(out[i], Foreseen{r.Load, r.Measured, Latency{math.Exp(value + mean),
				math.Exp(min(value, a, b) + mean - half), math.Exp(max(value, a, b) + mean + half)}})
		}
	}
	return out
}

// middleError is the usual error of one residual: the luck of a window.
func middleError(residuals []Residual) float64 {
	var all []float64
	for _, r := range residuals {
		all = append(all, r.Error)
	}
	slices.Sort(all)
	return all[len(all)/2]
}

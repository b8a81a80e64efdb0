package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Summary describes one sample, in the unit of its values. Std is the population's standard deviation (ddof 0, as
// numpy.std gives by default), not the n-1 estimate. Percentiles are Quantiles; CI95 has the 95 % QuantileInterval of each
// of them, under "p50", "p90", "p95", "p99" and "p999". Whether a percentile deserves to be shown is GradeOf's matter.
type Summary struct {
	N    int                 `json:"n"`
	Mean float64             `json:"mean"`
	Std  float64             `json:"std"`
	Min  float64             `json:"min"`
	P50  float64             `json:"p50"`
	P90  float64             `json:"p90"`
	P95  float64             `json:"p95"`
	P99  float64             `json:"p99"`
	P999 float64             `json:"p999"`
	Max  float64             `json:"max"`
	CI95 map[string]Interval `json:"ci95"`
}

// shownConfidence is the confidence of the intervals of a Summary and of the lower limit of a Grade.
const shownConfidence = 0.95

// Summarize describes values, or returns nil when there is none. It leaves the slice as it is, and
// gives the same for any order of it. A NaN among the values makes every figure NaN, which JSON refuses: a missing value
// must be left out, and counted, by the caller.
func Summarize(values []float64) *Summary {
	if len(values) == 0 {
		return nil
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	s := &Summary{
		N:    len(sorted),
		Min:  Quantile(sorted, 0),
		P50:  Quantile(sorted, 0.5),
		P90:  Quantile(sorted, 0.9),
		P95:  Quantile(sorted, 0.95),
		P99:  Quantile(sorted, 0.99),
		P999: Quantile(sorted, 0.999),
		Max:  Quantile(sorted, 1),
		CI95: map[string]Interval{
			"p50":  QuantileInterval(sorted, 0.5, shownConfidence),
			"p90":  QuantileInterval(sorted, 0.9, shownConfidence),
			"p95":  QuantileInterval(sorted, 0.95, shownConfidence),
			"p99":  QuantileInterval(sorted, 0.99, shownConfidence),
			"p999": QuantileInterval(sorted, 0.999, shownConfidence),
		},
	}
	s.Mean, s.Std = meanStd(sorted)
	return s
}

// meanStd gives the mean and the population's standard deviation, with compensated sums in two passes. The values
// come sorted, so that the result does not depend on the order in which they were measured.
func meanStd(sorted []float64) (mean, std float64) {
	n := float64(len(sorted))
	// Rounding can carry the quotient past the ends of the sample by a bit: the mean of equal values is that value.
	mean = min(max(floats.SumCompensated(sorted)/n, sorted[0]), sorted[len(sorted)-1])
	squares := make([]float64, len(sorted))
	for i, x := range sorted {
		squares[i] = (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(floats.SumCompensated(squares) / n)
}

// Get returns the figure of that name: "mean", "std", "min", "p50", "p90", "p95", "p99", "p999" or "max". It
// reports false for any other name, and for every name of a nil Summary.
func (s *Summary) Get(name string) (float64, bool) {
	if s == nil {
		return 0, false
	}
	switch name {
	case "mean":
		return s.Mean, true
	case "std":
		return s.Std, true
	case "min":
		return s.Min, true
	case "p50":
		return s.P50, true
	case "p90":
		return s.P90, true
	case "p95":
		return s.P95, true
	case "p99":
		return s.P99, true
	case "p999":
		return s.P999, true
	case "max":
		return s.Max, true
	}
	return 0, false
}

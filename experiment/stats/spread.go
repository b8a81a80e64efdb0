package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat"
)

type Spread struct {
	Std float64 `json:"std"` // of the population (ddof 1)
	CV  float64 `json:"cv"`  // Std over the mean; 0 if the mean is 0
	Min float64 `json:"min"`
	Max float64 `json:"max"`
}

func SpreadOf(values []float64) *Spread {
	if len(values) < 2 {
		return nil
	}
	mean, std := stat.MeanStdDev(values, nil)
	s := &Spread{Std: std, Min: values[0], Max: values[0]}
	if mean != 0 {
		s.CV = std / math.Abs(mean)
	}
	for _, x := range values {
		s.Min, s.Max = min(s.Min, x), max(s.Max, x)
	}
	return s
}

// Same is the p-value of values that all measure the same thing, each with its own standard error: Cochran's
// Q against chi-squared ("The Combination of Estimates from Different Experiments", Biometrics 10, 1954). ok
// is false for fewer than two values, or an error that is not positive and finite.
func Same(values, errors []float64) (p float64, ok bool) {
	if len(values) < 2 {
		return 0, false
	}
	weights := make([]float64, len(values))
	for i, e := range errors {
		if !(e > 0) || math.IsInf(e, 0) {
			return 0, false
		}
		weights[i] = 1 / (e * e)
	}
	mean, q := stat.Mean(values, weights), 0.0
	for i, x := range values {
		q += weights[i] * (x - mean) * (x - mean)
	}
	return mathext.GammaIncRegComp(float64(len(values)-1)/2, q/2), true
}

// Difference is the interval of b − a from the intervals of two independent figures, of the same confidence:
// Zou and Donner, "Construction of confidence limits about effect measures", Statistics in Medicine 27, 2008
// (their method of variance estimates recovery). It assumes no distribution beyond what the intervals assume.
func Difference(a, b float64, ofA, ofB Interval) Interval {
	d := b - a
	return Interval{
		Lo: d - math.Hypot(b-ofB.Lo, ofA.Hi-a),
		Hi: d + math.Hypot(ofB.Hi-b, a-ofA.Lo),
	}
}

package stats

import "math"

// PredictionInterval contains the mean of `next` further values with the given confidence, if they come from
// the same nearly normal distribution as values: mean ± t·s·√(1/next + 1/n) (G. Hahn and W. Meeker,
// "Statistical Intervals", 1991, section 4.7). least is a lower bound of the standard deviation, since equal
// values say little about the next one. The interval is unbounded for fewer than two values.
func PredictionInterval(values []float64, next int, confidence, least float64) Interval {
	n := float64(len(values))
	if len(values) < 2 || next < 1 {
		return unbounded()
	}
	mean, s := MeanSpread(values)
	half := quantileOfT(1-(1-confidence)/2, len(values)-1) * max(least, s) * math.Sqrt(1/float64(next)+1/n)
	return Interval{mean - half, mean + half}
}

// MeanSpread returns the mean and the standard deviation (n−1) of values; the latter is NaN for fewer than
// two.
func MeanSpread(values []float64) (mean, spread float64) {
	n := float64(len(values))
	for _, x := range values {
		mean += x / n
	}
	if len(values) < 2 {
		return mean, math.NaN()
	}
	squares := 0.0
	for _, x := range values {
		squares += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(squares / (n - 1))
}

package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/combin"
)

// tailIndex is the heaviest tail that OutlierLimits expects: a value c times as far away is c^tailIndex times
// rarer. 3 is Student's t with three degrees of freedom.
const tailIndex = 3

// OutlierLimits are limits that `next` further values seldom all pass on one side: with about the given
// probability, if they are independent and of the same distribution as values. They lie a multiple c of
// the distance between the median of the n values and the furthest of them, at least 1. That c·furthest is
// passed by all has the probability c^(−3·next) / binomial(n+next, next), from the ranks of the distances
// and a tail no heavier than tailIndex. c is widened by 1 + 12/n, since few values locate their centre and
// extremes badly: found by simulation (TestSimulationOutliers). least is the smallest distance of the
// furthest, since equal values say little about the next one. The limits are infinite without values.
func OutlierLimits(values []float64, next int, probability, least float64) Interval {
	if len(values) == 0 || next < 1 {
		return unbounded()
	}
	sorted := slices.Sorted(slices.Values(values))
	center := Quantile(sorted, 0.5)
	furthest := max(least, center-sorted[0], sorted[len(sorted)-1]-center)
	n, k := float64(len(values)), float64(next)
	c := math.Pow(1/(probability*combin.GeneralizedBinomial(n+k, k)), 1/(tailIndex*k)) * (1 + 12/n)
	return Interval{center - max(1, c)*furthest, center + max(1, c)*furthest}
}

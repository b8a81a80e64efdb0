package stats

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/combin"
	"gonum.org/v1/gonum/stat/distuv"
)

// Interval is a confidence interval, in the unit of its values. An end is -Inf or +Inf if the sample is too
// small for a bound; no end is ever NaN. In JSON it is [lo, hi], with null for an end that is not finite.
type Interval struct{ Lo, Hi float64 }

func (iv Interval) MarshalJSON() ([]byte, error) {
	return json.Marshal([2]*float64{finite(iv.Lo), finite(iv.Hi)})
}

func finite(x float64) *float64 {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	return &x
}

func (iv *Interval) UnmarshalJSON(text []byte) error {
	var ends []*float64
	if err := json.Unmarshal(text, &ends); err != nil {
		return fmt.Errorf("reading interval: %w", err)
	}
	if len(ends) != 2 {
		return fmt.Errorf("reading interval: %d values in %s, want [lo, hi]", len(ends), text)
	}
	*iv = unbounded()
	if ends[0] != nil {
		iv.Lo = *ends[0]
	}
	if ends[1] != nil {
		iv.Hi = *ends[1]
	}
	return nil
}

func unbounded() Interval { return Interval{math.Inf(-1), math.Inf(1)} }

// quantileInterval is the interval between two order statistics that covers the p-quantile of the population
// with at least the given confidence (such as 0.95), half of the risk on either side, for any distribution:
// David and Nagaraja, "Order Statistics", 3rd edition, section 7.1. It uses the exact binomial, as the normal
// approximation is poor at p99. Below MinSamples one end is infinite. With very few values the interval can
// lie beyond the Quantile of the same sample: the p99 of two values is most likely above both, but their
// Quantile is between them.
func quantileInterval(s ranked, p, confidence float64) Interval {
	iv := unbounded()
	n := s.size()
	if n == 0 || math.IsNaN(s.at(0)) {
		return iv
	}
	lower, upper := intervalRanks(n, p, confidence)
	if lower >= 1 {
		iv.Lo = s.at(lower - 1)
	}
	if upper <= n {
		iv.Hi = s.at(upper - 1)
	}
	return iv
}

// intervalRanks gives the ranks, counted from 1, of the order statistics that bound the p-quantile; 0 and n+1
// stand for no bound. With K ~ Binomial(n, p) values below the quantile, lower is the largest k with P(K ≤
// k-1) ≤ α/2, and upper the smallest k with P(K ≥ k) ≤ α/2.
func intervalRanks(n int, p, confidence float64) (lower, upper int) {
	tail := (1 - confidence) / 2
	if !(tail > 0) || !(p >= 0 && p <= 1) {
		return 0, n + 1
	}
	lower = sort.Search(n, func(k int) bool { return atLeast(n-k, n, 1-p) > tail })
	upper = 1 + sort.Search(n, func(k int) bool { return atLeast(k+1, n, p) <= tail })
	return lower, upper
}

// atLeast is P(K ≥ k) for K ~ Binomial(n, p), by the regularised incomplete beta function: I_p(k, n-k+1).
// Only the tails matter here, where gonum's function agrees with scipy's to 1e-6 up to n = 10⁹. Within a
// standard deviation of the mean its continued fraction is truncated: it is off by 0.001 at 10⁷ and by 0.1 at
// 10⁸, which farthest keeps searches out of.
func atLeast(k, n int, p float64) float64 {
	switch {
	case k <= 0:
		return 1
	case k > n:
		return 0
	}
	return mathext.RegIncBeta(float64(k), float64(n-k+1), p)
}

// MinSamples is the smallest sample with which quantileInterval, two-sided, bounds the p-quantile from above
// (p ≥ 0.5) or from below (p < 0.5). It is the smallest n with pⁿ ≤ α/2 (with 1-p in place of p below the
// median), and math.MaxInt for p or confidence outside (0, 1), where no sample is large enough.
func MinSamples(p, confidence float64) int {
	if !(p > 0 && p < 1 && confidence > 0 && confidence < 1) {
		return math.MaxInt
	}
	return first(farthest, func(n int) bool { return boundedBy(n, p, confidence) })
}

// boundedBy is n >= MinSamples(p, confidence), without the search.
func boundedBy(n int, p, confidence float64) bool {
	return p > 0 && p < 1 && confidence > 0 && confidence < 1 && math.Pow(max(p, 1-p), float64(n)) <= (1-confidence)/2
}

// first is the smallest number that is ok; math.MaxInt if none up to most is.
func first(most int, ok func(n int) bool) int {
	high := 1
	for !ok(high) {
		if high > most {
			return math.MaxInt
		}
		high *= 2
	}
	low := high / 2
	return low + 1 + sort.Search(high-low-1, func(i int) bool { return ok(low + 1 + i) })
}

// farthest is the largest number of requests that a search considers: more than a run sends, and within
// atLeast's accuracy.
const farthest = 10_000_000

// ShareInterval is the confidence interval of a share of n independent values, exact for any n: Clopper and Pearson,
// "The use of confidence or fiducial limits illustrated in the case of the binomial", Biometrika 26(4), 1934. n may
// be a fraction, the effective size of a sample in clusters: Korn and Graubard, "Confidence intervals for
// proportions with small expected number of positive counts estimated from survey data", Survey Methodology 24(2),
// 1998. It is [0, 1] for n = 0.
func ShareInterval(share, n, confidence float64) Interval {
	iv := Interval{0, 1}
	tail := (1 - confidence) / 2
	if !(n > 0) || !(tail > 0) {
		return iv
	}
	in, out := share*n, (1-share)*n
	if in > 0 {
		iv.Lo = mathext.InvRegIncBeta(in, out+1, tail)
	}
	if out > 0 {
		iv.Hi = mathext.InvRegIncBeta(in+1, out, 1-tail)
	}
	return iv
}

type Cluster struct{ In, N int }

// EffectiveSize is the number of independent values whose 95 % interval of a share is as wide as that of these: the
// size over the design effect, by the variance between clusters (Cochran, "Sampling Techniques", 3rd edition, section
// 9.5), and less for few clusters, which show that variance badly: by the quantiles of Student's t (Korn and Graubard).
// It is at most the number of values. A share of 0 or 1 shows no variance: it counts as many values as clusters.
func EffectiveSize(clusters []Cluster) float64 {
	in, n, count := 0.0, 0.0, float64(len(clusters))
	for _, c := range clusters {
		in, n = in+float64(c.In), n+float64(c.N)
	}
	if share := in / n; count < n && share > 0 && share < 1 && count > 1 {
		sum := 0.0
		for _, c := range clusters {
			d := float64(c.In) - share*float64(c.N)
			sum += d * d
		}
		designEffect := sum / (share * (1 - share) * n) * count / (count - 1)
		t := func(freedom float64) float64 { return distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile(0.975) }
		few := t(n-1) / t(count-1)
		return n / max(1, designEffect) * few * few
	}
	return count
}

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

package stats

import (
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// Shift is how far a group's values lie from all others'.
type Shift struct {
	P     float64 // two-sided; NaN: the group is too small, or the covariates explain which values are its own
	Above bool    // the group's values are above the others'

	of        *Aligned
	indicator []float64 // of the group, aligned
	clusters  []cluster
}

// cluster is the values that depend on each other at any distance.
type cluster struct {
	group  int
	values []int
}

const (
	leastInGroup  = 20
	strataBatches = 40
	// leastTold is the smallest share of the indicator's variance that the covariates may leave.
	leastTold = 0.1
)

// Shift compares the values of a group with all others. groups are the values' numbers; clusterOf numbers the clusters
// that each group has, such as conversations; nil: there are none.
func (a *Aligned) Shift(group int, groups, clusterOf []int) *Shift {
	s := &Shift{P: math.NaN(), of: a, clusters: clustersOf(groups, clusterOf)}
	member := make([]bool, len(groups))
	for i, g := range groups {
		member[i] = g == group
	}
	own := make([]float64, len(member))
	n := 0
	for i, is := range member {
		if is {
			own[i], n = own[i]+1, n+1
		}
		for k, c := range a.columns { // a shift of the group is in covariates of others, too
			if c.from != nil && c.from[i] >= 0 && member[c.from[i]] {
				own[i] -= a.by[k] / c.scale
			}
		}
	}
	if min(n, len(own)-n) < leastInGroup {
		return s
	}
	centred := a.centred(own)
	rest, _ := a.without(centred)
	s.indicator = a.centred(rest)
	if !(floats.Dot(s.indicator, s.indicator) >= leastTold*floats.Dot(centred, centred)) {
		return s
	}
	t, df := s.t(0)
	if !(df > 0) || math.IsNaN(t) {
		return s
	}
	s.P, s.Above = min(1, 2*student(df).Survival(math.Abs(t))), t > 0
	return s
}

func clustersOf(groups, number []int) (out []cluster) {
	at := map[[2]int]int{}
	for i, c := range number {
		name := [2]int{groups[i], c}
		k, known := at[name]
		if !known {
			k = len(out)
			at[name] = k
			out = append(out, cluster{group: groups[i]})
		}
		out[k].values = append(out[k].values, i)
	}
	return out
}

// Difference is the shift in the values' unit, as Hodges and Lehmann estimate it.
func (s *Shift) Difference() float64 { return s.where(0) }

// Interval covers the shift with the given confidence.
func (s *Shift) Interval(confidence float64) Interval {
	if math.IsNaN(s.P) {
		return unbounded()
	}
	_, df := s.t(s.Difference())
	t := quantileOfT(1-(1-confidence)/2, df)
	return Interval{s.where(t), s.where(-t)}
}

// where is the shift at which t has a value. t falls as the shift grows.
func (s *Shift) where(value float64) float64 {
	most := 2 * (slices.Max(s.of.residuals) - slices.Min(s.of.residuals))
	low, high := -most, most
	for range 50 {
		mid := (low + high) / 2
		if t, _ := s.t(mid); t > value {
			low = mid
		} else {
			high = mid
		}
	}
	return (low + high) / 2
}

// t is the sum of ranks times indicator of the residuals less a shift of the group, over its standard error: the
// largest that batches of strata or the clusters show.
func (s *Shift) t(shift float64) (t, df float64) {
	scores := s.scores(shift)
	variance, df := s.ofBatches(scores)
	if s.clusters != nil {
		if v, d := s.ofClusters(scores); !(v <= variance) {
			variance, df = v, d
		}
	}
	sum := floats.Sum(scores)
	if math.Abs(sum) < 1e-9*float64(len(scores)) {
		return 0, df
	}
	n := float64(len(scores)) // the fit takes a part of the variance
	return sum / math.Sqrt(variance*n/max(1, n-float64(len(s.of.columns)))), df
}

// scores are the values' ranks within their stratum times the indicator.
func (s *Shift) scores(shift float64) []float64 {
	ranks := s.of.ranks
	if shift != 0 {
		left := slices.Clone(s.of.residuals)
		floats.AddScaled(left, -shift, s.indicator)
		ranks = ranksWithin(s.of.strata, left)
	}
	return floats.MulTo(make([]float64, len(ranks)), ranks, s.indicator)
}

// ofBatches is the variance of the sum of scores by batches of successive strata, and its degrees of freedom.
func (s *Shift) ofBatches(scores []float64) (variance, df float64) {
	n := min(strataBatches, len(s.of.strata))
	sums := make([]float64, n)
	for k := range sums {
		from, to := s.of.strata[k*len(s.of.strata)/n][0], s.of.strata[(k+1)*len(s.of.strata)/n-1][1]
		sums[k] = floats.Sum(scores[from:to])
	}
	return float64(n) * stat.Variance(sums, nil), float64(n - 1)
}

// ofClusters is the same by clusters: how much those of one group differ from each other, in all groups. NaN: no group
// has two.
func (s *Shift) ofClusters(scores []float64) (variance, df float64) {
	n, groups, squares := 0, map[int][]float64{}, 0.0
	for _, c := range s.clusters {
		sum := 0.0
		for _, i := range c.values {
			sum += scores[i]
		}
		groups[c.group] = append(groups[c.group], sum)
	}
	for _, g := range slices.Sorted(maps.Keys(groups)) {
		x := groups[g]
		n += len(x)
		if len(x) > 1 {
			squares += stat.Variance(x, nil) * float64(len(x)-1)
		}
	}
	df = float64(n - len(groups))
	return float64(n) * squares / df, df
}

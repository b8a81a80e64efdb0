package stats

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// Shift is how far a group's values lie from all others'.
type Shift struct {
	Difference float64 // in the values' unit, as Hodges and Lehmann estimate it
	P          float64 // two-sided; NaN: the group is too small, or the covariates explain which values are its own

	of        *Aligned
	indicator []float64 // of the group, aligned
	clusters  []cluster
}

// cluster is the values that depend on each other at any distance.
type cluster struct {
	own    bool // of the group
	values []int
}

const (
	leastInGroup  = 20
	leastClusters = 4 // of the group, and of the others
	strataBatches = 40
	// leastTold is the smallest share of the indicator's variance that the covariates may leave.
	leastTold = 0.1
)

// Shift compares a group with all other values. clusterOf numbers the values' clusters, such as conversations, each
// either in the group or not; nil: there are none.
func (a *Aligned) Shift(member []bool, clusterOf []int) *Shift {
	s := &Shift{P: math.NaN(), of: a, clusters: clustersOf(member, clusterOf)}
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
	if s.P = min(1, 2*student(df).Survival(math.Abs(t))); !math.IsNaN(s.P) {
		s.Difference = s.where(0)
	}
	return s
}

func clustersOf(member []bool, number []int) (out []cluster) {
	at := map[int]int{}
	for i, c := range number {
		k, known := at[c]
		if !known {
			k = len(out)
			at[c] = k
			out = append(out, cluster{own: member[i]})
		}
		out[k].values = append(out[k].values, i)
	}
	return out
}

// Interval covers the shift with the given confidence.
func (s *Shift) Interval(confidence float64) Interval {
	if math.IsNaN(s.P) {
		return unbounded()
	}
	_, df := s.t(s.Difference)
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

// scores are the values' ranks within their stratum, from −½ to ½, times the indicator.
func (s *Shift) scores(shift float64) []float64 {
	left := slices.Clone(s.of.residuals)
	floats.AddScaled(left, -shift, s.indicator)
	out := make([]float64, len(left))
	var order []int
	for _, b := range s.of.strata {
		order = order[:0]
		for i := b[0]; i < b[1]; i++ {
			order = append(order, i)
		}
		slices.SortFunc(order, func(i, k int) int { return cmp.Compare(left[i], left[k]) })
		for from := 0; from < len(order); {
			to := from + 1
			for to < len(order) && left[order[to]]-left[order[from]] < equalWithin {
				to++
			}
			rank := (float64(from+to+1)/2)/float64(len(order)+1) - 0.5
			for _, i := range order[from:to] {
				out[i] = rank * s.indicator[i]
			}
			from = to
		}
	}
	return out
}

// equalWithin is the distance of tied values: alignment has rounding errors.
const equalWithin = 1e-9

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

// ofClusters is the same by clusters, for the group and the others (Welch). NaN: too few of them.
func (s *Shift) ofClusters(scores []float64) (variance, df float64) {
	var sums [2][]float64
	for _, c := range s.clusters {
		sum, k := 0.0, 0
		for _, i := range c.values {
			sum += scores[i]
		}
		if c.own {
			k = 1
		}
		sums[k] = append(sums[k], sum)
	}
	below := 0.0
	for _, x := range sums {
		if len(x) < leastClusters {
			return math.NaN(), math.NaN()
		}
		v := float64(len(x)) * stat.Variance(x, nil)
		variance += v
		below += v * v / float64(len(x)-1)
	}
	return variance, variance * variance / below
}

package stats

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// exactRanks is the largest total number of values for which MannWhitney counts the exact distribution.
const exactRanks = 100

// MannWhitney is the two-sided rank-sum test. u counts the pairs in which the value of x is larger (a tie
// counts half); p is the probability of a u as extreme if both samples come from one population: the smaller
// tail, doubled. It is exact up to exactRanks values, ties included (all assignments of the pooled ranks are
// equally likely: Mann and Whitney, Annals of Mathematical Statistics 18, 1947; Lehmann, "Nonparametrics",
// 1975, section 1.4); above, it is the normal approximation with the correction for ties and continuity. p is
// NaN if a sample is empty.
func MannWhitney(x, y []float64) (u, p float64) {
	n, m := len(x), len(y)
	if n == 0 || m == 0 {
		return 0, math.NaN()
	}
	ranks, sum := doubledRanks(x, y)
	u = float64(sum)/2 - float64(n*(n+1))/2
	if n+m > exactRanks {
		return u, normalRankSum(ranks, n, u)
	}
	ways := rankSums(ranks, n)
	var all, below, above float64
	for s, w := range ways {
		all += w
		if s <= sum {
			below += w
		}
		if s >= sum {
			above += w
		}
	}
	return u, min(1, 2*min(below, above)/all)
}

// doubledRanks returns twice the rank of each pooled value, so that the mean rank of a tie is an integer, and
// the sum over x.
func doubledRanks(x, y []float64) (ranks []int, sum int) {
	type value struct {
		v     float64
		first bool
	}
	var all []value
	for _, v := range x {
		all = append(all, value{v, true})
	}
	for _, v := range y {
		all = append(all, value{v, false})
	}
	slices.SortFunc(all, func(a, b value) int { return cmp.Compare(a.v, b.v) })
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[j].v == all[i].v {
			j++
		}
		for k := i; k < j; k++ {
			ranks = append(ranks, i+1+j) // twice the mean of i+1 … j
			if all[k].first {
				sum += i + 1 + j
			}
		}
		i = j
	}
	return ranks, sum
}

func rankSums(ranks []int, n int) []float64 {
	most := 0
	for _, r := range ranks[len(ranks)-n:] { // ranks ascend
		most += r
	}
	ways := make([][]float64, n+1) // by number of chosen ranks
	for k := range ways {
		ways[k] = make([]float64, most+1)
	}
	ways[0][0] = 1
	for i, r := range ranks {
		for k := min(n, i+1); k > 0; k-- {
			for s := r; s <= most; s++ {
				ways[k][s] += ways[k-1][s-r]
			}
		}
	}
	return ways[n]
}

func normalRankSum(ranks []int, n int, u float64) float64 {
	all := float64(len(ranks))
	pairs := float64(n) * (all - float64(n))
	ties := 0.0
	for i := 0; i < len(ranks); {
		j := i
		for j < len(ranks) && ranks[j] == ranks[i] {
			j++
		}
		t := float64(j - i)
		ties += t*t*t - t
		i = j
	}
	sd := math.Sqrt(pairs / 12 * (all + 1 - ties/(all*(all-1))))
	if sd == 0 {
		return 1
	}
	z := max(0, math.Abs(u-pairs/2)-0.5) / sd
	return min(1, 2*distuv.UnitNormal.Survival(z))
}

// LeastRankP is the smallest p that MannWhitney can return without ties: 0.1 for three against three, 0.029 for four.
func LeastRankP(n, m int) float64 {
	ways := 1.0 // binomial coefficient of n+m over n
	for i := 1; i <= n; i++ {
		ways *= float64(m+i) / float64(i)
	}
	return min(1, 2/ways)
}

// HodgesLehmann is the shift from x to y, the median of all differences y−x, with the interval that matches
// MannWhitney: the shifts that the test does not reject at this confidence (Lehmann, section 2.6). The
// interval is unbounded if the samples are too small. It computes n·m differences: use it for repeats, not
// for requests.
func HodgesLehmann(x, y []float64, confidence float64) (shift float64, within Interval) {
	var differences []float64
	for _, a := range x {
		for _, b := range y {
			differences = append(differences, b-a)
		}
	}
	slices.Sort(differences)
	within = unbounded()
	if k := rankDepth(len(x), len(y), (1-confidence)/2); k > 0 {
		within = Interval{differences[k-1], differences[len(differences)-k]}
	}
	return Quantile(differences, 0.5), within
}

// rankDepth is the largest k with P(U ≤ k−1) ≤ tail: the number of differences outside of the interval at
// either end.
func rankDepth(n, m int, tail float64) int {
	if n == 0 || m == 0 {
		return 0
	}
	if n+m > exactRanks {
		pairs := float64(n * m)
		sd := math.Sqrt(pairs * float64(n+m+1) / 12)
		return max(0, int(pairs/2+distuv.UnitNormal.Quantile(tail)*sd))
	}
	ranks := make([]int, n+m)
	for i := range ranks {
		ranks[i] = i + 1
	}
	ways := rankSums(ranks, n)
	all := 0.0
	for _, w := range ways {
		all += w
	}
	below := 0.0
	for u := 0; ; u++ {
		below += ways[n*(n+1)/2+u]
		if below/all > tail {
			return u
		}
	}
}

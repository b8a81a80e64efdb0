package stats

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// ChangePoint is a place where the distribution of a series changes.
type ChangePoint struct {
	At int     `json:"at"` // index of the first value after the change
	P  float64 `json:"p"`  // of the permutation test with the series' memory
}

// ChangeTest defines what counts as a change.
type ChangeTest struct {
	Least        int     // minimum number of values on either side
	Level        float64 // largest p
	Permutations int     // maximum number; fewer are made when p is clearly above Level
}

// ChangePoints returns the changes of a series in order. It is the divisive part of E-divisive. The split
// with the largest energy distance between both sides, scaled by their lengths, is a change if a shuffled
// series seldom has one as large. Then both parts are split in the same way (D. Matteson and N. James,
// Journal of the American Statistical Association 109, 2014, arXiv 1306.4933, with α = 1; as in D. Daly et
// al., ICPE 2020, arXiv 2003.00584, each part is tested by itself and up to its end). It detects any
// change of the distribution, not only of its centre.
//
// Successive values that resemble each other wander, which looks like changes. So what the test finds in
// plain shuffled series is tested again in shuffled series with the memory of the values between those
// changes.
func ChangePoints(values []float64, test ChangeTest, r *rand.Rand) []ChangePoint {
	candidates := test.divide(values, r, func(int, int, int) float64 { return 0 })
	if len(candidates) == 0 {
		return nil
	}
	return test.divide(values, r, func(from, to, at int) float64 {
		starts := []int{0, at - from}
		for _, c := range candidates {
			if from < c.At && c.At < to && c.At != at {
				starts = append(starts, c.At-from)
			}
		}
		return memory(values[from:to], starts)
	})
}

// divide splits values until no part has a change; memory is that of the values between two indexes, with
// their best split.
func (test ChangeTest) divide(values []float64, r *rand.Rand, memory func(from, to, at int) float64) (found []ChangePoint) {
	var part func(from, to int)
	part = func(from, to int) {
		own := places(values[from:to])
		at, size := bestSplit(own, test.Least)
		if at == 0 {
			return
		}
		p := test.permuted(own, size, memory(from, to, from+at), r)
		if p > test.Level {
			return
		}
		part(from, from+at)
		found = append(found, ChangePoint{from + at, p})
		part(from+at, to)
	}
	part(0, len(values))
	return found
}

// memory is the correlation of successive values within the segments that begin at starts, at least 0.
// Removing a mean lowers it by (1+3ρ)/n (M. Kendall, "Note on Bias in the Estimation of Autocorrelation",
// Biometrika 41, 1954). Half of that is added for each segment, since some of them are no changes but the
// memory itself: found by simulation (TestSimulationChangePoints).
func memory(values []float64, starts []int) float64 {
	n, k := float64(len(values)), float64(len(starts))
	slices.Sort(starts)
	off := slices.Clone(values)
	products := 0.0
	for i, from := range starts {
		to := len(off)
		if i+1 < len(starts) {
			to = starts[i+1]
		}
		floats.AddConst(-stat.Mean(off[from:to], nil), off[from:to])
		products += floats.Dot(off[from:to-1], off[from+1:to])
	}
	squares := floats.Dot(off, off)
	if squares == 0 {
		return 0
	}
	rho := products / squares * n / (n - k)
	return min(max(0, rho+k/2*(1+3*rho)/n), mostMemory)
}

const (
	// enough permutations as large as the series show that there is no change.
	enough = 10
	// mostMemory keeps a series that wanders throughout from becoming a constant one.
	mostMemory = 0.95
)

// permuted is the probability that a shuffled series has a split of this size. Shuffled values with memory
// are y(i) = ρ·y(i−1) + √(1−ρ²)·x(i), which keeps their variance. Permutations are drawn from r and end
// early after ten that are as large (J. Besag and P. Clifford, Biometrika 78, 1991).
func (test ChangeTest) permuted(part []placed, size, rho float64, r *rand.Rand) float64 {
	shuffled := slices.Clone(part)
	mean := 0.0
	for _, v := range part {
		mean += v.x / float64(len(part))
	}
	as := 0
	for n := 1; n <= test.Permutations; n++ {
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		series := shuffled
		if rho > 0 {
			remembering := make([]float64, len(shuffled))
			remembering[0] = shuffled[0].x - mean
			for i := 1; i < len(shuffled); i++ {
				remembering[i] = rho*remembering[i-1] + math.Sqrt(1-rho*rho)*(shuffled[i].x-mean)
			}
			series = places(remembering)
		}
		if _, s := bestSplit(series, test.Least); s >= size {
			as++
		}
		if as == enough {
			return float64(as) / float64(n)
		}
	}
	return float64(as+1) / float64(test.Permutations+1)
}

// placed is a value and its rank, the number of smaller values, which shuffling does not change.
type placed struct {
	x    float64
	rank int
}

func places(values []float64) []placed {
	sorted := slices.Sorted(slices.Values(values))
	out := make([]placed, len(values))
	for i, x := range values {
		rank, _ := slices.BinarySearch(sorted, x)
		out[i] = placed{x, rank}
	}
	return out
}

// bestSplit is the index of the best split and its size: n·m/(n+m)·Ê, with Ê twice the mean distance between
// values of both sides less the mean distance within each side. at is 0 if there are too few values or all
// are equal.
func bestSplit(values []placed, least int) (at int, size float64) {
	n := len(values)
	if least < 2 || n < 2*least {
		return 0, 0
	}
	before := prefixDistances(values)
	reversed := slices.Clone(values)
	slices.Reverse(reversed)
	after := prefixDistances(reversed)
	for k := least; k <= n-least; k++ {
		inA, inB := before[k], after[n-k]
		a, b := float64(k), float64(n-k)
		between := (before[n] - inA - inB) / (a * b)
		e := 2*between - 2*inA/(a*(a-1)) - 2*inB/(b*(b-1))
		if q := a * b / (a + b) * e; q > size {
			at, size = k, q
		}
	}
	return at, size
}

// prefixDistances returns, for each length, the sum of |x−y| over all pairs of that many first values, in O(n
// log n).
func prefixDistances(values []placed) []float64 {
	counts, sums := make(fenwick, len(values)+1), make(fenwick, len(values)+1)
	out := make([]float64, len(values)+1)
	total := 0.0
	for i, v := range values {
		n, below := counts.upTo(v.rank), sums.upTo(v.rank) // number and sum of the smaller values
		out[i+1] = out[i] + v.x*n - below + (total - below) - v.x*(float64(i)-n)
		counts.add(v.rank, 1)
		sums.add(v.rank, v.x)
		total += v.x
	}
	return out
}

// fenwick is a Fenwick tree of prefix sums: P. Fenwick, Software: Practice and Experience 24, 1994.
type fenwick []float64

func (f fenwick) add(i int, x float64) {
	for i++; i < len(f); i += i & -i {
		f[i] += x
	}
}

// upTo is the sum of the first n entries.
func (f fenwick) upTo(n int) float64 {
	sum := 0.0
	for ; n > 0; n -= n & -n {
		sum += f[n]
	}
	return sum
}

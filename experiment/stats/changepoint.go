package stats

import (
	"math/rand/v2"
	"slices"
)

// ChangePoint is a place where the distribution of a series changes.
type ChangePoint struct {
	At int     `json:"at"` // index of the first value after the change
	P  float64 `json:"p"`  // of the permutation test
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
// al., ICPE 2020, arXiv 2003.00584, each part is tested by itself and up to its end). It detects any change
// of the distribution, not only of its centre. Permutations are drawn from r and end early after ten that are
// as large (J. Besag and P. Clifford, Biometrika 78, 1991).
func ChangePoints(values []float64, test ChangeTest, r *rand.Rand) []ChangePoint {
	var found []ChangePoint
	var divide func(from, to int)
	divide = func(from, to int) {
		part := places(values[from:to])
		at, size := bestSplit(part, test.Least)
		if at == 0 {
			return
		}
		p := permuted(part, size, test, r)
		if p > test.Level {
			return
		}
		divide(from, from+at)
		found = append(found, ChangePoint{from + at, p})
		divide(from+at, to)
	}
	divide(0, len(values))
	return found
}

// enough permutations as large as the series show that there is no change.
const enough = 10

func permuted(part []placed, size float64, test ChangeTest, r *rand.Rand) float64 {
	shuffled := slices.Clone(part)
	as := 0
	for n := 1; n <= test.Permutations; n++ {
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if _, s := bestSplit(shuffled, test.Least); s >= size {
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

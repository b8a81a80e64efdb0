package stats

import (
	"math/rand/v2"
	"slices"
)

// ChangePoint is where a series of values becomes another one.
type ChangePoint struct {
	At int     `json:"at"` // index of the first value after the change
	P  float64 `json:"p"`  // of the permutation test
}

// ChangeTest says what counts as a change.
type ChangeTest struct {
	Least        int     // values that must lie on either side
	Level        float64 // largest p
	Permutations int     // for a p at the level; fewer where the answer is no
}

// ChangePoints divides a series at its changes, in their order. It is the divisive part of E-divisive: the place at which the
// energy distance between what lies before and after is largest, scaled by the lengths of both, is a change if a shuffled
// series seldom has one as large; then both parts are looked at in the same way (D. Matteson and N. James, Journal of the
// American Statistical Association 109, 2014, arXiv 1306.4933, with α = 1; as D. Daly et al., ICPE 2020, arXiv 2003.00584,
// each part is tested by itself and up to its end). It sees any change of the distribution, not only of its middle. The
// permutations are drawn from r; they end early where ten were as large (J. Besag and P. Clifford, Biometrika 78, 1991).
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

// enough permutations as large as the series settle that there is no change.
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

// placed is a value, and how many are smaller: that stays as it is however the values are shuffled.
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

// bestSplit is the index that divides values best, and how well: n·m/(n+m)·Ê, with Ê twice the mean distance between values of
// both sides less the mean distance within each. 0 where there are too few values or all are equal.
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

// prefixDistances gives, for each length, the sum of |x−y| over the pairs of the first values: in n·log n, by sums over ranks.
func prefixDistances(values []placed) []float64 {
	counts, sums := make(fenwick, len(values)+1), make(fenwick, len(values)+1)
	out := make([]float64, len(values)+1)
	total := 0.0
	for i, v := range values {
		n, below := counts.upTo(v.rank), sums.upTo(v.rank) // those that are smaller
		out[i+1] = out[i] + v.x*n - below + (total - below) - v.x*(float64(i)-n)
		counts.add(v.rank, 1)
		sums.add(v.rank, v.x)
		total += v.x
	}
	return out
}

// fenwick keeps sums over the first entries of a list that changes: P. Fenwick, Software: Practice and Experience 24, 1994.
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

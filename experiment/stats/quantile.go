// Package stats computes what a sample of measurements shows: exact quantiles, their intervals, a grade of each
// percentile by what its sample is worth, and verdicts on limits that can be undecided. For a series of points
// it finds the frontier and the knee.
//
// The usual order is SummarizeInOrder for the figures, their intervals and grades, InOrder for an SLO, and then
// Frontier and Knee over the points of a series.
//
// Everything is a pure function of its arguments, including the random number generator. Nothing here
// estimates with a sketch or a histogram, assumes that measurements are normally distributed, or sorts the
// caller's slice. Requests of one queue or batch depend on each other: InOrder measures that and is the one
// judge of percentiles; means have intervals from a block bootstrap, widened in the same way. Repeats of a whole
// row show more of its variance than any interval here.
//
// It is one package, although it is large, because its ideas share three types (Interval, Summary, Verdict)
// and one definition of a quantile. Each file holds one idea with its source.
package stats

import (
	"iter"
	"math"
	"slices"
	"sort"
)

type ranked interface {
	size() int
	at(i int) float64              // the i-th smallest value, from 0
	runs() iter.Seq2[float64, int] // the values in ascending order, each with its number of occurrences in a row
}

type ascending []float64

func (a ascending) size() int        { return len(a) }
func (a ascending) at(i int) float64 { return a[i] }

func (a ascending) runs() iter.Seq2[float64, int] {
	return func(yield func(float64, int) bool) {
		for _, x := range a {
			if !yield(x, 1) {
				return
			}
		}
	}
}

// Quantile is the p-quantile of sorted (ascending), by linear interpolation between order statistics: type 7
// of Hyndman and Fan, "Sample Quantiles in Statistical Packages", The American Statistician 50(4), 1996. It
// equals numpy.quantile to the last bit for finite values. It is NaN for an empty slice, for p outside [0,
// 1], and if a value is NaN (slices.Sort puts those first). Failed requests, which must not improve a percentile under
// an SLO by their absence, are +Inf among the values: it is +Inf if the rank is that of one, or between a value and
// one.
func Quantile(sorted []float64, p float64) float64 { return quantile(ascending(sorted), p) }

func quantile(s ranked, p float64) float64 {
	n := s.size()
	if n == 0 || !(p >= 0 && p <= 1) || math.IsNaN(s.at(0)) {
		return math.NaN()
	}
	// The conversion keeps the compiler from fusing the product into the subtraction below, which would
	// change the last bit on some processors.
	rank := float64(float64(n-1) * p)
	below := math.Floor(rank)
	i := int(below)
	return lerp(s.at(i), s.at(min(i+1, n-1)), rank-below)
}

// lerp interpolates as numpy's _lerp does (lib/_function_base_impl.py): from the nearer end, so that the
// result is monotone in t and exact at both ends.
func lerp(a, b, t float64) float64 {
	switch {
	case t == 0 || a == b:
		return a
	case math.IsInf(b, 1):
		return b
	case t < 0.5:
		return a + float64((b-a)*t)
	default:
		return b - float64((b-a)*(1-t))
	}
}

// Median is the 0.5 quantile of values in any order, which stay in theirs.
func Median(values []float64) float64 { return Quantile(slices.Sorted(slices.Values(values)), 0.5) }

// Counts is an exact sample of integers (stored µs) by the number of occurrences: millions take a few MiB.
type Counts struct {
	table  []int   // occurrences by value; grown to the largest value seen
	beyond []int64 // values outside the table, one by one
	n      int
}

// tableEnd is the maximum length of the table of Counts: 8 MiB, for gaps of up to a second.
const tableEnd = 1 << 20

func (c *Counts) Add(x int64) {
	c.n++
	if uint64(x) < uint64(len(c.table)) {
		c.table[x]++
		return
	}
	c.addFar(x)
}

func (c *Counts) addFar(x int64) {
	if x < 0 || x >= tableEnd {
		c.beyond = append(c.beyond, x)
		return
	}
	grown := make([]int, min(max(1<<12, 2*int(x)), tableEnd))
	copy(grown, c.table)
	c.table = grown
	c.table[x]++
}

func (c *Counts) N() int { return c.n }

func (c *Counts) runs() iter.Seq2[int64, int] {
	slices.Sort(c.beyond)
	beyond := c.beyond
	negative, _ := slices.BinarySearch(beyond, 0)
	return func(yield func(int64, int) bool) {
		for _, x := range beyond[:negative] {
			if !yield(x, 1) {
				return
			}
		}
		for x, n := range c.table {
			if n > 0 && !yield(int64(x), n) {
				return
			}
		}
		for _, x := range beyond[negative:] {
			if !yield(x, 1) {
				return
			}
		}
	}
}

func (c *Counts) reset() {
	clear(c.table)
	c.beyond, c.n = c.beyond[:0], 0
}

// Sorted has math.MaxInt64 as +Inf.
func (c *Counts) Sorted(unit float64) Sorted { return c.sortedIn(Sorted{}, unit) }

// sortedIn reuses the memory of another one.
func (c *Counts) sortedIn(room Sorted, unit float64) Sorted {
	s, end := Sorted{room.values[:0], room.ends[:0]}, 0
	for x, n := range c.runs() {
		end += n
		value := float64(x) / unit
		if x == math.MaxInt64 {
			value = math.Inf(1)
		}
		s.values = append(s.values, value)
		s.ends = append(s.ends, end)
	}
	return s
}

// Sorted is a sample in ascending order, as runs of equal values. The zero value is an empty sample.
type Sorted struct {
	values []float64
	ends   []int // number of sample values up to the end of each run
}

func (s Sorted) Quantile(p float64) float64 { return quantile(s, p) }

func (s Sorted) size() int {
	if len(s.ends) == 0 {
		return 0
	}
	return s.ends[len(s.ends)-1]
}

func (s Sorted) at(i int) float64 { return s.values[sort.SearchInts(s.ends, i+1)] }

func (s Sorted) runs() iter.Seq2[float64, int] {
	return func(yield func(float64, int) bool) {
		before := 0
		for i, x := range s.values {
			if !yield(x, s.ends[i]-before) {
				return
			}
			before = s.ends[i]
		}
	}
}

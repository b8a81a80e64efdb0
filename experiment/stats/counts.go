package stats

import (
	"iter"
	"math"
	"slices"
	"sort"
)

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

func (s Sorted) QuantileWithMissing(missing int, p float64) float64 { return quantile(s, missing, p) }

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

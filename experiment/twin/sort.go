package twin

import (
	"math"
	"slices"
)

// sortLong sorts as slices.Sort, which takes twice the time for the values of a long run. What is not negative has the
// order of its bits: a pass for each byte sorts it.
func sortLong(v []float64) {
	const fewest = 1000
	var counts [8][256]int32
	keys := make([]uint64, len(v))
	for i, x := range v {
		if len(v) < fewest || !(x >= 0) {
			slices.Sort(v)
			return
		}
		keys[i] = math.Float64bits(x)
		for b := range counts {
			counts[b][byte(keys[i]>>(8*b))]++
		}
	}
	sorted := make([]uint64, len(v))
	for b := range counts {
		at := int32(0)
		for d, n := range counts[b] {
			at, counts[b][d] = at+n, at
		}
		for _, k := range keys {
			to := &counts[b][byte(k>>(8*b))]
			sorted[*to] = k
			*to++
		}
		keys, sorted = sorted, keys
	}
	for i, k := range keys {
		v[i] = math.Float64frombits(k)
	}
}

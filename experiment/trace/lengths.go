package trace

import (
	"maps"
	"math"
	"slices"
)

// Lengths summarizes a number of tokens exactly; percentiles interpolate between order statistics (Hyndman
// and Fan's type 7).
type Lengths struct {
	Mean float64 `json:"mean"`
	Min  float64 `json:"min"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
}

// tally counts equal numbers, so that memory grows with the number of distinct ones.
type tally map[int]int

func (t *tally) add(n int) {
	if *t == nil {
		*t = tally{}
	}
	(*t)[n]++
}

// lengths summarizes the counted numbers, each times a scale; zeros if there are none.
func (t tally) lengths(scale float64) Lengths {
	keys := slices.Sorted(maps.Keys(t))
	upTo := make([]int, len(keys)) // number of values ≤ keys[i]
	n, sum := 0, 0.0
	for i, k := range keys {
		n += t[k]
		sum += float64(k) * float64(t[k])
		upTo[i] = n
	}
	if n == 0 {
		return Lengths{}
	}
	value := func(rank int) float64 { // from 0
		i, _ := slices.BinarySearch(upTo, rank+1)
		return float64(keys[i])
	}
	at := func(p float64) float64 {
		h := p * float64(n-1)
		low := math.Floor(h)
		a, b := value(int(low)), value(int(math.Ceil(h)))
		return (a + (b-a)*(h-low)) * scale
	}
	return Lengths{Mean: sum / float64(n) * scale, Min: at(0), P50: at(0.5), P90: at(0.9), P95: at(0.95), P99: at(0.99),
		Max: at(1)}
}

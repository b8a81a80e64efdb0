package twin

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The order is that of slices.Sort, also beside what has no order of bits.
func TestSortLong(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, odd := range [][]float64{nil, {0, math.Inf(1), math.MaxFloat64, math.SmallestNonzeroFloat64}, {-1}, {math.NaN()},
		{math.Inf(-1), -1, 0}} {
		for _, n := range []int{0, 1, 999, 1000, 5000} {
			v := slices.Clone(odd)
			for range n {
				v = append(v, math.Exp(40*rng.NormFloat64()))
			}
			rng.Shuffle(len(v), func(i, j int) { v[i], v[j] = v[j], v[i] })
			want := slices.Clone(v)
			slices.Sort(want)
			sortLong(v)
			if !slices.EqualFunc(v, want, func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }) {
				t.Errorf("%d values beside %v are not in order", n, odd)
			}
		}
	}
}

package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// redraws is the number of resamples of a variance: the standard error is then within 5 % in four of five
// cases.
const redraws = 300

// leastBlocks is the smallest number of blocks that resampling needs.
const leastBlocks = 5

// Resample draws blocks of successive values of one repeat, again and again: values in ascending order, each with
// the number of times its block was drawn. Blocks are drawn whole, since requests that share a batch are slow
// together (H. Künsch, Annals of Statistics 17, 1989); they do not overlap, and their length is the cube root of
// the sample's size.
type Resample struct {
	sorted []float64
	block  []int32 // by value
	drawn  []int   // times drawn, by block
	n      int     // values, each counted as often as it was drawn
	sizes  []int   // by block

	// Of every stride-th value, the number of values before it, by block: a quantile then starts near its end.
	stride int
	before [][]int32
}

const mostMarks = 64

func NewResample(values []float64) *Resample {
	length := int(math.Ceil(math.Cbrt(float64(len(values)))))
	if length == 0 {
		return &Resample{}
	}
	return newResample(values, length, len(values)/length)
}

func newResample(values []float64, length, blocks int) *Resample {
	type value struct {
		x float64
		i int
	}
	order := make([]value, len(values))
	for i, x := range values {
		order[i] = value{x, i}
	}
	slices.SortFunc(order, func(a, b value) int {
		switch {
		case a.x < b.x:
			return -1
		case a.x > b.x:
			return 1
		}
		return 0
	})
	w := &Resample{sorted: make([]float64, len(order)), block: make([]int32, len(order)), drawn: make([]int, blocks),
		sizes:  make([]int, blocks),
		stride: len(order)/mostMarks + 1}
	before := make([]int32, blocks)
	for k, v := range order {
		if k%w.stride == 0 {
			w.before = append(w.before, slices.Clone(before))
		}
		b := min(v.i/length, blocks-1) // the last block takes the remainder
		w.sorted[k], w.block[k] = v.x, int32(b)
		w.sizes[b]++
		before[b]++
	}
	return w
}

// Variance is the variance of a statistic over resamples; 0, unknown, for fewer than leastBlocks blocks.
func (w *Resample) Variance(statistic func(*Resample) float64, r *rand.Rand) float64 {
	if len(w.drawn) < leastBlocks {
		return 0
	}
	drawn := make([]float64, 0, redraws)
	for range redraws {
		w.redraw(r)
		if x := statistic(w); !math.IsNaN(x) && !math.IsInf(x, 0) {
			drawn = append(drawn, x)
		}
	}
	if len(drawn) < redraws/2 {
		return 0
	}
	slices.Sort(drawn)
	_, std := meanStd(ascending(drawn))
	return std * std
}

func (w *Resample) redraw(r *rand.Rand) {
	clear(w.drawn)
	w.n = 0
	for range w.drawn {
		b := r.IntN(len(w.drawn))
		w.drawn[b]++
		w.n += w.sizes[b]
	}
}

func (w *Resample) Quantile(p float64) float64 {
	rank := float64(w.n-1) * p
	below := int(rank)
	from, seen := w.start(p, below)
	lower := math.NaN()
	for i, x := range w.sorted[from:] {
		if seen += w.drawn[w.block[from+i]]; seen <= below {
			continue
		}
		if math.IsNaN(lower) {
			lower = x
		}
		if seen > below+1 || rank == float64(below) {
			return lerp(lower, x, rank-float64(below))
		}
	}
	return lower
}

// start is a value before which at most `below` were drawn, near the p-quantile, and their number.
func (w *Resample) start(p float64, below int) (from, seen int) {
	for k := int(p*float64(len(w.before)) - 0.5); k > 0; k-- {
		seen = 0
		for b, n := range w.before[k] {
			seen += w.drawn[b] * int(n)
		}
		if seen <= below {
			return k * w.stride, seen
		}
	}
	return 0, 0
}

func (w *Resample) Mean() float64 {
	sum := 0.0
	for i, x := range w.sorted {
		sum += x * float64(w.drawn[w.block[i]])
	}
	return sum / float64(w.n)
}

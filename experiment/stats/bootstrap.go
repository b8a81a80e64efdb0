package stats

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Limits of the bootstrap. Below fewestValues, or with fewer than fewestBlocks blocks that depend little on each other,
// a resample says nothing of the spread. With more than mostBlocks the blocks are made longer instead: the
// interval is as right, and a million values cost no more than a thousand.
const (
	fewestValues = 30
	fewestBlocks = 8
	mostBlocks   = 400
)

// MeanInterval is a confidence interval of the mean that successive values come from, by resampling them in blocks
// (Politis and Romano, "A circular block-resampling procedure for stationary data", 1992), so that values which depend on
// their neighbours are not taken for as many independent ones. The values are in the order of their time. Both ends are
// infinite where they are too few.
func MeanInterval(values []float64, confidence float64, rng *rand.Rand) Interval {
	return newBlocks(values, nil, DependenceOf(values).Block).interval(confidence, rng)
}

// blocks is a series of pairs (a sum, and how many it is of), to be resampled in blocks of successive ones.
type blocks struct {
	sums, sizes []float64 // running sums, from 0 on; sizes nil = 1 each
	n, length   int
}

func newBlocks(sums, sizes []float64, length int) *blocks {
	b := &blocks{n: len(sums), sums: running(sums)}
	if sizes != nil {
		b.sizes = running(sizes)
	}
	b.length = max(length, (b.n+mostBlocks-1)/mostBlocks)
	return b
}

func running(values []float64) []float64 {
	out := make([]float64, len(values)+1)
	for i, x := range values {
		out[i+1] = out[i] + x
	}
	return out
}

// count is the number of blocks of a resample; 0 = too few to say anything.
func (b *blocks) count() int {
	m := 0
	if b.length > 0 {
		m = b.n / b.length
	}
	if b.n < fewestValues || m < fewestBlocks {
		return 0
	}
	return m
}

// part is the sum of a running sum over the block that begins at start, which goes on at the beginning where the
// series ends.
func (b *blocks) part(run []float64, start int) float64 {
	end := start + b.length
	if end <= b.n {
		return run[end] - run[start]
	}
	return run[b.n] - run[start] + run[end-b.n]
}

// resample draws so many means (sums over sizes) of as many blocks as there are, in ascending order.
func (b *blocks) resample(times int, rng *rand.Rand) []float64 {
	m := b.count()
	out := make([]float64, times)
	for i := range out {
		sum, size := 0.0, 0.0
		for range m {
			start := rng.IntN(b.n)
			sum += b.part(b.sums, start)
			if b.sizes == nil {
				size += float64(b.length)
			} else {
				size += b.part(b.sizes, start)
			}
		}
		out[i] = sum / size
	}
	slices.Sort(out)
	return out
}

// interval is between two percentiles of the resampled means. They lie further out than the confidence says, as far as
// Student's t does with as many values as there are blocks (Hesterberg, "What Teachers Should Know About the
// Bootstrap", The American Statistician 69(4), 2015, section 3.3).
func (b *blocks) interval(confidence float64, rng *rand.Rand) Interval {
	m := b.count()
	if m == 0 || !(confidence > 0 && confidence < 1) {
		return unbounded()
	}
	tail := expandedTail(m, confidence)
	means := b.resample(resamples(confidence), rng)
	iv := Interval{Quantile(means, tail), Quantile(means, 1-tail)}
	if math.IsNaN(iv.Lo) || math.IsNaN(iv.Hi) {
		return unbounded()
	}
	return iv
}

// resamples is how many make the ends of an interval steady: 50 are expected beyond both of them.
func resamples(confidence float64) int { return int(math.Round(50/(1-confidence))) - 1 }

func expandedTail(m int, confidence float64) float64 {
	t := distuv.StudentsT{Sigma: 1, Nu: float64(m - 1)}.Quantile((1 + confidence) / 2)
	return distuv.UnitNormal.CDF(-t * math.Sqrt(float64(m)/float64(m-1)))
}

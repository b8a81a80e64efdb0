package stats

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Limits of the bootstrap. Below fewestValues, or with fewer than fewestBlocks nearly independent blocks,
// resamples do not show the spread. With more than mostBlocks the blocks are made longer: the interval stays
// correct, and a million values cost no more than a thousand.
const (
	widening          = 2.25 // factor of the excess of the autocorrelation time over 1: a calm window shows less of it
	fewestValues      = 30
	fewestTimesOfMean = 30 // autocorrelation times in a window that shows the dependence
	fewestBlocks      = 8
	mostBlocks        = 400
)

// MeanInterval is a confidence interval of the mean of the process that produced values, which must be in
// time order. It resamples blocks of successive values, which may depend on each other (Politis and Romano,
// "A circular block-resampling procedure for stationary data", 1992), and widens the result as InOrder does, the
// upper end half as much again. Both ends are infinite if there are too few values, or a window too short to show
// the dependence. The upper end is infinite if the tail is so heavy that values which did not occur can move the
// mean.
func MeanInterval(values []float64, confidence float64, rng *rand.Rand) Interval {
	return meanInterval(newBlocks(values, nil, 1), sortedCopy(values), DependenceOf(values), confidence, rng)
}

func sortedCopy(values []float64) []float64 {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return sorted
}

// meanInterval takes the contributions to the mean in ascending order.
func meanInterval(b *blocks, sorted []float64, d Dependence, confidence float64, rng *rand.Rand) Interval {
	n := float64(len(sorted))
	if n < fewestTimesOfMean*d.Time {
		return unbounded()
	}
	// Further out than 99 % resamples would be too many: the distance grows as of a normal distribution.
	iv, scale := b.of(d.block).interval(min(confidence, 0.99), rng), 1.0
	if math.IsInf(iv.Lo, 0) || !(confidence < 1) {
		return unbounded()
	}
	if confidence > 0.99 {
		scale = distuv.UnitNormal.Quantile((1+confidence)/2) / distuv.UnitNormal.Quantile(0.995)
	}
	mean, excess := b.mean(), excessOf(d.Time, n)
	widen := func(care float64) float64 { return scale * math.Sqrt((1+excess*care)/(1+excess)) }
	iv.Lo, iv.Hi = mean-(mean-iv.Lo)*widen(failCare), mean+(iv.Hi-mean)*widen(1.5*widening)
	if heavyTail(sorted) {
		iv.Hi = math.Inf(1)
	}
	return iv
}

// heavyTail reports whether the largest values look as if their variance were infinite: Hill's estimate of the
// tail index ("A Simple General Approach to Inference About the Tail of a Distribution", Annals of Statistics
// 3(5), 1975) from the largest twentieth, or the twenty largest, is below 2.2.
func heavyTail(sorted []float64) bool {
	const fewest, index = 20, 2.2
	n := len(sorted)
	k := max(fewest, n/20)
	if n < 2*k || !(sorted[n-1-k] > 0) {
		return false
	}
	sum := 0.0
	for _, x := range sorted[n-k:] {
		sum += math.Log(x / sorted[n-1-k])
	}
	return sum*index > float64(k)
}

type blocks struct {
	sums, sizes []float64 // running sums, starting with 0; sizes nil = 1 each
	n, length   int
}

func newBlocks(sums, sizes []float64, length int) *blocks {
	b := &blocks{n: len(sums), sums: running(sums)}
	if sizes != nil {
		b.sizes = running(sizes)
	}
	return b.of(length)
}

func (b *blocks) of(length int) *blocks {
	b.length = max(length, (b.n+mostBlocks-1)/mostBlocks)
	return b
}

func (b *blocks) mean() float64 {
	if b.sizes != nil {
		return b.sums[b.n] / b.sizes[b.n]
	}
	return b.sums[b.n] / float64(b.n)
}

func running(values []float64) []float64 {
	out := make([]float64, len(values)+1)
	for i, x := range values {
		out[i+1] = out[i] + x
	}
	return out
}

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

// parts are the sums of the blocks by their start.
func (b *blocks) parts(run []float64) []float64 {
	out := make([]float64, max(0, len(run)-1))
	for start := range out {
		end := start + b.length
		if end <= b.n {
			out[start] = run[end] - run[start]
		} else {
			out[start] = run[b.n] - run[start] + run[end-b.n]
		}
	}
	return out
}

func (b *blocks) resample(times int, rng *rand.Rand) []float64 {
	m := b.count()
	out := make([]float64, times)
	sums, sizes := b.parts(b.sums), b.parts(b.sizes)
	for i := range out {
		sum, size := 0.0, 0.0
		if b.sizes == nil {
			for range m {
				sum += sums[rng.IntN(b.n)]
			}
			size = float64(m * b.length)
		} else {
			for range m {
				start := rng.IntN(b.n)
				sum += sums[start]
				size += sizes[start]
			}
		}
		out[i] = sum / size
	}
	slices.Sort(out)
	return out
}

// interval is between two percentiles of the resampled means. The percentiles are further out than the
// confidence, by the ratio of Student's t for count blocks to the normal distribution (Hesterberg, "What
// Teachers Should Know About the Bootstrap", The American Statistician 69(4), 2015, section 3.3).
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

func resamples(confidence float64) int { return int(math.Round(50/(1-confidence))) - 1 }

func expandedTail(m int, confidence float64) float64 {
	t := distuv.StudentsT{Sigma: 1, Nu: float64(m - 1)}.Quantile((1 + confidence) / 2)
	return distuv.UnitNormal.CDF(-t * math.Sqrt(float64(m)/float64(m-1)))
}

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
	order := argsort(values)
	w := &Resample{sorted: make([]float64, len(order)), block: make([]int32, len(order)), drawn: make([]int, blocks),
		sizes:  make([]int, blocks),
		stride: len(order)/mostMarks + 1}
	before := make([]int32, blocks)
	for k, i := range order {
		if k%w.stride == 0 {
			w.before = append(w.before, slices.Clone(before))
		}
		b := min(i/length, blocks-1) // the last block takes the remainder
		w.sorted[k], w.block[k] = values[i], int32(b)
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

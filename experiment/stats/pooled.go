package stats

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// Pooled is the pooled gaps of many requests. The gaps of one request depend on each other, and so do
// successive requests; intervals and verdicts therefore count requests, never gaps. Call Begin with the sample
// of all gaps, then for each request, in time order, Request, and Gap for each of its gaps; then Summarize or
// InOrder.
type Pooled struct {
	Unit     float64 // values of Gap per unit of the Summary: 1000 turns microseconds into milliseconds
	Requests int     // number of requests

	sorted Sorted
	marks  [len(marked)]float64          // the marked percentiles, in the unit of Gap
	wholes [len(marked)]int64            // the marks without their fractions
	counts [][bins]int32                 // by request
	part   Counts                        // gaps of the section that goes on
	inPart Sorted                        // the same
	parts  [sections][len(shown)]float64 // percentiles of the sections of successive requests
	sums   []float64                     // sum of gaps by request
}

var marked = [...]float64{0.5, 1 - neighbour*0.1, 1 - neighbour*0.05, 0.9, 0.95, 1 - neighbour*0.01, 0.99,
	1 - neighbour*0.001, 0.999}

// bins of a request's gaps: below the first mark, equal to it, between it and the next, …, above the last.
const bins = 2*len(marked) + 1

func (c *Pooled) Begin(sorted Sorted) {
	*c = Pooled{Unit: c.Unit, Requests: c.Requests, sorted: sorted,
		counts: make([][bins]int32, 0, c.Requests), sums: make([]float64, 0, c.Requests)}
	for i, p := range marked {
		mark := sorted.Quantile(p) * c.Unit
		if whole := math.Round(mark); math.Abs(mark-whole) < 1e-6 { // gaps are integers and must equal their own mark
			mark = whole
		}
		if math.IsInf(mark, 1) { // of failed requests
			mark = math.MaxInt64
		}
		c.marks[i], c.wholes[i] = mark, math.MaxInt64
		if mark < math.MaxInt64 {
			c.wholes[i] = int64(math.Floor(mark))
		}
	}
}

func (c *Pooled) Request() {
	if n := len(c.sums); n > 0 && c.section(n) != c.section(n-1) {
		c.endSection()
	}
	c.counts = append(c.counts, [bins]int32{})
	c.sums = append(c.sums, 0)
}

func (c *Pooled) section(request int) int {
	return min(sections-1, request*sections/max(1, c.Requests))
}

func (c *Pooled) endSection() {
	of := &c.parts[c.section(len(c.sums)-1)]
	c.inPart = c.part.sortedIn(c.inPart, c.Unit)
	for i, q := range shown {
		of[i] = quantile(c.inPart, q.p)
	}
	c.part.reset()
}

func (c *Pooled) Gap(gap int64) { c.Gaps(gap, 1) }

func (c *Pooled) Gaps(gap int64, times int) {
	for range times {
		c.part.Add(gap)
	}
	x, above := float64(gap), 0 // marks below the gap
	for _, whole := range c.wholes {
		if gap > whole {
			above++
		}
	}
	bin := 2 * above
	if above < len(c.marks) && x == c.marks[above] {
		bin++
	}
	last := len(c.sums) - 1
	c.counts[last][bin] += int32(times)
	c.sums[last] += x * float64(times)
}

func (c *Pooled) Summarize(rng *rand.Rand) *Summary {
	s := describe(c.sorted)
	if s == nil {
		return nil
	}
	sizes := c.sizes()
	s.order(c.InOrder(), func(i int) bool { return c.reaching(i) >= fewestReaching })
	mean := c.mean(sizes)
	d := DependenceOf(mean)
	iv := meanInterval(newBlocks(c.sums, sizes, 1), sortedCopy(mean), d, shownConfidence, rng)
	s.CI95["mean"] = Interval{iv.Lo / c.Unit, iv.Hi / c.Unit}
	s.ESS = c.effective(s, mean, d)
	return s
}

// InOrder is the requests with the share of their gaps above a level.
func (c *Pooled) InOrder() *InOrder {
	sizes := c.sizes()
	means := make([]float64, len(sizes))
	for i, sum := range c.sums {
		means[i] = sum / max(1, sizes[i])
	}
	total := floats.Sum(sizes)
	s := &InOrder{Bounded: true, n: len(sizes), sorted: c.sorted, ranks: func() []float64 { return ranks(means) },
		levels: map[float64]level{},
		sectionAt: func(i int, p float64) float64 {
			if k := slices.IndexFunc(shown[:], func(q percentile) bool { return q.p == p }); k >= 0 {
				return c.parts[i][k]
			}
			return math.NaN()
		}}
	if c.part.n > 0 {
		c.endSection()
	}
	s.exceedances = func(q float64) ([]float64, float64) {
		mark := slices.IndexFunc(marked[:], func(p float64) bool { return math.Abs(p-(1-q)) < 1e-9 })
		// Above the mark, or at it as well: whichever is nearer to the share.
		above, from := make([]float64, len(sizes)), make([]float64, len(sizes))
		for i := range sizes {
			above[i] = sizes[i] - float64(c.upTo(i, 2*mark+1))
			from[i] = sizes[i] - float64(c.upTo(i, 2*mark))
		}
		out := above
		if x, y := floats.Sum(above)/total, floats.Sum(from)/total; math.Abs(y-q) < math.Abs(x-q) {
			out = from
		}
		share, mean := floats.Sum(out)/total, total/float64(len(sizes))
		for i := range out {
			out[i] = (out[i] - share*sizes[i]) / mean
		}
		return out, share
	}
	return s
}

func (c *Pooled) sizes() []float64 {
	out := make([]float64, len(c.counts))
	for i := range out {
		out[i] = float64(c.upTo(i, bins-1))
	}
	return out
}

func (c *Pooled) upTo(request, bin int) int {
	n := 0
	for _, k := range c.counts[request][:bin+1] {
		n += int(k)
	}
	return n
}

// fewestReaching is the number of requests that must have gaps at or beyond a percentile for its interval to
// end there: one or two requests do not predict the next.
const fewestReaching = 6

func (c *Pooled) reaching(percentile int) int {
	mark := slices.Index(marked[:], shown[percentile].p)
	lowest, n := slices.Index(c.marks[:], c.marks[mark]), 0
	for i := range c.counts {
		if c.upTo(i, 2*lowest) < c.upTo(i, bins-1) {
			n++
		}
	}
	return n
}

func (c *Pooled) mean(sizes []float64) []float64 {
	sum, size := 0.0, 0.0
	for i := range sizes {
		sum, size = sum+c.sums[i], size+sizes[i]
	}
	out := slices.Clone(c.sums)
	for i := range out {
		out[i] -= sum / size * sizes[i]
	}
	return out
}

func (c *Pooled) effective(s *Summary, mean []float64, d Dependence) float64 {
	n := float64(s.N)
	variance := stat.PopVariance(mean, nil) * float64(len(mean)) * d.Time / (n * n * c.Unit * c.Unit) // of the mean gap
	if !(variance > 0) {
		return n
	}
	return min(n, max(1, s.Std*s.Std/variance))
}

package stats

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Pooled summarizes the pooled gaps of many requests. The gaps of one request depend on each other, and so do
// successive requests; intervals therefore come from resampling blocks of requests, never gaps. Call Begin
// with the sample of all gaps, then for each request, in time order, Request, and Gap for each of its gaps;
// then Summarize.
type Pooled struct {
	Unit     float64 // values of Gap per unit of the Summary: 1000 turns microseconds into milliseconds
	Requests int     // expected number of requests, to allocate memory; 0 = unknown

	sorted Sorted
	marks  [len(shown)]float64 // the percentiles, in the unit of Gap
	counts [][bins]int32       // by request
	sums   []float64           // sum of gaps by request
}

// bins of a request's gaps: below the first percentile, equal to it, between it and the next, …, above the
// last.
const bins = 2*len(shown) + 1

// Begin sets the sample of all gaps.
func (c *Pooled) Begin(sorted Sorted) {
	*c = Pooled{Unit: c.Unit, Requests: c.Requests, sorted: sorted,
		counts: make([][bins]int32, 0, c.Requests), sums: make([]float64, 0, c.Requests)}
	for i, q := range shown {
		mark := sorted.QuantileWithMissing(0, q.p) * c.Unit
		if whole := math.Round(mark); math.Abs(mark-whole) < 1e-6 { // gaps are integers and must equal their own mark
			mark = whole
		}
		c.marks[i] = mark
	}
}

// Request starts the next request.
func (c *Pooled) Request() {
	c.counts = append(c.counts, [bins]int32{})
	c.sums = append(c.sums, 0)
}

// Gap adds one gap of the current request.
func (c *Pooled) Gap(gap int64) {
	x := float64(gap)
	bin := bins - 1
	for i, mark := range c.marks {
		if x <= mark {
			bin = 2 * i
			if x == mark {
				bin++
			}
			break
		}
	}
	last := len(c.sums) - 1
	c.counts[last][bin]++
	c.sums[last] += x
}

// Summarize summarizes the gaps; nil if there are none.
func (c *Pooled) Summarize(rng *rand.Rand) *Summary {
	s := c.sorted.Summarize()
	if s == nil {
		return nil
	}
	sizes := make([]float64, len(c.counts))
	for i := range c.counts {
		sizes[i] = float64(c.upTo(i, bins-1))
	}
	for i, q := range shown {
		s.CI95[q.name] = c.interval(i, sizes, rng)
	}
	mean := c.mean(sizes)
	d := DependenceOf(mean)
	iv := newBlocks(c.sums, sizes, d.Block).interval(shownConfidence, rng)
	s.CI95["mean"] = Interval{iv.Lo / c.Unit, iv.Hi / c.Unit}
	s.ESS, s.Needed = c.effective(s, mean, d), needed(len(c.counts))
	return s
}

// upTo is the number of gaps of a request in the bins up to bin.
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

// interval of a percentile is the interval of the share of gaps up to it, converted to values with the sample
// itself: Woodruff, "Confidence Intervals for Medians and Other Position Measures", Journal of the American
// Statistical Association 47, 1952.
func (c *Pooled) interval(mark int, sizes []float64, rng *rand.Rand) Interval {
	lowest := slices.Index(c.marks[:], c.marks[mark]) // several percentiles can be equal
	within, residual := make([]float64, len(sizes)), make([]float64, len(sizes))
	total, inside, reaching := 0.0, 0.0, 0
	for i := range sizes {
		within[i] = float64(c.upTo(i, 2*mark+1))
		total, inside = total+sizes[i], inside+within[i]
		if float64(c.upTo(i, 2*lowest)) < sizes[i] {
			reaching++
		}
	}
	share := inside / total
	for i := range residual {
		residual[i] = within[i] - share*sizes[i]
	}
	shares := newBlocks(within, sizes, DependenceOf(residual).Block).interval(shownConfidence, rng)
	if math.IsInf(shares.Lo, 0) {
		return unbounded()
	}
	p := shown[mark].p
	iv := unbounded()
	if low := p - (shares.Hi - share); low > 0 {
		iv.Lo = c.at(math.Floor(low * (total - 1)))
	}
	if high := p + (share - shares.Lo); high < 1 && reaching >= fewestReaching {
		iv.Hi = c.at(math.Ceil(high * (total - 1)))
	}
	return iv
}

// at is the gap of a rank, from 0, in the unit of the Summary.
func (c *Pooled) at(rank float64) float64 { return c.sorted.at(int(rank)) }

// mean is the contribution of each request to the deviation of the mean gap.
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

// effective is the number of independent gaps whose mean would be as precise as that of these.
func (c *Pooled) effective(s *Summary, mean []float64, d Dependence) float64 {
	n := float64(s.N)
	variance := stat.PopVariance(mean, nil) * float64(len(mean)) * d.Time / (n * n * c.Unit * c.Unit) // of the mean gap
	if !(variance > 0) {
		return n
	}
	return min(n, max(1, s.Std*s.Std/variance))
}

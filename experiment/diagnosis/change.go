package diagnosis

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/experiment/verdict"
)

// Result is what the interval of a change shows, at 95 %.
type Result string

const (
	Better       Result = "better"
	Worse        Result = "worse"
	Inconclusive Result = "inconclusive" // the interval contains no change
)

// Change is one figure of a setting against the first setting.
type Change struct {
	Metric string `json:"metric"` // output_tokens_per_s, or as in the SLO: ttft_p95
	Class  string `json:"class,omitempty"`
	// of the first setting: ms, or tokens/s; a geometric mean over repeats, as value
	Base  float64        `json:"base"`
	Value float64        `json:"value"`
	Ratio float64        `json:"ratio"`      // value ÷ base
	CI95  stats.Interval `json:"ratio_ci95"` // of the ratio
	// what the interval rests on: runs, pairs, or assumed (compare docs/nightly.md), or the highest loads within the SLO
	Spread string `json:"spread"`
	Result Result `json:"result"`
}

// OfLoads is the spread of a change that is that of the highest loads within the SLO, as estimated or measured.
const OfLoads = "loads"

const outputTokens = "output_tokens_per_s"

func (c *Change) isThroughput() bool { return c.Metric == outputTokens }

// Name is the figure for people: "TTFT p95 (class chat)".
func (c *Change) Name() string { return verdict.LimitName(c.Metric, c.Class) }

// widest is the factor between the ends of an interval that is worth printing.
const widest = 4

func (c *Change) tooWide() bool {
	return c.Result == Inconclusive && c.CI95.Hi > widest*c.CI95.Lo && (!math.IsInf(c.CI95.Hi, 1) || c.CI95.Lo <= 0)
}

// Text is "+37 % [31, 44]"; from a factor of two "÷ 3.3 [3, 3.6]".
func (c *Change) Text() string {
	text, within := c.Parts()
	switch {
	case within == "":
		return text + ", n too small"
	case c.Result == Inconclusive:
		return text + " " + within + ", inconclusive"
	}
	return text + " " + within
}

// Parts are the change and its interval; without one n is too small.
func (c *Change) Parts() (text, within string) {
	figure := func(x float64) string { return unit.Brief(x, 2) }
	end := func(of func(float64) float64, x float64) string {
		if y := of(x); !math.IsInf(x, 1) && !math.IsInf(y, 1) {
			return figure(y)
		}
		return "–"
	}
	lead, at := "× ", func(x float64) float64 { return x }
	lo, hi := c.CI95.Lo, c.CI95.Hi
	switch {
	case c.Ratio <= 0.5:
		lead, at = "÷ ", func(x float64) float64 { return 1 / x }
		lo, hi = hi, lo
	case c.Ratio < 2:
		lead, at = "", func(x float64) float64 { return 100 * (x - 1) }
		figure = func(x float64) string { return fmt.Sprintf("%.0f", math.Round(x)+0) }
	}
	text = lead + figure(at(c.Ratio))
	if lead == "" {
		text = fmt.Sprintf("%+.0f %%", at(c.Ratio))
	}
	if !c.tooWide() {
		within = fmt.Sprintf("[%s, %s]", end(at, lo), end(at, hi))
	}
	return strings.ReplaceAll(text, "-", "−"), strings.ReplaceAll(within, "-", "−")
}

// changesOf compares throughput, and the latencies that the SLO limits; without such a limit TTFT and TPOT p50.
func changesOf(m *record.Manifest, base, changed *Setting) []Change {
	out := []Change{}
	from, to := base.point(), changed.point()
	sameLoad := requested(base.s, from) == requested(changed.s, to)
	for _, f := range comparedFigures(from, to) {
		if c, ok := f.change(m, from, to); ok {
			if c.isThroughput() && !sameLoad && base.s.Axis == "rate" && base.w.Verdict != "" {
				open := base.w.Verdict == stats.Undecided || changed.w.Verdict == stats.Undecided
				if open || !c.ofCapacities(base, changed) {
					continue
				}
			}
			out = append(out, c)
		}
	}
	return slices.DeleteFunc(out, func(c Change) bool {
		if !c.isThroughput() {
			return !sameLoad // the latency of another load is no difference between settings
		}
		return sameLoad && !base.s.Closed && c.Result == Inconclusive // the arrivals set it
	})
}

// ofCapacities makes of the throughputs at two operating points what is known of the highest loads within the SLO:
// which rates the row lists is no difference between settings. known is false if that is nothing.
func (c *Change) ofCapacities(base, changed *Setting) (known bool) {
	from, to := base.capacity(), changed.capacity()
	if c.Ratio = to.best / from.best; !(c.Ratio > 0) || math.IsInf(c.Ratio, 1) {
		return false // all requests at once
	}
	c.CI95 = stats.Interval{Lo: c.Ratio * math.Exp(-math.Hypot(math.Log(to.best/to.Lo), math.Log(from.Hi/from.best))),
		Hi: c.Ratio * math.Exp(math.Hypot(math.Log(to.Hi/to.best), math.Log(from.best/from.Lo)))}
	c.Result, c.Spread = resultOf(c.CI95.Lo > 1, c.CI95.Hi < 1), OfLoads
	c.Base *= from.best / requested(base.s, base.point())
	c.Value = c.Base * c.Ratio
	if changed.w.Verdict == stats.Fail {
		return c.Result == Worse
	}
	return c.CI95.Lo > 0 || !math.IsInf(c.CI95.Hi, 1)
}

type capacity struct {
	best float64
	stats.Interval
}

// capacity is the estimate with its interval; without one from the highest PASS to the next load that misses the SLO,
// or without an end; of a setting that misses the SLO, up to its lowest load.
func (x *Setting) capacity() capacity {
	if e := x.w.Estimate; e != nil && e.Best != nil {
		return capacity{*e.Best, stats.Interval{Lo: *e.Low, Hi: *e.High}}
	}
	load := requested(x.s, x.point())
	c := capacity{load, stats.Interval{Lo: load, Hi: math.Inf(1)}}
	switch {
	case x.w.Verdict == stats.Fail:
		c.Lo, c.Hi = 0, load
	case x.w.Limit != nil:
		c.Hi = max(load, requested(x.s, &x.s.Points[x.w.Limit.Point]))
	}
	return c
}

type comparedFigure struct{ metric, stat, class string }

func comparedFigures(from, to *series.Point) []comparedFigure {
	out := []comparedFigure{{metric: outputTokens}}
	for _, p := range []*series.Point{from, to} {
		for _, v := range p.Limits {
			name, stat := metric.Cut(v.Metric)
			f := comparedFigure{name, string(stat), v.Class}
			if _, ok := stat.P(); ok && metric.IsLatency(name) && !slices.Contains(out, f) {
				out = append(out, f)
			}
		}
	}
	slices.SortStableFunc(out[1:], func(a, b comparedFigure) int {
		return cmp.Compare(metric.Order(a.metric), metric.Order(b.metric))
	})
	if len(out) > 1 {
		return out
	}
	if len(from.TTFT) == 0 {
		return append(out, comparedFigure{metric: "e2e", stat: "p50"})
	}
	return append(out, comparedFigure{metric: "ttft", stat: "p50"}, comparedFigure{metric: "tpot", stat: "p50"})
}

// change is by the tests of bench compare: by pairs if the repeats were interleaved, else between the means of both
// sides, whose repeats share a start of the server: the spread between starts is assumed.
func (f comparedFigure) change(m *record.Manifest, from, to *series.Point) (Change, bool) {
	base, sureBase := f.repeats(from)
	changed, sure := f.repeats(to)
	if len(base) == 0 || len(changed) == 0 {
		return Change{}, false
	}
	var test stats.Contrast
	if paired(m, len(base), len(changed)) {
		test = stats.ComparePairs(base, changed)
	} else {
		test = stats.CompareRuns(byStart(m, from, base), byStart(m, to, changed), nil, stats.AssumedSpread)
	}
	means := stats.MeansOfRuns([][]stats.Repeat{base, changed})
	within := test.Interval(0.95)
	c := Change{Metric: strings.TrimSuffix(f.metric+"_"+f.stat, "_"), Class: f.class,
		Base: math.Exp(means[0]), Value: math.Exp(means[1]),
		Ratio: math.Exp(test.Difference),
		CI95:  stats.Interval{Lo: math.Exp(within.Lo), Hi: math.Exp(within.Hi)}, Spread: test.Source,
		Result: Inconclusive}
	switch {
	case !sureBase || !sure:
		c.CI95 = stats.Interval{Lo: 0, Hi: math.Inf(1)}
	case !c.isThroughput():
		c.Result = resultOf(c.CI95.Hi < 1, c.CI95.Lo > 1)
	default:
		c.Result = resultOf(c.CI95.Lo > 1, c.CI95.Hi < 1)
	}
	return c, true
}

// leans reports whether an inconclusive change looks worse by more than noise: no setting is the best with it.
func (c *Change) leans() bool {
	const noise = 1.05
	if c.isThroughput() {
		return c.Result == Inconclusive && c.Ratio < 1/noise
	}
	return c.Result == Inconclusive && c.Ratio > noise
}

func resultOf(better, worse bool) Result {
	switch {
	case better:
		return Better
	case worse:
		return Worse
	}
	return Inconclusive
}

// byStart are the repeats by start of the server: each of them, if the server was started for each.
func byStart(m *record.Manifest, p *series.Point, repeats []stats.Repeat) [][]stats.Repeat {
	if len(repeats) > 1 && startsOf(m, p) >= len(repeats) {
		return slices.Collect(slices.Chunk(repeats, 1))
	}
	return [][]stats.Repeat{repeats}
}

func startsOf(m *record.Manifest, p *series.Point) (n int) {
	for _, s := range m.Servers {
		if s.Variant == p.Rows[0].Spec.Variant && s.Command != nil && s.ReadyS > 0 {
			n++
		}
	}
	return n
}

func paired(m *record.Manifest, base, changed int) bool {
	return m.Order == "interleaved" && base == changed && base > 1
}

// repeats are the logarithms of a figure with their variance within the row; nil if a repeat lacks it. sure is false if
// one has too few requests for an interval.
func (f comparedFigure) repeats(p *series.Point) (out []stats.Repeat, sure bool) {
	sure = true
	for _, r := range p.Shown() {
		x, interval := f.of(r)
		if !(x > 0) {
			return nil, false
		}
		own := stats.Repeat{Value: math.Log(x)}
		if interval.Lo > 0 && !math.IsInf(interval.Hi, 1) {
			se := math.Log(interval.Hi/interval.Lo) / (2 * 1.96)
			own.Within = se * se
		} else {
			sure = false
		}
		out = append(out, own)
	}
	return out, sure
}

// of is a figure with its interval. The throughput of a closed loop is as uncertain as its mean E2E; arrivals set
// that of an open loop, but for one request at the edge of the window.
func (f comparedFigure) of(r *record.Row) (x float64, within stats.Interval) {
	s := &r.Summary
	if f.class != "" {
		s = new(r.Classes[f.class])
	}
	if f.metric == outputTokens {
		x = s.Throughput.OutputTokensPerS
		within = stats.Interval{Lo: x, Hi: x * math.Exp(2*1.96/float64(max(1, s.Requests.Completed)))}
		if e2e := s.E2E; r.Spec.Closed() && e2e != nil {
			if ci, ok := e2e.CI95["mean"]; ok {
				within = ci
			}
		}
		return x, within
	}
	l := s.Latency(f.metric)
	if l == nil {
		return 0, within
	}
	x, _ = l.Get(f.stat)
	return x, l.CI95[f.stat]
}

func basisOf(m *record.Manifest, all []*Setting, ofServer bool) string {
	least, most, starts := math.MaxInt, 0, true
	for _, x := range all {
		n := len(x.point().Shown())
		least, most, starts = min(least, n), max(most, n), starts && startsOf(m, x.point()) >= n
	}
	assumed := fmt.Sprintf("%.0f %% between %s assumed", 100*stats.AssumedSpread.SD,
		map[bool]string{true: "server starts", false: "runs"}[ofServer])
	switch {
	case most == 1:
		return "one run each, " + assumed
	case paired(m, least, most):
		return fmt.Sprintf("%d pairs of repeats", least)
	case starts && least > 2:
		return fmt.Sprintf("%d server starts each", least)
	case starts:
		return fmt.Sprintf("%d server starts each, %s", least, assumed)
	}
	return fmt.Sprintf("%s each, %s", unit.Plural(least, "repeat"), assumed)
}

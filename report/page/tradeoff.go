package page

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"

	"bench/experiment/record"
	"bench/experiment/roofline"
	"bench/experiment/series"
	"bench/experiment/unit"
	"bench/report"
)

// fewPoints is the number of points up to which the page has the curves of every percentile.
const fewPoints = 40

// tradeoffChart is throughput against latency of each series. The reader chooses latency and percentile.
func tradeoffChart(o *report.Outcome) (chart, error) {
	c := chart{ID: "tradeoff", Title: "Throughput against latency", Table: "series", Height: 460, UnitX: "tok/s", UnitY: "ms", Logs: true, PerGPU: gpusOf(o), AxisOf: "yAxis",
		Alt: "Output tok/s against latency, one curve for each series. Rings: frontier; pin: max load within SLO; diamonds: saturation, knee; dashed: SLO; squares: roofline floor. " +
			"A percentile without an upper bound is drawn and ranked by the lower end of its interval. The same figures are in the table of all points."}
	percentiles := []string{"p50", "p90", "p95", "p99"}
	points := 0
	o.Each(func(*series.Series, *series.Point) { points++ })
	if points > fewPoints {
		percentiles = slices.Compact([]string{"p50", limitedPercentile(o, limitedLatency(o, latenciesOf(o)), percentiles), "p99"})
	}
	var names []string
	for _, metric := range []string{"ttft", "tpot", "e2e"} {
		for _, percentile := range percentiles {
			v := tradeoffView(o, metric, percentile)
			if v == nil {
				continue
			}
			if name := report.MetricName(metric); !slices.Contains(names, name) {
				names = append(names, name)
			}
			if err := c.view(report.MetricName(metric)+" "+percentile, v.line, whiskers("95 % interval, repeats", v.whiskers)...); err != nil {
				return c, err
			}
		}
	}
	if len(names) > 0 {
		metric := limitedLatency(o, names)
		c.Choices = []choice{{Name: "latency", Values: names, First: report.MetricName(metric)}, {Name: "percentile", Values: percentiles, First: limitedPercentile(o, metric, percentiles)}}
	}
	return c, nil
}

// limitedLatency is the first of the named latencies that the SLO limits; else the first.
func limitedLatency(o *report.Outcome, names []string) string {
	for _, name := range names {
		for _, percentile := range record.PercentileNames {
			if metric := strings.ToLower(name); len(limitsOf(o, metric+"_"+percentile)) > 0 {
				return metric
			}
		}
	}
	return strings.ToLower(names[0])
}

// limitedPercentile is the highest percentile that the SLO limits; else p99.
func limitedPercentile(o *report.Outcome, metric string, percentiles []string) string {
	for _, p := range slices.Backward(percentiles) {
		if len(limitsOf(o, metric+"_"+p)) > 0 {
			return p
		}
	}
	return percentiles[len(percentiles)-1]
}

// gpusOf is the number of GPUs of every point; 0: one, not specified, or different.
func gpusOf(o *report.Outcome) int {
	n := -1
	o.Each(func(_ *series.Series, p *series.Point) {
		of := 0
		if g := p.OutputTokensPerSPerGPU; g != nil && g.Median > 0 {
			of = int(math.Round(p.OutputTokensPerS.Median / g.Median))
		}
		switch {
		case p.OutputTokensPerS.Median == 0:
		case n < 0:
			n = of
		case n != of:
			n = 0
		}
	})
	if n < 2 {
		return 0
	}
	return n
}

// curves is one view of a throughput chart.
type curves struct {
	line                  *charts.Line
	drawn                 int
	whiskers              [][2][2]float64
	frontier, slo, others []datum
	floors                []datum
}

// tradeoffView is the view of one percentile of one latency; nil: no point has it.
func tradeoffView(o *report.Outcome, metric, percentile string) *curves {
	name := report.MetricName(metric) + " " + percentile
	v := &curves{line: newPlot(opts.XAxis{Type: "value", Name: "output tok/s", Min: 0}, opts.YAxis{Type: "log", Name: name})}
	for i := range o.Series {
		v.addSeries(i, &o.Series[i], metric, percentile)
	}
	if v.drawn == 0 {
		return nil
	}
	addLimits(v.line, metric+"_"+percentile, limitsOf(o, metric+"_"+percentile))
	addMarks(v.line, "frontier", "emptyCircle", neutral, 18, v.frontier)
	addMarks(v.line, "max load within SLO", "pin", vermilion, 30, v.slo)
	addMarks(v.line, "saturation, knee", "emptyDiamond", vermilion, 22, v.others)
	addMarks(v.line, "roofline floor", "rect", neutral, 5, v.floors)
	return v
}

func (v *curves) addSeries(nth int, s *series.Series, metric, percentile string) {
	at, data := v.collect(s, metric, percentile)
	if len(data) == 0 {
		return
	}
	addLine(v.line, nth, s.Label(), data)
	v.drawn++
	if len(s.Points) > 1 { // a single point has no frontier
		v.markKnees(s, at, s.FrontierAgainst(metric, percentile))
	}
}

// collect takes the marks of a series, and adds their intervals and floors. at[j] is nil if point j has no
// mark.
func (v *curves) collect(s *series.Series, metric, percentile string) (at []*datum, data []datum) {
	at = make([]*datum, len(s.Points))
	for j := range s.Points {
		p := &s.Points[j]
		tip := fmt.Sprintf("%s\n%s\n%s %s", s.PointName(p), unit.Format(p.OutputTokensPerS.Median, "output tok/s"), report.MetricName(metric), percentile)
		d, ms, ok := latencyDatum(p.Latency(metric), percentile, tip)
		if !ok {
			continue
		}
		d.x, d.y = p.OutputTokensPerS.Median, ms
		data, at[j] = append(data, d), &d
		v.addWhiskers(p, metric, percentile, ms)
		if b := floorOf(p, metric); b > 0 {
			v.floors = append(v.floors, datum{x: d.x, y: b, tip: fmt.Sprintf("%s\nroofline floor at this batch and context: %s", s.PointName(p), unit.Format(b, "ms"))})
		}
	}
	return at, data
}

func (v *curves) markKnees(s *series.Series, at []*datum, frontier []int) {
	for _, j := range frontier {
		v.frontier = appendMark(v.frontier, at[j], "on the frontier")
	}
	if j := s.MaxLoadWithinSLO.Point; j != nil {
		v.slo = appendMark(v.slo, at[*j], "max load within SLO: "+s.MaxLoadWithinSLO.Why)
	}
	if j := s.Knee.Point; j != nil {
		v.others = appendMark(v.others, at[*j], "knee: "+s.Knee.Why)
	}
	if j := s.Saturation.Point; j != nil {
		v.others = appendMark(v.others, at[*j], "saturation: "+s.Saturation.Why)
	}
}

// addWhiskers draws the interval of the latency and the spread of the repeats' throughputs.
func (v *curves) addWhiskers(p *series.Point, metric, percentile string, ms float64) {
	x := p.OutputTokensPerS
	if l, _ := p.Latency(metric).Get(percentile); !math.IsInf(l.CI95.Lo, 0) && !math.IsInf(l.CI95.Hi, 0) && l.CI95.Lo > 0 {
		v.whiskers = append(v.whiskers, [2][2]float64{{x.Median, l.CI95.Lo}, {x.Median, l.CI95.Hi}})
	}
	v.spread(x, ms)
}

func (v *curves) spread(x record.Repeats, y float64) {
	if x.Spread != nil && x.Spread.Min < x.Spread.Max {
		v.whiskers = append(v.whiskers, [2][2]float64{{x.Spread.Min, y}, {x.Spread.Max, y}})
	}
}

// floorOf is the roofline floor of TTFT or TPOT; 0: none.
func floorOf(p *series.Point, metric string) float64 {
	b := p.Rows[0].Roofline
	if b == nil {
		return 0
	}
	return map[string]roofline.Bound{"ttft": b.TTFT, "tpot": b.TPOT}[metric].FloorMs
}

// interactivityChart is tok/s/user against throughput: the cost of a faster answer.
func interactivityChart(o *report.Outcome) (chart, error) {
	c := chart{ID: "interactivity", Title: "Interactivity against throughput", Table: "series", Height: 400, UnitX: "tok/s", UnitY: "tok/s", Logs: true,
		Alt: "Output tok/s/user (1 / TPOT p50) against output tok/s/GPU, one curve for each series. Rings: frontier. The figures are in the table of all points."}
	name := "output tok/s/GPU"
	output := func(p *series.Point) *record.Repeats { return p.OutputTokensPerSPerGPU }
	if !allPerGPU(o) {
		name, output = "output tok/s", func(p *series.Point) *record.Repeats { return &p.OutputTokensPerS }
	}
	v := &curves{line: newPlot(opts.XAxis{Type: "value", Name: "output tok/s/user", Min: 0}, opts.YAxis{Type: "value", Name: name, Min: 0})}
	for i := range o.Series {
		v.addInteractive(i, &o.Series[i], name, output)
	}
	if v.drawn == 0 {
		return c, nil
	}
	addMarks(v.line, "frontier", "emptyCircle", neutral, 18, v.frontier)
	return c, c.view("", v.line, whiskers("spread of the repeats", v.whiskers)...)
}

// allPerGPU reports whether every point has its number of GPUs.
func allPerGPU(o *report.Outcome) bool {
	all := true
	o.Each(func(_ *series.Series, p *series.Point) { all = all && p.OutputTokensPerSPerGPU != nil })
	return all
}

func (v *curves) addInteractive(nth int, s *series.Series, name string, output func(*series.Point) *record.Repeats) {
	at := make([]*datum, len(s.Points))
	var data []datum
	for j := range s.Points {
		p := &s.Points[j]
		x, y := p.PerUserTokensPerS, output(p)
		if len(x.Values) == 0 {
			continue
		}
		d := datum{x: x.Median, y: y.Median, tip: fmt.Sprintf("%s\n%s\n%s", s.PointName(p), unit.Format(x.Median, "tok/s/user"), unit.Format(y.Median, strings.TrimPrefix(name, "output ")))}
		data, at[j] = append(data, d), &d
		v.spread(x, y.Median)
		if y.Spread != nil {
			v.whiskers = append(v.whiskers, [2][2]float64{{x.Median, y.Spread.Min}, {x.Median, y.Spread.Max}})
		}
	}
	if len(data) == 0 {
		return
	}
	addLine(v.line, nth, s.Label(), data)
	v.drawn++
	if i := slices.IndexFunc(s.Frontiers, func(f series.Frontier) bool { return f.Cost == "per_user_tokens_per_s" }); i >= 0 && len(s.Points) > 1 {
		for _, j := range s.Frontiers[i].Points {
			v.frontier = appendMark(v.frontier, at[j], "on the frontier")
		}
	}
}

// latenciesOf are the latencies that a point has, in the order of the choices; E2E always.
func latenciesOf(o *report.Outcome) []string {
	var names []string
	for _, metric := range []string{"ttft", "tpot", "e2e"} {
		measured := false
		o.Each(func(_ *series.Series, p *series.Point) {
			measured = measured || len(p.Latency(metric)) > 0
		})
		if measured || metric == "e2e" {
			names = append(names, metric)
		}
	}
	return names
}

package report

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
)

// fewPoints is up to how many points the page carries the curves of every percentile.
const fewPoints = 40

// tradeoff is throughput against latency for each series, for each latency and percentile that a reader may choose.
func (o *Outcome) tradeoff() (chart, error) {
	c := chart{ID: "tradeoff", Title: "Throughput against latency", Table: "series", Height: 460, UnitX: "tok/s", UnitY: "ms", Logs: true, PerGPU: o.gpus(), AxisOf: "yAxis",
		Alt: "Curves of output tokens per second against latency, one for each series, with the frontier ringed, the three knees, the SLO's limits and the hardware's floor. " +
			"Points whose percentile has no bound are drawn and ranked by the lower end of its interval (at least). The same figures are in the table of all points."}
	percentiles := []string{"p50", "p90", "p95", "p99"}
	points := 0
	o.each(func(*series.Series, *series.SeriesPoint) { points++ })
	if points > fewPoints {
		percentiles = slices.Compact([]string{"p50", o.judged(o.limited(o.latencies()), percentiles), "p99"})
	}
	var names []string
	for _, metric := range []string{"ttft", "tpot", "e2e"} {
		for _, percentile := range percentiles {
			v := o.tradeoffView(metric, percentile)
			if v == nil {
				continue
			}
			if name := metricName(metric); !slices.Contains(names, name) {
				names = append(names, name)
			}
			if err := c.view(metricName(metric)+" "+percentile, v.line, whiskers("95 % interval, repeats", v.whiskers)...); err != nil {
				return c, err
			}
		}
	}
	if len(names) > 0 {
		metric := o.limited(names)
		c.Choices = []choice{{Name: "latency", Values: names, First: metricName(metric)}, {Name: "percentile", Values: percentiles, First: o.judged(metric, percentiles)}}
	}
	return c, nil
}

// limited is the first latency that the SLO limits, of those with these names; else the first of them.
func (o *Outcome) limited(names []string) string {
	for _, name := range names {
		for _, percentile := range record.PercentileNames {
			if metric := strings.ToLower(name); len(o.limits(metric+"_"+percentile)) > 0 {
				return metric
			}
		}
	}
	return strings.ToLower(names[0])
}

// judged is the percentile that the SLO limits, the highest if there are several; else p99.
func (o *Outcome) judged(metric string, percentiles []string) string {
	for _, p := range slices.Backward(percentiles) {
		if len(o.limits(metric+"_"+p)) > 0 {
			return p
		}
	}
	return percentiles[len(percentiles)-1]
}

// gpus is how many GPUs the throughputs are of; 0: one, or not stated, or not the same everywhere.
func (o *Outcome) gpus() int {
	n := -1
	o.each(func(_ *series.Series, p *series.SeriesPoint) {
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

// curves is one picture of throughput against something.
type curves struct {
	line                  *charts.Line
	drawn                 int
	whiskers              [][2][2]float64
	frontier, slo, others []datum
	floors                []datum
}

// tradeoffView is the picture of one percentile of one latency; nil: no point has it.
func (o *Outcome) tradeoffView(metric, percentile string) *curves {
	name := metricName(metric) + " " + percentile
	v := &curves{line: newPlot(opts.XAxis{Type: "value", Name: "output tok/s", Min: 0}, opts.YAxis{Type: "log", Name: name})}
	for i := range o.Series {
		v.addSeries(i, &o.Series[i], metric, percentile)
	}
	if v.drawn == 0 {
		return nil
	}
	addLimits(v.line, metric+"_"+percentile, o.limits(metric+"_"+percentile))
	addMarks(v.line, "frontier", "emptyCircle", neutral, 18, v.frontier)
	addMarks(v.line, "SLO knee", "pin", vermilion, 30, v.slo)
	addMarks(v.line, "other knees", "emptyDiamond", vermilion, 22, v.others)
	addMarks(v.line, "hardware's floor", "rect", neutral, 5, v.floors)
	return v
}

func (v *curves) addSeries(nth int, s *series.Series, metric, percentile string) {
	at, data := v.collect(s, metric, percentile)
	if len(data) == 0 {
		return
	}
	addLine(v.line, nth, s.Label(), data)
	v.drawn++
	if len(s.Points) > 1 { // one point is its own frontier and knee
		v.markKnees(s, at, s.Against(metric, percentile))
	}
}

// collect takes the marks of a series, and what is drawn about them: intervals and floors. at has nil where a point has no mark.
func (v *curves) collect(s *series.Series, metric, percentile string) (at []*datum, data []datum) {
	at = make([]*datum, len(s.Points))
	for j := range s.Points {
		p := &s.Points[j]
		tip := fmt.Sprintf("%s\n%s\n%s %s", pointName(s, p), unit.Format(p.OutputTokensPerS.Median, "output tok/s"), metricName(metric), percentile)
		d, ms, ok := latencyDatum(p.Latency(metric), percentile, tip)
		if !ok {
			continue
		}
		d.x, d.y = p.OutputTokensPerS.Median, ms
		data, at[j] = append(data, d), &d
		v.addWhiskers(p, metric, percentile, ms)
		if b := floorOf(p, metric); b > 0 {
			v.floors = append(v.floors, datum{x: d.x, y: b, tip: fmt.Sprintf("%s\nfloor of the hardware for this batch and context: %s", pointName(s, p), unit.Format(b, "ms"))})
		}
	}
	return at, data
}

func (v *curves) markKnees(s *series.Series, at []*datum, frontier []int) {
	for _, j := range frontier {
		v.frontier = appendMark(v.frontier, at[j], "on the frontier")
	}
	if j := s.SLOKnee.Point; j != nil {
		v.slo = appendMark(v.slo, at[*j], "SLO knee: "+s.SLOKnee.Why)
	}
	if j := s.GeometricKnee.Point; j != nil {
		v.others = appendMark(v.others, at[*j], "geometric knee: "+s.GeometricKnee.Why)
	}
	if j := s.Saturation.Point; j != nil {
		v.others = appendMark(v.others, at[*j], "saturation: "+s.Saturation.Why)
	}
}

// addWhiskers draws the interval of the latency, and how far the repeats' throughputs are apart.
func (v *curves) addWhiskers(p *series.SeriesPoint, metric, percentile string, ms float64) {
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

// floorOf is the floor of a point's ttft or tpot; 0: there is none.
func floorOf(p *series.SeriesPoint, metric string) float64 {
	b := p.Rows[0].Roofline
	if b == nil {
		return 0
	}
	return map[string]roofline.Bound{"ttft": b.TTFT, "tpot": b.TPOT}[metric].FloorMs
}

// interactivity is what one user sees against what a GPU, or all, bring: the price of a faster answer.
func (o *Outcome) interactivity() (chart, error) {
	c := chart{ID: "interactivity", Title: "Interactivity against throughput", Table: "series", Height: 400, UnitX: "tok/s", UnitY: "tok/s", Logs: true,
		Alt: "Output tokens per second of one user (1 / TPOT p50) against output tokens per second per GPU, one curve for each series, with the frontier ringed. The figures are in the table of all points."}
	name := "output tok/s per GPU"
	output := func(p *series.SeriesPoint) *record.Repeats { return p.OutputTokensPerSPerGPU }
	if !o.allPerGPU() {
		name, output = "output tok/s", func(p *series.SeriesPoint) *record.Repeats { return &p.OutputTokensPerS }
	}
	v := &curves{line: newPlot(opts.XAxis{Type: "value", Name: "output tok/s of one user", Min: 0}, opts.YAxis{Type: "value", Name: name, Min: 0})}
	for i := range o.Series {
		v.addInteractive(i, &o.Series[i], name, output)
	}
	if v.drawn == 0 {
		return c, nil
	}
	addMarks(v.line, "frontier", "emptyCircle", neutral, 18, v.frontier)
	return c, c.view("", v.line, whiskers("spread of the repeats", v.whiskers)...)
}

// allPerGPU says that every point knows its GPUs.
func (o *Outcome) allPerGPU() bool {
	all := true
	o.each(func(_ *series.Series, p *series.SeriesPoint) { all = all && p.OutputTokensPerSPerGPU != nil })
	return all
}

func (v *curves) addInteractive(nth int, s *series.Series, name string, output func(*series.SeriesPoint) *record.Repeats) {
	at := make([]*datum, len(s.Points))
	var data []datum
	for j := range s.Points {
		p := &s.Points[j]
		x, y := p.PerUserTokensPerS, output(p)
		if len(x.Values) == 0 {
			continue
		}
		d := datum{x: x.Median, y: y.Median, tip: fmt.Sprintf("%s\n%s of one user\n%s", pointName(s, p), unit.Format(x.Median, "tok/s"), unit.Format(y.Median, strings.TrimPrefix(name, "output ")))}
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

// latencies are those of which a point has a percentile, in the order in which they are chosen from; e2e where there is none.
func (o *Outcome) latencies() []string {
	var names []string
	for _, metric := range []string{"ttft", "tpot", "e2e"} {
		measured := false
		o.each(func(_ *series.Series, p *series.SeriesPoint) {
			measured = measured || len(p.Latency(metric)) > 0
		})
		if measured || metric == "e2e" {
			names = append(names, metric)
		}
	}
	return names
}

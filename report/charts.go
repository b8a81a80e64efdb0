package report

import (
	"fmt"
	"slices"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"

	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/unit"
)

// charts are the pictures of an outcome, those that there is data for.
func (o *Outcome) charts() ([]chart, error) {
	var out []chart
	add := func(c chart, line *charts.Line) error {
		if line == nil {
			return nil
		}
		var err error
		c.Option, err = option(line)
		out = append(out, c)
		return err
	}
	for _, whole := range []func() (chart, error){o.tradeoff, o.interactivity} {
		c, err := whole()
		if err != nil {
			return nil, err
		}
		if c.Option != nil {
			out = append(out, c)
		}
	}
	for _, axis := range []string{"concurrency", "rate"} {
		if err := add(o.scaling(axis)); err != nil {
			return nil, err
		}
	}
	for _, metric := range []string{"ttft", "tpot", "e2e"} {
		if err := add(o.percentileChart(metric)); err != nil {
			return nil, err
		}
	}
	for _, metric := range []string{"ttft", "tpot"} {
		if err := add(o.boundChart(metric)); err != nil {
			return nil, err
		}
	}
	if err := add(o.prefixChart()); err != nil {
		return nil, err
	}
	return out, nil
}

// limits are the different limits that rows set on a metric, without those of classes.
func (o *Outcome) limits(metric string) []float64 {
	var out []float64
	o.each(func(_ *series.Series, p *series.SeriesPoint) {
		for _, v := range p.Rows[0].SLO {
			if v.Metric == metric && v.Class == "" && v.Limit > 0 && !slices.Contains(out, v.Limit) {
				out = append(out, v.Limit)
			}
		}
	})
	return out
}

// appendMark repeats a datum as a mark of its own, which says only what it is.
func appendMark(marks []datum, d *datum, what string) []datum {
	if d == nil {
		return marks
	}
	return append(marks, datum{x: d.x, y: d.y, tip: what + "\n" + d.tip})
}

// scaling is throughput against load, for the series that have two loads or more.
func (o *Outcome) scaling(axis string) (chart, *charts.Line) {
	u := map[string]string{"concurrency": "slots", "rate": "requests/s"}[axis]
	c := chart{ID: "scaling-" + axis, Title: "Throughput against " + axis, Table: "series", Height: 360, UnitX: u, UnitY: "tok/s",
		Alt: "Curves of output tokens per second against " + axis + ", one for each series. The knees are in the table of series, the figures in the table of all points."}
	line := newPlot(opts.XAxis{Type: "value", Name: axis + ", " + u, Min: 0}, opts.YAxis{Type: "value", Name: "output tok/s", Min: 0})
	var geometric, saturated []datum
	drawn := 0
	for i := range o.Series {
		s := &o.Series[i]
		if s.Axis != axis || len(s.Points) < 2 {
			continue
		}
		var data []datum
		for j := range s.Points {
			p := &s.Points[j]
			load, ok := p.Offered()
			if !ok {
				continue
			}
			d := datum{x: load, y: p.OutputTokensPerS.Median, tip: fmt.Sprintf("%s\n%s", pointName(s, p), unit.Format(p.OutputTokensPerS.Median, "output tok/s"))}
			data = append(data, d)
			if k := s.GeometricKnee.Point; k != nil && *k == j {
				geometric = appendMark(geometric, &d, "geometric knee: "+s.GeometricKnee.Why)
			}
			if k := s.Saturation.Point; k != nil && *k == j {
				saturated = appendMark(saturated, &d, "saturation: "+s.Saturation.Why)
			}
		}
		addLine(line, i, s.Label(), data)
		drawn++
	}
	if drawn == 0 {
		return c, nil
	}
	addMarks(line, "geometric knee", "emptyDiamond", vermilion, 20, geometric)
	addMarks(line, "saturation", "emptyRect", neutral, 20, saturated)
	return c, line
}

// shownAtFirst is how many curves a reader can tell apart; the legend turns the others on.
const shownAtFirst = 8

// byPercentile begins the names of charts for results without their requests.
const byPercentile = "by-percentile-"

// percentileChart is one latency by percentile. A percentile without a bound is drawn as an arrow
// at its lower end, off the line, or not at all.
func (o *Outcome) percentileChart(metric string) (chart, *charts.Line) {
	name := metricName(metric)
	c := chart{ID: byPercentile + metric, Title: name + " by percentile", Table: "percentiles-" + metric, Height: 360, UnitY: "ms",
		Visible: shownAtFirst, Alt: name + " by percentile, one curve for each point. The same figures are in the table below."}
	line := newPlot(opts.XAxis{Type: "category", Data: record.PercentileNames, Name: "percentile"}, opts.YAxis{Type: "log", Name: name})
	line.SetXAxis(record.PercentileNames)
	drawn, nth := 0, -1
	o.each(func(s *series.Series, p *series.SeriesPoint) {
		var data, loose []datum
		nth++
		for _, percentile := range record.PercentileNames {
			tip := fmt.Sprintf("%s\n%s %s", pointName(s, p), name, percentile)
			if d, ms, ok := latencyDatum(p.Latency(metric), percentile, tip); ok {
				d.x, d.y = percentile, ms
				if d.atLeast { // a line through lower ends would be a shape that nobody measured
					loose = append(loose, d)
				} else {
					data = append(data, d)
				}
			}
		}
		if len(data)+len(loose) > 0 {
			addLine(line, nth, pointName(s, p), data)
			addMarks(line, pointName(s, p), shapes[nth%len(shapes)], palette[nth%len(palette)], 10, loose)
			drawn++
		}
	})
	if drawn == 0 {
		return c, nil
	}
	return c, line
}

// boundChart sets p50 and p99 beside the floor and the expected time, point by point.
func (o *Outcome) boundChart(metric string) (chart, *charts.Line) {
	name := metricName(metric)
	c := chart{ID: "bound-" + metric, Title: name + " and its bound", Table: "bounds", UnitX: "ms",
		Alt: name + " p50 and p99 of each point, beside the floor and the expected time that the hardware allows. The same figures are in the table below."}
	var names []string
	var p50, p99, floor, expected []datum
	o.each(func(s *series.Series, p *series.SeriesPoint) {
		label := pointName(s, p)
		if len(p.Latency(metric)) == 0 {
			return
		}
		names = append(names, label)
		for percentile, to := range map[string]*[]datum{"p50": &p50, "p99": &p99} {
			if d, ms, ok := latencyDatum(p.Latency(metric), percentile, label+"\n"+name+" "+percentile); ok {
				d.x, d.y = ms, label
				*to = append(*to, d)
			}
		}
		if b := p.Rows[0].Roofline; b != nil {
			bound := b.TTFT
			if metric == "tpot" {
				bound = b.TPOT
			}
			floor = appendBound(floor, bound.FloorMs, label, "floor")
			expected = appendBound(expected, bound.ExpectedMs, label, "expected")
		}
	})
	if len(floor)+len(expected) == 0 { // the percentiles alone are in other charts
		return c, nil
	}
	line := dotPlot(&c, names)
	addMarks(line, name+" p50", "circle", palette[0], 11, p50)
	addMarks(line, name+" p99", "triangle", palette[1], 11, p99)
	addMarks(line, "floor", "rect", vermilion, 8, floor)
	addMarks(line, "expected", "diamond", palette[2], 12, expected)
	return c, line
}

func appendBound(to []datum, ms float64, label, what string) []datum {
	if ms <= 0 {
		return to
	}
	return append(to, datum{x: ms, y: label, tip: fmt.Sprintf("%s\n%s %s", label, what, unit.Format(ms, "ms"))})
}

// tallest is what a browser's canvas takes at twice the density, in px.
const tallest = 6000

// dotPlot has a name in each line and a logarithmic latency: dots, as a bar needs a zero.
func dotPlot(c *chart, names []string) *charts.Line {
	reversed := slices.Clone(names) // ECharts counts categories from the bottom
	slices.Reverse(reversed)
	c.Height = 110 + min(30*len(names), tallest)
	return newPlot(opts.XAxis{Type: "log"}, opts.YAxis{Type: "category", Data: reversed})
}

// prefixChart is TTFT of the same load with the prefix in its states.
func (o *Outcome) prefixChart() (chart, *charts.Line) {
	c := chart{ID: "prefix-ttft", Title: "TTFT p50, prefix cold and warm", Table: "prefix", UnitX: "ms",
		Alt: "TTFT p50 of each load with the prefix cold, shared and warm. The same figures are in the table below."}
	var names, states []string
	byState := map[string][]datum{}
	for _, set := range o.prefixSets() {
		names = append(names, set.name)
		for i, p := range set.points {
			state := set.states[i]
			if !slices.Contains(states, state) {
				states = append(states, state)
			}
			if d, ms, ok := latencyDatum(p.TTFT, "p50", set.name+", "+state+"\nTTFT p50"); ok {
				d.x, d.y = ms, set.name
				byState[state] = append(byState[state], d)
			}
		}
	}
	if len(names) == 0 {
		return c, nil
	}
	line := dotPlot(&c, names)
	for i, state := range states {
		addMarks(line, state, shapes[i%len(shapes)], palette[i%len(palette)], 13, byState[state])
	}
	return c, line
}

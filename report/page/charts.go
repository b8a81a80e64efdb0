package page

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-echarts/go-echarts/v2/opts"

	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/unit"
	"bench/report"
)

// chartsOf are the charts of a run that have data.
func chartsOf(o *report.Outcome, e evidence) ([]chart, error) {
	var out []chart
	var errs []error
	add := func(c chart, err error) {
		errs = append(errs, err)
		if c.Option != nil {
			out = append(out, c)
		}
	}
	add(tradeoffChart(o))
	add(interactivityChart(o))
	add(scalingChart(o, "concurrency"))
	add(scalingChart(o, "rate"))
	for _, metric := range shownLatencies {
		if len(e.rows) == 0 { // the distributions contain every percentile
			add(percentileChart(o, metric))
		}
	}
	add(prefixChart(o))
	add(distributionChart(e.rows))
	add(promptChart(o, e))
	add(batchChart(o))
	add(timelineChart(e.rows, headlineRow(o)))
	return out, errors.Join(errs...)
}

// limitsOf are the distinct limits of rows on a metric, without those of classes.
func limitsOf(o *report.Outcome, metric string) []float64 {
	var out []float64
	o.Each(func(_ *series.Series, p *series.Point) {
		for _, v := range p.Rows[0].SLO {
			if v.Metric == metric && v.Class == "" && v.Limit > 0 && !slices.Contains(out, v.Limit) {
				out = append(out, v.Limit)
			}
		}
	})
	return out
}

// appendMark repeats a datum as a mark with another tooltip.
func appendMark(marks []datum, d *datum, what string) []datum {
	if d == nil {
		return marks
	}
	return append(marks, datum{x: d.x, y: d.y, tip: what + "\n" + d.tip})
}

// scalingChart is throughput against load of the series with two loads or more.
func scalingChart(o *report.Outcome, axis string) (chart, error) {
	u := map[string]string{"concurrency": "requests", "rate": "requests/s"}[axis]
	c := chart{ID: "scaling-" + axis, Title: "Throughput against " + axis, Table: "series", Height: 360, UnitX: u, UnitY: "tok/s",
		Alt: "Output tok/s against " + axis + ", one curve for each series, with saturation and knee. The figures are in the table of all points."}
	line := newPlot(opts.XAxis{Type: "value", Name: axis + ", " + u, Min: 0}, opts.YAxis{Type: "value", Name: "output tok/s", Min: 0})
	var knees, saturated []datum
	drawn := 0
	for i := range o.Series {
		s := &o.Series[i]
		if s.Axis != axis || len(s.Points) < 2 {
			continue
		}
		var data []datum
		for j := range s.Points {
			p := &s.Points[j]
			load, ok := p.FiniteLoad()
			if !ok {
				continue
			}
			d := datum{x: load, y: p.OutputTokensPerS.Median, tip: fmt.Sprintf("%s\n%s", s.PointName(p), unit.Format(p.OutputTokensPerS.Median, "output tok/s"))}
			data = append(data, d)
			if k := s.Knee.Point; k != nil && *k == j {
				knees = appendMark(knees, &d, "knee: "+s.Knee.Why)
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
	addMarks(line, "knee", "emptyDiamond", vermilion, 20, knees)
	addMarks(line, "saturation", "emptyRect", neutral, 20, saturated)
	return c, c.view("", line)
}

// shownAtFirst is the number of curves that a chart shows at first; the legend turns others on.
const shownAtFirst = 8

// percentileChart is one latency by percentile. A percentile without an upper bound is an arrow at its lower
// end, off the line, or missing.
func percentileChart(o *report.Outcome, metric string) (chart, error) {
	name := report.MetricName(metric)
	c := chart{ID: "by-percentile-" + metric, Title: name + " by percentile", Table: "percentiles-" + metric, Height: 360, UnitY: "ms",
		Visible: shownAtFirst, Alt: name + " by percentile, one curve for each point. The same figures are in the table below."}
	line := newPlot(opts.XAxis{Type: "category", Data: record.PercentileNames, Name: "percentile"}, opts.YAxis{Type: "log", Name: name})
	line.SetXAxis(record.PercentileNames)
	drawn, nth := 0, -1
	o.Each(func(s *series.Series, p *series.Point) {
		var data, loose []datum
		nth++
		for _, percentile := range record.PercentileNames {
			tip := fmt.Sprintf("%s\n%s %s", s.PointName(p), name, percentile)
			if d, ms, ok := latencyDatum(p.Latency(metric), percentile, tip); ok {
				d.x, d.y = percentile, ms
				if d.atLeast { // a line through lower ends would show a shape that was not measured
					loose = append(loose, d)
				} else {
					data = append(data, d)
				}
			}
		}
		if len(data)+len(loose) > 0 {
			addLine(line, nth, s.PointName(p), data)
			addMarks(line, s.PointName(p), shapes[nth%len(shapes)], palette[nth%len(palette)], 10, loose)
			drawn++
		}
	})
	if drawn == 0 {
		return c, nil
	}
	return c, c.view("", line)
}

// prefixChart is TTFT by the state of the prefix.
func prefixChart(o *report.Outcome) (chart, error) {
	c := chart{ID: "prefix-ttft", Title: "TTFT p50, prefix cold and warm", Table: "prefix", UnitX: "ms",
		Alt: "TTFT p50 of each load with the prefix cold, shared and warm. The same figures are in the table below."}
	var names, states []string
	byState := map[string][]datum{}
	for _, set := range o.PrefixSets() {
		names = append(names, set.Name)
		for i, p := range set.Points {
			state := set.States[i]
			if !slices.Contains(states, state) {
				states = append(states, state)
			}
			if d, ms, ok := latencyDatum(p.TTFT, "p50", set.Name+", "+state+"\nTTFT p50"); ok {
				d.x, d.y = ms, set.Name
				byState[state] = append(byState[state], d)
			}
		}
	}
	if len(names) == 0 {
		return c, nil
	}
	slices.Reverse(names)                     // ECharts counts categories from the bottom
	c.Height = 110 + min(30*len(names), 6000) // px; 6000 is the largest canvas at double density
	line := newPlot(opts.XAxis{Type: "log"}, opts.YAxis{Type: "category", Data: names})
	for i, state := range states {
		addMarks(line, state, shapes[i%len(shapes)], palette[i%len(palette)], 13, byState[state])
	}
	return c, c.view("", line)
}

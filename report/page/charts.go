package page

import (
	"fmt"
	"slices"

	"github.com/go-echarts/go-echarts/v2/opts"

	"bench/experiment/metric"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/report"
)

// chartsOf are the charts of a run; one without an option has nothing to show.
func chartsOf(o *report.Analysis, set *curveSet, e evidence) []chart {
	out := []chart{set.interactivityChart(report.TabSummary), set.latencyChart(report.TabSummary),
		set.throughputChart(report.TabLatency)}
	for _, metric := range o.Latencies() {
		if len(e.rows) == 0 { // the distributions contain every percentile
			out = append(out, percentileChart(o, metric))
		}
	}
	return append(out, tilingChart(e.rows, headlineRow(o)), prefixChart(o), distributionChart(o, e.rows),
		promptChart(o, e), batchChart(o),
		timelineChart(e.rows, headlineRow(o)))
}

const shownAtFirst = 8

// percentileChart is one latency by percentile. A percentile whose n is too small stands off the line.
func percentileChart(o *report.Analysis, latency string) chart {
	name := metric.Words(latency)
	c := chart{ID: "by-percentile-" + latency, Title: name + " by percentile", Table: "percentiles-" + latency,
		Height: 360, UnitY: "ms",
		Visible: shownAtFirst, Alt: name +
			" by percentile, one curve for each point. The same figures are in the table below."}
	line := newPlot(opts.XAxis{Type: "category", Data: metric.Percentiles, Name: "percentile"},
		opts.YAxis{Type: "log", Name: name})
	line.SetXAxis(metric.Percentiles)
	drawn, nth := 0, -1
	o.Each(func(s *series.Series, p *series.Point) {
		var data, loose []datum
		nth++
		for _, percentile := range metric.Percentiles {
			tip := fmt.Sprintf("%s\n%s %s", s.PointName(p), name, percentile)
			if d, ms, ok := latencyDatum(p.Latency(latency), percentile, tip); ok {
				d.x, d.y = percentile, ms
				if d.grade == stats.NoBound {
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
		return c
	}
	return c.view("", line)
}

func prefixChart(o *report.Analysis) chart {
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
		return c
	}
	slices.Reverse(names)                     // ECharts counts categories from the bottom
	c.Height = 110 + min(30*len(names), 6000) // px; 6000 is the largest canvas at double density
	line := newPlot(opts.XAxis{Type: "log"}, opts.YAxis{Type: "category", Data: names})
	for i, state := range states {
		addMarks(line, state, shapes[i%len(shapes)], palette[i%len(palette)], 13, byState[state])
	}
	return c.view("", line)
}

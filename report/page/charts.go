package page

import (
	"slices"

	"github.com/go-echarts/go-echarts/v2/opts"

	"bench/report"
)

// chartsOf are the charts of a run; one without an option has nothing to show.
func chartsOf(o *report.Analysis, set *curveSet, e evidence) []chart {
	return []chart{set.interactivityChart(report.TabSummary), set.latencyChart(report.TabSummary),
		set.throughputChart(report.TabLatency), tilingChart(e.rows, headlineRow(o)), prefixChart(o),
		distributionChart(o, e.rows), promptChart(o, e), batchChart(o), timelineChart(e.rows, headlineRow(o))}
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
			if d, ms, ok := latencyDatum(p.TTFT, set.Name+", "+state+"\nTTFT p50"); ok {
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

package page

import (
	"slices"

	"github.com/go-echarts/go-echarts/v2/opts"

	"bench/experiment/metric"
	"bench/experiment/series"
	"bench/report"
)

const curvesID = "curves"

const marksOfCurves = "★ ship ● meets ○ misses ◐ undecided × invalid → interval unbounded"

// chart is one of the curves, with load or output from 0 on; without an option if no curve has what it shows.
func (set *curveSet) chart(c chart, has func(curve) bool, xName string, y opts.YAxis) chart {
	c.Curves, c.Logs = curvesID, true
	if !slices.ContainsFunc(set.Curves, has) {
		return c
	}
	return c.view("", newPlot(opts.XAxis{Type: "value", Name: xName, Min: 0}, y))
}

func (set *curveSet) interactivityChart(table string) chart {
	return set.chart(chart{ID: "interactivity", Title: "Throughput vs interactivity", Table: table, Height: 400,
		Axes: []string{"per_user", "output"}, Alt: set.Output +
			" against tok/s/user (1 / TPOT p50), labelled with the load. The figures are in the table of all points."},
		func(c curve) bool {
			return slices.ContainsFunc(c.Points, func(m mark) bool { return len(m.PerUser) > 0 })
		}, "tok/s/user", opts.YAxis{Type: "value", Name: set.Output, Min: 0})
}

func (set *curveSet) latencyChart(table string) chart {
	c := chart{ID: "latency-load", Title: "Latency vs load", Table: table, Height: 400, UnitY: "ms",
		Axes: []string{"load", "latency"}, AxisOf: "yAxis",
		Alt: "Latency against load, labelled with the load; dashed red: SLO; solid with a band: estimated by the " +
			"twin. The figures are in the table of all points."}
	metrics := set.latencies()
	if len(metrics) > 0 {
		first := set.opening(set.First)
		var names []string
		for _, m := range metrics {
			names = append(names, metric.Words(m))
		}
		c.Choices = []choice{{Name: "latency", Values: names, First: first[0]},
			{Name: "percentile", Values: metric.Percentiles, First: first[1]}}
	}
	c.Published = slices.ContainsFunc(set.Curves, func(c curve) bool { return len(c.Published) > 0 })
	return set.chart(c, func(curve) bool { return len(metrics) > 0 }, "load", opts.YAxis{Type: "log", Name: "latency"})
}

func (set *curveSet) throughputChart(table string) chart {
	return set.chart(chart{ID: "throughput", Wide: true, Title: "Throughput vs load", Table: table, Height: 320,
		Axes: []string{"load", "output"},
		Alt:  set.Output + " against load. The figures are in the table of all points."},
		func(c curve) bool { return len(c.Points) > 1 }, "load", opts.YAxis{Type: "value", Name: set.Output, Min: 0})
}

func (set *curveSet) latencies() []string {
	return slices.DeleteFunc(slices.Clone(metric.Shown), func(latency string) bool {
		return !slices.ContainsFunc(set.Curves, func(c curve) bool {
			return slices.ContainsFunc(c.Points, func(m mark) bool { return len(m.Latency[latency]) > 0 })
		})
	})
}

// limited is the latency of the deciding limit of the SLO if it is one, else the first that is limited.
func (c *curve) limited(deciding string) *opening {
	var first *opening
	for _, latency := range metric.Shown {
		for _, percentile := range slices.Backward(metric.Percentiles) {
			key := latency + "_" + percentile
			if len(c.Limits[key]) == 0 || first != nil && key != deciding {
				continue
			}
			first = &opening{metric.Words(latency), percentile}
		}
	}
	return first
}

// decidingLimit is what keeps higher loads from the SLO, else what the operating point comes nearest to; empty:
// unknown.
func decidingLimit(o *report.Analysis, i int) string {
	for _, w := range o.Answer.Workloads {
		switch {
		case w.Series != i:
		case w.Limit != nil:
			return w.Limit.Metric
		case w.Operating != nil && w.Operating.Closest != nil:
			return w.Operating.Closest.Metric
		}
	}
	return ""
}

func (set *curveSet) opening(group string) opening {
	for _, c := range set.Curves {
		if c.Group == group && c.Opens != nil {
			return *c.Opens
		}
	}
	return set.Opens
}

type publishedMark struct {
	By      string             `json:"by"`
	Load    int                `json:"load"`    // concurrency
	Latency map[string]float64 `json:"latency"` // ms
}

func publishedMarks(s *series.Series) []publishedMark {
	var out []publishedMark
	for i := range s.Points {
		p := s.Points[i].Published
		if p == nil || s.Axis != "concurrency" {
			continue
		}
		for _, f := range p.Figures {
			m := publishedMark{By: f.By() + " (" + f.From() + ")", Load: f.Concurrency,
				Latency: map[string]float64{"ttft": f.TTFTMs, "tpot": f.TPOTMs}}
			again := slices.ContainsFunc(out, func(x publishedMark) bool { return x.By == m.By && x.Load == m.Load })
			if f.Concurrency > 0 && !again {
				out = append(out, m)
			}
		}
	}
	return out
}

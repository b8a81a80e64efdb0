package page

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"

	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/roofline"
	"bench/experiment/series"
	"bench/experiment/unit"
	"bench/experiment/verdict"
	"bench/report"
)

func headlineRow(o *report.Analysis) string {
	if _, p := o.HeadlinePoint(); p != nil {
		return p.Rows[0].ID
	}
	return ""
}

// distributionChart shows the operating point and its neighbours at first, with the limits on them.
func distributionChart(o *report.Analysis, rows []observed) chart {
	c := chart{ID: "ecdf", Wide: true, Title: "Distributions of latency", Table: report.TabLatency, Height: 420,
		UnitX: "ms", UnitY: "share", Logs: true, AxisOf: "xAxis",
		Alt: "CDF: share of completed requests within a latency, one curve for each row and class. Percentiles of the " +
			"same samples are in the table below."}
	near := nearHeadline(o)
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b observed) int {
		return cmp.Compare(rankIn(near, a.row), rankIn(near, b.row))
	})
	var names []string
	thinned := 0 // the largest number of steps of a sample that has more values
	for _, latency := range metric.Shown {
		line := newPlot(opts.XAxis{Type: "log", Name: metric.Words(latency)},
			opts.YAxis{Type: "value", Name: "share of requests", Min: 0, Max: 1})
		var curves []map[string]any
		for _, classes := range []bool{false, true} { // whole rows come first
			for _, row := range rows {
				for _, e := range row.ecdfs {
					if e.metric == latency && (e.class != "") == classes {
						if len(e.steps) < e.n {
							thinned = max(thinned, len(e.steps))
						}
						curves = append(curves, steps(len(curves), row.name, e))
					}
				}
				if len(names) == 0 && !classes && slices.Contains(near, row.row) {
					c.Visible = len(curves)
				}
			}
		}
		if len(curves) == 0 {
			continue
		}
		names = append(names, metric.Words(latency))
		if limit := limitAcross(near, latency); limit != nil {
			curves = append(curves, limit)
		}
		c.view(metric.Words(latency), line, curves...)
	}
	if thinned > 0 {
		c.Note = fmt.Sprintf("Large samples are drawn with %d steps.", thinned)
	}
	if len(names) > 0 {
		c.Choices = []choice{{Name: "latency", Values: names, First: names[0]}}
	}
	return c
}

// nearHeadline are the rows of the quoted point of the first workload, and of the loads beside it.
func nearHeadline(o *report.Analysis) (near []*record.Row) {
	w, s := o.First()
	if w == nil {
		return nil
	}
	for j := max(0, w.Quoted-1); j <= w.Quoted+1 && j < len(s.Points); j++ {
		near = append(near, s.Points[j].Rows...)
	}
	return near
}

func rankIn(near []*record.Row, row *record.Row) int {
	if i := slices.Index(near, row); i >= 0 {
		return i
	}
	return len(near)
}

// limitAcross is the limits on a latency as lines across the curves; nil: it has none.
func limitAcross(rows []*record.Row, latency string) map[string]any {
	var lines []any
	for _, row := range rows[:min(1, len(rows))] {
		for _, v := range row.SLO {
			name, stat := metric.Cut(v.Metric)
			if _, percentile := stat.P(); percentile && name == latency && v.Unit == "ms" && v.Class == "" {
				lines = append(lines, map[string]any{"xAxis": v.Limit, "name": "SLO " + verdict.LimitText(&v)})
			}
		}
	}
	if lines == nil {
		return nil
	}
	return map[string]any{"type": "line", "data": []any{}, "itemStyle": map[string]any{"color": vermilion},
		"markLine": map[string]any{"silent": true, "symbol": []string{"none", "none"}, "data": lines,
			"lineStyle": map[string]any{"color": vermilion, "type": "dashed"},
			"label":     map[string]any{"position": "insideEndTop", "formatter": "{b}", "color": vermilion}}}
}

func steps(i int, name string, e ecdf) map[string]any {
	if e.class != "" {
		name += ", class " + e.class
	}
	name += " (n=" + unit.Count(e.n)
	if e.metric == "itl" {
		name += " gaps"
	}
	if e.without > 0 {
		name += fmt.Sprintf("; %s without a value", unit.Count(e.without))
	}
	color := palette[i%len(palette)]
	return map[string]any{"type": "line", "name": name + ")", "n": e.n, "steps": e.steps, "step": "end",
		"showSymbol": len(e.steps) < 40, "symbol": shapes[i%len(shapes)],
		"itemStyle": map[string]any{"color": color},
		"lineStyle": map[string]any{"color": color, "width": 2, "type": dashes[i/len(palette)%len(dashes)]}}
}

func promptChart(o *report.Analysis, e evidence) chart {
	c := chart{ID: "ttft-input", Title: "TTFT against input length", Table: "floors", Height: 400, UnitY: "ms",
		Logs: true,
		Alt: "TTFT of single requests against prompt tokens, with the roofline floor. Floors and medians are in the " +
			"table below."}
	line := newPlot(opts.XAxis{Type: "log", Name: "prompt tokens"}, opts.YAxis{Type: "log", Name: "TTFT"})
	lengths := map[float64]bool{}
	var names []string
	dots := map[string][]pair{}
	for _, row := range e.rows {
		if len(row.pairs) == e.budget.pairs {
			c.Note = fmt.Sprintf("Up to %d requests of each row, evenly spread over its window.", e.budget.pairs)
		}
		if dots[row.series] == nil {
			names = append(names, row.series)
		}
		for _, p := range row.pairs {
			lengths[p.tokens] = true
			if p.ms > 0 && p.tokens > 0 {
				dots[row.series] = append(dots[row.series], p)
			}
		}
	}
	if len(lengths) < 2 {
		return c
	}
	addPromptFloors(line, o, slices.Sorted(maps.Keys(lengths)))
	var clouds []map[string]any
	for i, name := range names {
		clouds = append(clouds, dotted(i, name, dots[name]))
	}
	return c.view("", line, clouds...)
}

// addPromptFloors draws the floor of each setup over the lengths of the prompts.
func addPromptFloors(line *charts.Line, o *report.Analysis, lengths []float64) {
	drawn := map[[3]string]bool{}
	o.Each(func(_ *series.Series, p *series.Point) {
		b := p.Rows[0].Roofline
		if b == nil || b.TTFT.FloorMs <= 0 || b.Input <= 0 || b.Cached > 0 {
			return
		}
		setup := [3]string{b.Model, b.Hardware, fmt.Sprint(b.GPUs)}
		if drawn[setup] {
			return
		}
		drawn[setup] = true
		const places = 16
		least, most := max(1, lengths[0]), lengths[len(lengths)-1]
		var items []opts.LineData
		for i := range places {
			tokens := least * math.Pow(most/least, float64(i)/(places-1))
			ms := promptFloor(b, tokens)
			items = append(items, opts.LineData{Value: []any{short(tokens), short(ms), "roofline floor " +
				unit.Format(ms, "ms")}, Symbol: "none"})
		}
		addCurve(line, "roofline floor", items, opts.LineStyle{Color: neutral, Width: 2}, opts.LineChart{})
	})
}

// promptFloor is the floor at another length, or less: weights are read once, compute grows with the prompt, and
// attention with its square.
func promptFloor(b *record.Roofline, tokens float64) float64 {
	x := tokens / b.Input
	grows := map[string]float64{"weights": 1, "compute": x, "attention": x * x}
	var here, there float64
	for _, t := range b.TTFT.Terms {
		if times, part := grows[t.Name]; part && !t.Hidden {
			here, there = here+t.Ms, there+t.Ms*times
		}
	}
	if here == 0 {
		return b.TTFT.FloorMs
	}
	return b.TTFT.FloorMs * there / here
}

// dotted marks are bare pairs, half the size of items of go-echarts.
func dotted(i int, name string, pairs []pair) map[string]any {
	data := make([][2]float64, len(pairs))
	for k, p := range pairs {
		data[k] = [2]float64{p.tokens, p.ms}
	}
	return map[string]any{"type": "scatter", "name": name, "data": data, "symbol": shapes[i%len(shapes)],
		"symbolSize": 6, "itemStyle": map[string]any{"color": palette[i%len(palette)], "opacity": 0.6}}
}

type bandPoint struct {
	x, context float64
	bound      roofline.Bound
	name       string
}

// addRooflines: floors at different contexts are no curve. Contexts within a tenth of the shortest count as one. It
// sorts the points.
func addRooflines(line *charts.Line, points []bandPoint) {
	slices.SortStableFunc(points, func(a, b bandPoint) int { return cmp.Compare(a.context, b.context) })
	for len(points) > 0 {
		same := 1
		for same < len(points) && points[same].context <= 1.1*points[0].context {
			same++
		}
		addRoofline(line, points[:same])
		points = points[same:]
	}
}

func addRoofline(line *charts.Line, points []bandPoint) {
	points = slices.DeleteFunc(points, func(p bandPoint) bool { return p.x <= 0 || p.bound.FloorMs <= 0 })
	slices.SortStableFunc(points, func(a, b bandPoint) int { return cmp.Compare(a.x, b.x) })
	for _, x := range []struct {
		name, dash string
		ms         func(roofline.Bound) float64
	}{
		{"roofline floor", "solid", func(b roofline.Bound) float64 { return b.FloorMs }},
		{"typical range", "dotted", func(b roofline.Bound) float64 { return b.LowMs }},
		{"typical range", "dotted", func(b roofline.Bound) float64 { return b.HighMs }},
	} {
		var items []opts.LineData
		for _, p := range points {
			if ms := x.ms(p.bound); ms > 0 {
				tip := fmt.Sprintf("%s\n%s %s", p.name, x.name, unit.Format(ms, "ms"))
				items = append(items, opts.LineData{Value: []any{short(p.x), short(ms), tip}, Symbol: "rect",
					SymbolSize: 4})
			}
		}
		if len(items) > 0 {
			addCurve(line, x.name, items, opts.LineStyle{Color: neutral, Width: 1.5, Type: x.dash},
				opts.LineChart{ShowSymbol: opts.Bool(true)})
		}
	}
}

func batchChart(o *report.Analysis) chart {
	c := chart{ID: "tpot-batch", Title: "TPOT against batch", Table: "floors", Height: 400, UnitY: "ms", Logs: true,
		Alt: "TPOT p50 of each point against its mean decode batch, one curve for each series, with roofline floor " +
			"and typical range. The same figures are in the table below."}
	line := newPlot(opts.XAxis{Type: "log", Name: "batch (mean number of decoding requests)"},
		opts.YAxis{Type: "log", Name: "TPOT p50"})
	var band []bandPoint
	for i := range o.Series {
		s := &o.Series[i]
		var data []datum
		for j := range s.Points {
			p := &s.Points[j]
			b := p.Rows[0].Roofline
			if b == nil {
				continue
			}
			tip := fmt.Sprintf("%s\nbatch %s, context %s tokens\nTPOT p50", s.PointName(p), unit.Digits(b.Batch),
				unit.Digits(b.Context))
			if d, ms, ok := latencyDatum(p.TPOT, tip); ok {
				d.x, d.y = short(b.Batch), ms
				data = append(data, d)
				band = append(band, bandPoint{b.Batch, b.Context, b.TPOT,
					fmt.Sprintf("%s, context %s tokens", s.PointName(p), unit.Digits(b.Context))})
			}
		}
		if len(data) > 0 {
			addLine(line, i, s.Label(), data)
		}
	}
	if len(band) < 2 {
		return c
	}
	addRooflines(line, band)
	return c.view("", line)
}

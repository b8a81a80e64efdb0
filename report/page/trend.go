package page

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"

	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/report"
	"bench/report/compare"
)

// trendChart draws a figure by date. One wild night does not set the scale: it is a triangle at the edge.
func trendChart(g *compare.Group, t *compare.Trend, id string) chart {
	c := chart{ID: id, Title: t.Metric, Height: 190, Alt: fmt.Sprintf("%s of %s by date, with intervals and changes "+
		"of the level. The tables have the changes.", t.Metric, t.Point)}
	scale, tick := roundOut(scaleOf(t))
	y := opts.YAxis{Type: "value", Min: scale.Lo, Max: scale.Hi}
	if t.Unit == "ms" || t.Unit == "share" {
		c.UnitY = t.Unit
	} else {
		y.Name = report.UnitWords(t.Unit)
	}
	line := newPlot(opts.XAxis{Type: "time"}, y)
	addWhiskers(line, t, scale)
	addLevels(line, t)
	addNights(line, t, scale)
	addMarks(line, "", "emptyCircle", vermilion, 18, gateMarks(g, t, scale))
	addChanges(line, t)
	if a := t.Alarm; a != nil {
		last := t.Nights[len(t.Nights)-1]
		tip := fmt.Sprintf("alarm: %s since %s\n%s", compare.Percent(a.Size, true), report.Date(a.Since),
			nightTip(t, &last))
		addMarks(line, "", "arrow", vermilion, 16,
			[]datum{{x: last.At.UnixMilli(), y: within(last.X, scale), tip: tip}})
	}
	c.Option = c.option(line)
	if c.err == nil {
		c.Option["useUTC"] = true
		c.Option["yAxis"].([]any)[0].(map[string]any)["interval"] = tick
	}
	return c
}

// scaleOf is the central 80 % and as much again on both sides, the levels, and the last three nights.
func scaleOf(t *compare.Trend) (lo, hi float64) {
	values := make([]float64, len(t.Nights))
	for i, n := range t.Nights {
		values[i] = n.X
	}
	sorted := slices.Sorted(slices.Values(values))
	lo, hi = stats.Quantile(sorted, 0.1), stats.Quantile(sorted, 0.9)
	for _, c := range t.Changes {
		lo, hi = min(lo, c.Before, c.After), max(hi, c.Before, c.After)
	}
	span := max(hi-lo, 0.02*math.Abs(hi))
	if span == 0 {
		span = max(sorted[len(sorted)-1]-sorted[0], 0.01)
	}
	lo, hi = lo-span, hi+span
	for _, x := range values[max(0, len(values)-3):] {
		lo, hi = min(lo, x), max(hi, x)
	}
	pad := 0.1 * span
	lo, hi = max(lo, sorted[0]-pad), min(hi, sorted[len(sorted)-1]+pad)
	if sorted[0] >= 0 {
		lo = max(0, lo)
	}
	return lo, hi
}

func roundOut(lo, hi float64) (scale stats.Interval, tick float64) {
	rough := (hi - lo) / 4
	step := math.Pow(10, math.Floor(math.Log10(rough)))
	for _, m := range []float64{2, 2.5, 2} { // 2, 5, 10 times the power of ten
		if step < rough {
			step *= m
		}
	}
	return stats.Interval{Lo: short(math.Floor(lo/step+1e-9) * step),
		Hi: short(math.Ceil(hi/step-1e-9) * step)}, short(step)
}

func within(x float64, scale stats.Interval) float64 { return min(max(x, scale.Lo), scale.Hi) }

func nightTip(t *compare.Trend, n *compare.TrendNight) string {
	s := fmt.Sprintf("%s\n%s %s (%s)\n%s", report.Day(n.At), t.Metric, report.Quantity(n.X, t.Unit),
		report.IntervalText(n.CI95, t.Unit), unit.Plural(n.Repeats, "repeat"))
	if n.LeftOut > 0 {
		s += fmt.Sprintf(", %d invalid left out", n.LeftOut)
	}
	if len(n.Cautions) > 0 {
		s += "\ncautions: " + strings.Join(n.Cautions, ", ")
	}
	if !n.Valid {
		s += "\ninvalid: " + strings.Join(n.Invalid, ", ") + "; not tested"
	}
	return s
}

func addNights(line *charts.Line, t *compare.Trend, scale stats.Interval) {
	items := make([]opts.LineData, len(t.Nights))
	for i := range t.Nights {
		n := &t.Nights[i]
		y := within(n.X, scale)
		d := datum{x: n.At.UnixMilli(), y: y, tip: nightTip(t, n)}
		items[i] = opts.LineData{Value: d.value(), Symbol: nightSymbol(n, scale), SymbolSize: 6}
		if n.X != y {
			items[i].SymbolSize = 12
		}
	}
	addCurve(line, "", items, opts.LineStyle{Color: palette[0], Width: 1},
		opts.LineChart{ShowSymbol: opts.Bool(true), Symbol: "circle", SymbolSize: 6})
}

const downwards = "path://M0,0L10,0L5,9Z"

func nightSymbol(n *compare.TrendNight, scale stats.Interval) string {
	shape := "circle"
	switch {
	case n.X > scale.Hi:
		shape = "triangle"
	case n.X < scale.Lo:
		return downwards
	case len(n.Cautions) > 0:
		shape = "diamond"
	}
	if !n.Valid {
		return "empty" + strings.ToUpper(shape[:1]) + shape[1:]
	}
	return shape
}

var unmarked = opts.LineChart{ShowSymbol: opts.Bool(false), Symbol: "none"}

func addWhiskers(line *charts.Line, t *compare.Trend, scale stats.Interval) {
	var items []opts.LineData
	for _, n := range t.Nights {
		if math.IsInf(n.CI95.Hi, 1) || n.CI95.Lo > scale.Hi || n.CI95.Hi < scale.Lo {
			continue
		}
		x := n.At.UnixMilli()
		items = append(items, opts.LineData{Value: []any{x, drawn(within(n.CI95.Lo, scale))}},
			opts.LineData{Value: []any{x, drawn(within(n.CI95.Hi, scale))}}, opts.LineData{Value: []any{x, nil}})
	}
	addCurve(line, "", items, opts.LineStyle{Color: palette[4], Width: 1, Opacity: opts.Float(0.6)}, unmarked)
}

func addLevels(line *charts.Line, t *compare.Trend) {
	var items []opts.LineData
	for i, c := range t.Changes {
		end := len(t.Nights)
		if i+1 < len(t.Changes) {
			end = t.Changes[i+1].At
		}
		if i == 0 {
			items = append(items, levelEnds(t, 0, c.At, c.Before)...)
		}
		items = append(items, levelEnds(t, c.At, end, c.After)...)
	}
	if len(items) > 0 {
		addCurve(line, "", items, opts.LineStyle{Color: neutral, Width: 2, Type: "dashed"}, unmarked)
	}
}

func levelEnds(t *compare.Trend, from, to int, level float64) []opts.LineData {
	at := func(i int) int64 { return t.Nights[i].At.UnixMilli() }
	return []opts.LineData{{Value: []any{at(from), drawn(level)}}, {Value: []any{at(to - 1), drawn(level)}},
		{Value: []any{at(to - 1), nil}}}
}

func addChanges(line *charts.Line, t *compare.Trend) {
	if len(t.Changes) == 0 {
		return
	}
	var marks []datum
	var lines []opts.MarkLineNameXAxisItem
	for _, c := range t.Changes {
		at := c.Date.UnixMilli()
		size := compare.Percent(c.Size, true)
		marks = append(marks, datum{x: at, y: c.After,
			tip: fmt.Sprintf("%s since %s: %s → %s\nother changes: %s", size, report.Day(c.Date),
				report.Quantity(c.Before, t.Unit), report.Quantity(c.After, t.Unit),
				strings.ReplaceAll(unit.ClipBytes(report.Suspects(c), 400), "; ", "\n  "))})
		lines = append(lines, opts.MarkLineNameXAxisItem{Name: size, XAxis: at})
	}
	line.AddSeries("", nil, charts.WithItemStyleOpts(opts.ItemStyle{Color: vermilion}),
		charts.WithLineStyleOpts(opts.LineStyle{Color: vermilion}), charts.WithMarkLineNameXAxisItemOpts(lines...),
		charts.WithMarkLineStyleOpts(opts.MarkLineStyle{Symbol: []string{"none", "none"},
			Label:     &opts.Label{Show: opts.Bool(true), Position: "end", Formatter: "{b}", Color: vermilion},
			LineStyle: &opts.LineStyle{Color: vermilion, Type: "solid"}}))
	addMarks(line, "", "rect", vermilion, 9, marks)
}

func gateMarks(g *compare.Group, t *compare.Trend, scale stats.Interval) (marks []datum) {
	for _, gate := range g.Gates {
		i := slices.IndexFunc(t.Nights, func(n compare.TrendNight) bool { return n.Run == gate.Run })
		j := slices.IndexFunc(gate.Regressions,
			func(r compare.Regression) bool { return r.Point == t.Point && r.Metric == t.Metric })
		if i < 0 || j < 0 {
			continue
		}
		n := &t.Nights[i]
		tip := nightTip(t, n) + "\ngate: FAIL"
		if change := gate.Regressions[j].Change; change != nil {
			tip += ", " + compare.Percent(*change, true)
		}
		marks = append(marks, datum{x: n.At.UnixMilli(), y: within(n.X, scale),
			tip: tip + ", since " + gate.Regressions[j].Since})
	}
	return marks
}

package page

import (
	"fmt"
	"io"
	"math"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"

	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/report"
	"bench/report/compare"
)

// History writes the history as a page with a chart for each figure of each point.
func History(w io.Writer, h *compare.History) error {
	v := tablesPage{Kind: "bench history", Title: "History", Lead: []string{historyLegend}}
	for i := range h.Groups {
		g := &h.Groups[i]
		id := fmt.Sprintf("g%d-", i)
		for _, t := range report.GroupTables(g) {
			t.ID, t.Caption = id+t.ID, report.GroupTitle(g)+": "+t.Caption
			if err := v.add(t, false); err != nil {
				return err
			}
		}
		trends, err := trendCharts(g, id)
		if err != nil {
			return err
		}
		t := report.TrendsTable(g)
		t.ID, t.Caption = id+t.ID, report.GroupTitle(g)
		if err := v.add(t, true, trends...); err != nil {
			return err
		}
	}
	if err := v.add(report.UnreadTable(h), false); err != nil {
		return err
	}
	return v.write(w, nil) // the charts already have the nights
}

const historyLegend = "A mark is a night: the mean of its repeats, dashed lines its 95 % interval; hollow: a row was invalid, the night is not tested. " +
	"Vertical line: change-point (E-divisive means, permutation test at 0.1 %). Arrow: alarm, each of the last one to three nights is far beyond the earlier ones."

func trendCharts(g *compare.Group, id string) ([]chart, error) {
	var out []chart
	for i := range g.Trends {
		c, err := trendChart(&g.Trends[i], fmt.Sprintf("%st%d", id, i))
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// trendChart draws a figure by night. Nights are evenly spaced, whatever their dates.
func trendChart(t *compare.Trend, id string) (chart, error) {
	name := t.Metric + ", " + t.Point
	c := chart{ID: id, Title: name, Height: 260, UnitY: unitOfAxis(t.Unit),
		Alt: name + ", by night, with intervals and change-points. The figures are in the table below."}
	line := newPlot(opts.XAxis{Type: "value", Name: "night", Min: 0}, opts.YAxis{Type: "value", Name: report.UnitWords(t.Unit), Scale: opts.Bool(true)})
	var marks, low, high, alarms []datum
	for i, n := range t.Nights {
		tip := fmt.Sprintf("%s\n%s: %s (%s)\n%s", report.Day(n.At), t.Metric, report.Quantity(n.X, t.Unit), report.IntervalText(n.CI95, t.Unit), unit.Plural(n.Repeats, "repeat"))
		d := datum{x: i, y: n.X, tip: tip}
		if !n.Valid {
			d.grade, d.tip = stats.Thin, tip+"\ninvalid"
		}
		marks = append(marks, d)
		if !math.IsInf(n.CI95.Hi, 1) {
			low, high = append(low, datum{x: i, y: n.CI95.Lo, tip: tip}), append(high, datum{x: i, y: n.CI95.Hi, tip: tip})
		}
	}
	addLine(line, 0, t.Metric, marks)
	addIntervals(line, low, high)
	if a := t.Alarm; a != nil {
		alarms = append(alarms, datum{x: len(t.Nights) - 1, y: t.Nights[len(t.Nights)-1].X, tip: fmt.Sprintf("alarm: %s", compare.Percent(a.Size, true))})
	}
	addMarks(line, "alarm", "arrow", vermilion, 20, alarms)
	addChanges(line, t)
	var err error
	c.Option, err = option(line)
	return c, err
}

func unitOfAxis(unit string) string {
	if unit == "ms" {
		return unit
	}
	return ""
}

// addIntervals draws the ends of the intervals as thin lines.
func addIntervals(line *charts.Line, low, high []datum) {
	for _, ends := range [][]datum{low, high} {
		items := make([]opts.LineData, len(ends))
		for i, d := range ends {
			items[i] = opts.LineData{Value: d.value(), Symbol: "none"}
		}
		line.AddSeries("95 % interval", items, charts.WithItemStyleOpts(opts.ItemStyle{Color: palette[4]}),
			charts.WithLineStyleOpts(opts.LineStyle{Color: palette[4], Width: 1, Type: "dashed"}),
			charts.WithLineChartOpts(opts.LineChart{ShowSymbol: opts.Bool(false)}))
	}
}

func addChanges(line *charts.Line, t *compare.Trend) {
	if len(t.Changes) == 0 {
		return
	}
	var items []opts.MarkLineNameXAxisItem
	for _, c := range t.Changes {
		items = append(items, opts.MarkLineNameXAxisItem{Name: compare.Percent(c.Size, true), XAxis: float64(c.At) - 0.5})
	}
	line.AddSeries("change", nil,
		charts.WithItemStyleOpts(opts.ItemStyle{Color: vermilion}), charts.WithLineStyleOpts(opts.LineStyle{Color: vermilion}),
		charts.WithMarkLineNameXAxisItemOpts(items...),
		charts.WithMarkLineStyleOpts(opts.MarkLineStyle{Symbol: []string{"none", "none"},
			Label:     &opts.Label{Show: opts.Bool(true), Position: "insideEndTop", Formatter: "{b}", Color: vermilion},
			LineStyle: &opts.LineStyle{Color: vermilion, Type: "solid"}}))
}

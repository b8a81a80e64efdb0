package page

import (
	"math"
	"slices"
	"strings"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"

	"bench/experiment/unit"
	"bench/report"
)

var forestLook = map[report.ForestMark]look{
	report.MarkWorse:        {vermilion, rightwards},
	report.MarkBetter:       {palette[2], leftwards},
	report.MarkNoChange:     {palette[0], "circle"},
	report.MarkPass:         {palette[0], "rect"},
	report.MarkInconclusive: {palette[1], "emptyCircle"},
	report.MarkRaw:          {neutral, "diamond"},
}

const (
	rightwards = "path://M0,0L10,6L0,12Z"
	leftwards  = "path://M10,0L0,6L10,12Z"
)

// mostForestLines is the number of lines that one canvas holds; the table has all.
const mostForestLines = 240

func forestChart(id, title string, lines []report.ForestLine, reach float64) chart {
	c := chart{ID: id, Title: title, Wide: true, UnitX: "size", Alt: title + ": change of each figure with its 95 % " +
		"interval, worse to the right. The table of all figures has them."}
	if more := len(lines) - mostForestLines; more > 0 {
		lines, c.Note = lines[:mostForestLines], unit.Plural(more, "more figure")+" in the table"
	}
	if len(lines) == 0 {
		return c
	}
	c.Height = 110 + 24*len(lines)
	lines = slices.Clone(lines)
	slices.Reverse(lines) // ECharts counts categories from the bottom
	names, changes := make([]string, len(lines)), make([]string, len(lines))
	for i := range lines {
		names[i] = lines[i].Point + " · " + lines[i].Figure
		changes[i] = strings.TrimSpace(lines[i].Change.Full() + " " + string(lines[i].Metric.Gate))
	}
	line := newPlot(opts.XAxis{Type: "value", Name: "← better · worse →", Position: "top", Min: -reach, Max: reach},
		opts.YAxis{Type: "category", Data: names})
	line.ExtendYAxis(opts.YAxis{Type: "category", Data: changes, Position: "right"})
	addIntervalBars(line, lines, reach)
	addThresholds(line, lines, reach)
	for _, mark := range report.ForestMarks {
		addForestMarks(line, mark, lines, reach)
	}
	return c.view("", line)
}

func addIntervalBars(line *charts.Line, lines []report.ForestLine, reach float64) {
	const name = "95 % interval"
	var bars []opts.LineData
	var arrows []opts.ScatterData
	for i := range lines {
		l := &lines[i]
		if l.Mark == report.MarkRaw {
			continue
		}
		for _, x := range []float64{l.Within.Lo, l.Within.Hi} {
			end := []any{short(max(-reach, min(reach, x))), i}
			bars = append(bars, opts.LineData{Value: end})
			if math.Abs(x) > reach {
				arrows = append(arrows, opts.ScatterData{Value: end,
					Symbol: map[bool]string{true: rightwards, false: leftwards}[x > 0]})
			}
		}
		bars = append(bars, opts.LineData{Value: []any{nil, nil}})
	}
	addZero(line)
	if len(bars) == 0 {
		return
	}
	addCurve(line, name, bars, opts.LineStyle{Color: neutral, Width: 2}, opts.LineChart{Symbol: "none"})
	addScatter(line, name, opts.ScatterChart{SymbolSize: 8}, neutral, arrows)
}

func addZero(line *charts.Line) {
	line.AddSeries("", nil, charts.WithMarkLineNameXAxisItemOpts(opts.MarkLineNameXAxisItem{XAxis: 0}),
		charts.WithMarkLineStyleOpts(opts.MarkLineStyle{Symbol: []string{"none", "none"},
			Label:     &opts.Label{Show: opts.Bool(false)},
			LineStyle: &opts.LineStyle{Color: neutral, Type: "solid"}}))
}

func addThresholds(line *charts.Line, lines []report.ForestLine, reach float64) {
	var ticks []opts.ScatterData
	for i := range lines {
		if limit := lines[i].Limit; limit > 0 && limit <= reach {
			tip := "threshold " + lines[i].Metric.Threshold.String()
			ticks = append(ticks, opts.ScatterData{Value: []any{short(limit), i, tip}})
		}
	}
	addScatter(line, "threshold", opts.ScatterChart{Symbol: "rect", SymbolSize: []int{2, 18}}, palette[6], ticks)
}

// addForestMarks draws the changes of one verdict. A change beyond the axis stands at its end.
func addForestMarks(line *charts.Line, mark report.ForestMark, lines []report.ForestLine, reach float64) {
	look := forestLook[mark]
	var marks []opts.ScatterData
	for i := range lines {
		if l := &lines[i]; l.Mark == mark {
			marks = append(marks, opts.ScatterData{Value: []any{short(max(-reach, min(reach, l.At))), i, l.Tip()}})
		}
	}
	addScatter(line, string(mark), opts.ScatterChart{Symbol: look.shape, SymbolSize: 13}, look.color, marks)
}

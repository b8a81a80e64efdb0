package page

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"

	"bench/report"
)

// Heights of panels in px: of a legend above the first one, of a name, a panel, the space below it.
const (
	panelTop   = 70
	panelName  = 36
	panelTall  = 110
	panelSpace = 42
)

func timelineChart(rows []observed, first string) chart {
	c := chart{ID: "row", Title: "Timeline", Table: report.TabTimeline, Panels: true,
		Note: "Shaded: outside the measurement window.",
		Alt:  "Concurrency, latency, arrivals, KV cache in use and GPU power of one row over time; shaded: outside the measurement window. Window means are in the tables of load, server and GPUs."}
	shown := panelsShown(rows)
	if len(shown) == 0 {
		return c
	}
	c.Height = panelName + len(shown)*(panelTall+panelSpace)
	var titles []string
	for _, i := range shown {
		c.UnitsY, titles = append(c.UnitsY, rows[0].panels[i].unit), append(titles, panelNames[i])
	}
	line := panelAxes(panelName, titles, "s from the start of the row", func(k int, x *opts.XAxis, _ *opts.YAxis) {
		x.Min, x.AxisLabel = "dataMin", &opts.AxisLabel{Show: opts.Bool(k == len(shown)-1)}
	})
	line.SetGlobalOptions(charts.WithTooltipOpts(opts.Tooltip{Trigger: "axis"}))
	names := choice{Name: "row"}
	for _, row := range rows {
		name := row.name
		if slices.Contains(names.Values, name) {
			name += " (" + row.row.ID + ")"
		}
		names.Values = append(names.Values, name)
		if row.row.ID == first {
			names.First = name
		}
		c.view(name, newLines(), timelineSeries(row, shown)...)
	}
	names.First = cmp.Or(names.First, names.Values[0])
	c.Choices = []choice{names}
	c.setAxes(line, len(shown))
	c.Option["axisPointer"] = map[string]any{"link": []any{map[string]any{"xAxisIndex": "all"}}}
	return c
}

func newLines() *charts.Line {
	return newPlot(opts.XAxis{Type: "value"}, opts.YAxis{Type: "value"})
}

func panelsShown(rows []observed) []int {
	var shown []int
	for _, row := range rows {
		for i, p := range row.panels {
			if len(p.lines) > 0 && !slices.Contains(shown, i) {
				shown = append(shown, i)
			}
		}
	}
	slices.Sort(shown)
	return shown
}

var panelNames = []string{"requests", "latency", "TPOT, ITL", "arrivals/s", "KV cache in use", "GPU power, W"}

// panelColors have one meaning on the page of a row; lines of one metric differ by their dashes.
var panelColors = [][]string{
	{palette[0], palette[2], palette[1]}, {palette[3], palette[3], palette[3]}, {palette[4], palette[7]},
	{palette[6], palette[6]}, {palette[5]}, {neutral},
}

// panelAxes are the axes of panels, one below the other; edit changes those of panel k.
func panelAxes(top int, names []string, xName string, edit func(k int, x *opts.XAxis, y *opts.YAxis)) *charts.Line {
	line := newLines()
	var grids []opts.Grid
	var xs []opts.XAxis
	var ys []opts.YAxis
	for k, name := range names {
		grids = append(grids, opts.Grid{Top: fmt.Sprint(top + k*(panelTall+panelSpace)),
			Height: fmt.Sprint(panelTall), Left: "64", Right: "24"})
		x := opts.XAxis{Type: "value", Max: "dataMax", GridIndex: k}
		if k == len(names)-1 {
			x.Name, x.NameLocation, x.NameGap = xName, "middle", 26
		}
		y := opts.YAxis{Type: "value", Name: name, NameLocation: "end", NameGap: 8, Min: 0, GridIndex: k,
			SplitNumber: 3}
		edit(k, &x, &y)
		xs, ys = append(xs, x), append(ys, y)
	}
	line.SetGlobalOptions(charts.WithGridOpts(grids...), charts.WithXAxisOpts(xs[0]), charts.WithYAxisOpts(ys[0]))
	line.ExtendXAxis(xs[1:]...)
	line.ExtendYAxis(ys[1:]...)
	return line
}

func (c *chart) setAxes(line *charts.Line, panels int) chart {
	axes := c.option(line)
	if grids, _ := axes["grid"].([]any); len(grids) > panels {
		axes["grid"] = grids[len(grids)-panels:] // without the grid of newLines
	}
	axes["series"] = c.Option["series"]
	c.Option = axes
	return *c
}

// timelineSeries is the lines of a row. charts.js computes x from x0 and dx.
func timelineSeries(row observed, shown []int) []map[string]any {
	var out []map[string]any
	for k, i := range shown {
		p := row.panels[i]
		for _, l := range p.lines {
			color := panelColors[i][l.nth]
			out = append(out, map[string]any{"type": "line", "name": l.name, "xAxisIndex": k, "yAxisIndex": k,
				"showSymbol": p.unit == "ms", "symbolSize": 4, "step": "middle",
				"x0": p.start, "dx": p.bin, "ys": figures(l.values),
				"itemStyle": map[string]any{"color": color},
				"lineStyle": map[string]any{"color": color, "width": 1.5, "type": dashes[l.nth%len(dashes)]}})
		}
		if len(p.lines) > 0 {
			out = append(out, outside(row, p, k))
		}
	}
	return out
}

// figures writes what JSON lacks, NaN and infinities, as null.
type figures []float64

func (f figures) MarshalJSON() ([]byte, error) {
	out := make([]any, len(f))
	for i, x := range f {
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			out[i] = short(x)
		}
	}
	return json.Marshal(out)
}

func outside(row observed, p panel, k int) map[string]any {
	from, to := p.start, p.start+p.bin*float64(len(p.lines[0].values))
	area := func(a, b float64) []any {
		return []any{map[string]any{"xAxis": short(a)}, map[string]any{"xAxis": short(b)}}
	}
	var areas []any
	w := row.row.Window
	if start := float64(w.StartUs) / 1e6; start > from {
		areas = append(areas, area(from, start))
	}
	if end := float64(w.EndUs) / 1e6; end < to {
		areas = append(areas, area(end, to))
	}
	return map[string]any{"type": "line", "name": "outside the window", "xAxisIndex": k, "yAxisIndex": k,
		"data": []any{}, "silent": true, "symbol": "rect",
		"itemStyle": map[string]any{"color": neutral}, "lineStyle": map[string]any{"opacity": 0},
		"markArea": map[string]any{"silent": true, "itemStyle": map[string]any{"color": neutral, "opacity": 0.15},
			"data": areas}}
}

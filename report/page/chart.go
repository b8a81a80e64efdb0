package page

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"slices"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// chart is the option for ECharts, as JSON without functions, and what charts.js needs to finish it.
type chart struct {
	ID     string `json:"id"`
	Title  string `json:"-"`
	Alt    string `json:"-"`
	Note   string `json:"-"`      // what the chart leaves out; empty: nothing
	Table  string `json:"-"`      // id of the table with the same figures, or of the tab
	Height int    `json:"-"`      // px
	Wide   bool   `json:"-"`      // a row of its own
	UnitX  string `json:"unit_x"` // "ms": labels take the unit that fits
	UnitY  string `json:"unit_y"` // likewise; empty: none
	// by go-echarts; a series that looks alike in several views has "views", by name
	Option  map[string]any `json:"option"`
	Visible int            `json:"visible"` // number of series shown at first; 0: all

	Choices []choice `json:"choices,omitempty"` // lists of the reader; a series belongs to one view or to all
	AxisOf  string   `json:"axis_of,omitempty"` // axis named after the choices: xAxis, yAxis; empty: none
	Logs    bool     `json:"logs,omitempty"`    // either axis can be logarithmic
	UnitsY  []string `json:"units_y,omitempty"` // of several y axes
	Panels  bool     `json:"panels,omitempty"`  // names the lines above each of them, in place of a legend

	// id of the curveSet that curves.js composes the series from; empty: all are in the option
	Curves string   `json:"curves,omitempty"`
	Axes   []string `json:"axes,omitempty"` // with Curves, what x and y show: per_user, output, load, latency

	Published bool `json:"-"` // some curve has published figures

	looks map[string]int // index of each series with views, by its look
	err   error          // why it cannot be drawn
}

// choice is a list to choose from. The name of a view is one value of each list, with spaces between.
type choice struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
	First  string   `json:"first"` // chosen at first
}

// Data is the chart for charts.js.
func (c chart) Data() (template.JS, error) {
	if c.err != nil {
		return "", c.err
	}
	return escaped(c)
}

// view adds series on the same axes, shown if the named view is chosen; without a name they are always shown. It
// returns the chart.
func (c *chart) view(name string, line *charts.Line, more ...map[string]any) chart {
	o := c.option(line)
	series, _ := o["series"].([]any)
	for _, m := range more {
		series = append(series, m)
	}
	if c.Option == nil {
		c.Option, o["series"] = o, []any{}
	}
	for _, s := range series {
		c.add(name, s.(map[string]any))
	}
	return *c
}

// ofView are the keys of a series that differ between views.
var ofView = []string{"data", "steps", "n", "x0", "dx", "ys", "markArea"}

// add puts a series into a view. Views share its look, which is most of the data.
func (c *chart) add(view string, s map[string]any) {
	list := c.Option["series"].([]any)
	if view == "" {
		c.Option["series"] = append(list, s)
		return
	}
	own, rest := map[string]any{}, map[string]any{}
	for key, v := range s {
		if slices.Contains(ofView, key) {
			own[key] = v
		} else {
			rest[key] = v
		}
	}
	look, err := json.Marshal(rest)
	c.err = cmp.Or(c.err, err)
	if i, ok := c.looks[string(look)]; ok {
		if views := list[i].(map[string]any)["views"].(map[string]any); views[view] == nil {
			views[view] = own
			return
		}
	}
	if c.looks == nil {
		c.looks = map[string]int{}
	}
	rest["views"] = map[string]any{view: own}
	c.looks[string(look)] = len(list)
	c.Option["series"] = append(list, rest)
}

// The hues of Okabe and Ito, darkened to a contrast of 3:1 on white (a test computes it), with vermilion kept for
// limits and bends. charts.js has lighter ones for dark pages.
var (
	palette = []string{"#0060A0", "#B87900", "#009467", "#C4609A", "#2E93D0", "#7048B8", "#22262C", "#6B2E10"}
	shapes  = []string{"circle", "rect", "triangle", "diamond", "roundRect"}
	dashes  = []string{"solid", "dashed", "dotted"}
)

const (
	vermilion = "#D55E00"
	neutral   = "#808080" // legible on white and on black
)

type datum struct {
	x, y  any // number, or the name of a category
	tip   string
	grade stats.Grade
}

func (d datum) value() []any { return []any{drawn(d.x), drawn(d.y), d.tip} }

func drawn(v any) any {
	if x, ok := v.(float64); ok {
		return short(x)
	}
	return v
}

// mark is the shape if it is not the one of the series: hollow with few requests.
func (d datum) mark(full string) string {
	if d.grade == stats.Thin || d.grade == stats.NoBound {
		return "empty" + string(full[0]-'a'+'A') + full[1:]
	}
	return ""
}

func newPlot(x opts.XAxis, y opts.YAxis) *charts.Line {
	line := charts.NewLine()
	x.NameLocation, x.NameGap, y.NameLocation, y.NameGap = "middle", 26, "end", 12
	line.SetGlobalOptions(
		charts.WithXAxisOpts(x), charts.WithYAxisOpts(y),
		charts.WithLegendOpts(opts.Legend{Type: "scroll", Top: "0", Left: "center"}),
		charts.WithTooltipOpts(opts.Tooltip{Trigger: "item"}),
		charts.WithGridOpts(opts.Grid{Top: "64", Left: "8", Right: "24", Bottom: "32", ContainLabel: opts.Bool(true)}),
		charts.WithAnimation(false),
	)
	return line
}

// look distinguishes a curve by colour and shape, so that colour alone is never needed.
type look struct{ color, shape string }

func lookOf(color, shape int) look {
	return look{palette[color%len(palette)], shapes[shape%len(shapes)]}
}

// addLine draws curve i. A series has the same i, hence the same look, in every chart of a page.
func addLine(line *charts.Line, i int, name string, data []datum) {
	l := lookOf(i, i)
	items := make([]opts.LineData, len(data))
	for k, d := range data {
		items[k] = opts.LineData{Value: d.value(), Symbol: d.mark(l.shape)}
	}
	addCurve(line, name, items, opts.LineStyle{Color: l.color, Width: 2, Type: dashes[i/len(palette)%len(dashes)]},
		opts.LineChart{ShowSymbol: opts.Bool(true), Symbol: l.shape, SymbolSize: 10})
}

func addCurve(line *charts.Line, name string, items []opts.LineData, style opts.LineStyle, marks opts.LineChart) {
	line.AddSeries(name, items, charts.WithItemStyleOpts(opts.ItemStyle{Color: style.Color}),
		charts.WithLineStyleOpts(style), charts.WithLineChartOpts(marks))
}

func addMarks(line *charts.Line, name, symbol, color string, size int, data []datum) {
	items := make([]opts.ScatterData, len(data))
	for k, d := range data {
		items[k] = opts.ScatterData{Value: d.value(), Symbol: d.mark(symbol)}
	}
	addScatter(line, name, opts.ScatterChart{Symbol: symbol, SymbolSize: size}, color, items)
}

func addScatter(line *charts.Line, name string, look opts.ScatterChart, color string, data []opts.ScatterData) {
	if len(data) == 0 {
		return
	}
	marks := charts.NewScatter()
	marks.AddSeries(name, data, charts.WithItemStyleOpts(opts.ItemStyle{Color: color}),
		charts.WithScatterChartOpts(look))
	line.Overlap(marks)
}

// option is for ECharts. Tooltips are drawn as text: never parsed as HTML, and without inline style.
func (c *chart) option(line *charts.Line) map[string]any {
	line.Validate()
	b, err := json.Marshal(line.JSON())
	o := map[string]any{"tooltip": map[string]any{}}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	c.err = cmp.Or(c.err, err, d.Decode(&o))
	tooltip, _ := o["tooltip"].(map[string]any)
	tooltip["renderMode"], tooltip["confine"] = "richText", true
	for _, key := range []string{"title", "toolbox", "color"} { // the page has the title, the series have colours
		delete(o, key)
	}
	return o
}

// latencyDatum is false if it has no positive value: the axis is logarithmic.
func latencyDatum(ps record.Percentiles, tip string) (d datum, p50 float64, ok bool) {
	p, ok := ps.Get("p50")
	return datum{grade: p.Grade, tip: fmt.Sprintf("%s %s %s (n=%s)", tip, unit.Format(p.Median, "ms"), p.Within(),
		unit.Count(p.N))}, p.Median, ok && p.Median > 0
}

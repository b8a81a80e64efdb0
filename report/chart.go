package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"

	"bench/experiment/record"
	"bench/experiment/stats"
)

// chart is a picture of a table: the option for ECharts, as JSON without functions, and what the
// page's script needs to finish it.
type chart struct {
	ID      string         `json:"id"`
	Title   string         `json:"-"`
	Alt     string         `json:"-"`
	Note    string         `json:"-"`       // what the picture leaves out; empty: nothing
	Table   string         `json:"-"`       // id of the table with the same figures
	Height  int            `json:"-"`       // px
	UnitX   string         `json:"unit_x"`  // "ms": labels take the unit that fits
	UnitY   string         `json:"unit_y"`  // likewise; empty: none
	Option  map[string]any `json:"option"`  // described by go-echarts; a series that looks the same in several views has "views", by name
	Visible int            `json:"visible"` // how many series are on at first; 0 = all

	Choices []choice `json:"choices,omitempty"` // what the reader chooses between: series are of one view, or of all
	AxisOf  string   `json:"axis_of,omitempty"` // the axis that is called by what is chosen: xAxis, yAxis; empty: none
	Logs    bool     `json:"logs,omitempty"`    // the reader may take logarithms of either axis
	UnitsY  []string `json:"units_y,omitempty"` // of each y axis, where there are several
	PerGPU  int      `json:"per_gpu,omitempty"` // the reader may divide x by so many GPUs; 0: there is nothing to divide

	looks map[string]int // the series with views, by how they look
}

// choice is a list to choose from. A series' view is the chosen values, one of each list, with spaces between.
type choice struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
	First  string   `json:"first"`           // what is chosen at first
	Aside  bool     `json:"aside,omitempty"` // no part of the axis's name
}

// view adds the series of a further picture on the same axes, shown when its view is chosen; without a name it is always shown.
func (c *chart) view(name string, line *charts.Line, more ...map[string]any) error {
	o, err := option(line)
	if err != nil {
		return err
	}
	series, _ := o["series"].([]any)
	for _, m := range more {
		series = append(series, m)
	}
	if c.Option == nil {
		c.Option, o["series"] = o, []any{}
	}
	for _, s := range series {
		if err := c.add(name, s.(map[string]any)); err != nil {
			return err
		}
	}
	return nil
}

// ofView are the keys of a series that differ from view to view; the others are how it looks.
var ofView = []string{"data", "steps", "n", "x0", "dx", "ys", "bars", "markArea", "markLine"}

// add puts a series into a view. How it looks is there once, for all views: that is most of it.
func (c *chart) add(view string, s map[string]any) error {
	list := c.Option["series"].([]any)
	if view == "" {
		c.Option["series"] = append(list, s)
		return nil
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
	if err != nil {
		return fmt.Errorf("describing a chart: %w", err)
	}
	if i, ok := c.looks[string(look)]; ok {
		if views := list[i].(map[string]any)["views"].(map[string]any); views[view] == nil {
			views[view] = own
			return nil
		}
	}
	if c.looks == nil {
		c.looks = map[string]int{}
	}
	rest["views"] = map[string]any{view: own}
	c.looks[string(look)] = len(list)
	c.Option["series"] = append(list, rest)
	return nil
}

// whiskers are intervals, as lines behind the marks; none where there is none. The page's script makes a line with gaps of them.
func whiskers(name string, ends [][2][2]float64) []map[string]any {
	if len(ends) == 0 {
		return nil
	}
	bars := make([][2][2]float64, len(ends))
	for i, e := range ends {
		for k, end := range e {
			bars[i][k] = [2]float64{short(end[0]), short(end[1])}
		}
	}
	return []map[string]any{{"type": "line", "name": name, "silent": true, "z": 1, "symbol": "none", "bars": bars,
		"itemStyle": map[string]any{"color": neutral}, "lineStyle": map[string]any{"color": neutral, "width": 1.5, "opacity": 0.7}}}
}

// The hues of Okabe and Ito, which the colour-blind can tell apart, as dark as lines on white must be (3:1; a test computes it),
// without yellow, and with vermilion kept for knees; a shape and a dash go with each colour. The page's script has lighter ones for dark.
var (
	palette = []string{"#0060A0", "#B87900", "#009467", "#C4609A", "#2E93D0", "#7048B8"}
	shapes  = []string{"circle", "rect", "triangle", "diamond", "roundRect"}
	dashes  = []string{"solid", "dashed", "dotted"}
)

const (
	vermilion = "#D55E00"
	neutral   = "#808080" // reads on white and on black
)

// datum is one mark: where it is, what it is called, how sure it is.
type datum struct {
	x, y    any // number, or the name of a category
	tip     string
	grade   stats.Grade
	atLeast bool // the sample gives no upper bound: drawn at the lower one, as an arrow
}

func (d datum) value() []any { return []any{drawn(d.x), drawn(d.y), d.tip} }

// drawn is a coordinate of four digits, one more than anybody reads; a category stays.
func drawn(v any) any {
	if x, ok := v.(float64); ok {
		return short(x)
	}
	return v
}

// mark is the shape where it is not that of the whole series.
func (d datum) mark(full string) string {
	if shape := d.shape(full); shape != full {
		return shape
	}
	return ""
}

// shape makes uncertainty visible without colour: full, hollow, arrow.
func (d datum) shape(full string) string {
	switch {
	case d.atLeast:
		return "arrow"
	case d.grade == stats.Thin:
		return "empty" + string(full[0]-'a'+'A') + full[1:]
	}
	return full
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

// look tells a curve from others: by colour, by the shape of its marks and by its dashes, so that none of them is needed alone.
type look struct{ color, shape, dash string }

// lookOf gives things of one kind a colour, and those of another a shape and dashes.
func lookOf(color, shape int) look {
	return look{palette[color%len(palette)], shapes[shape%len(shapes)], dashes[shape%len(dashes)]}
}

// addLine draws the i-th of things of one kind. A series is the same i in every chart of a page, so that it looks the same.
func addLine(line *charts.Line, i int, name string, data []datum) {
	addCurve(line, look{palette[i%len(palette)], shapes[i%len(shapes)], dashes[i/len(palette)%len(dashes)]}, name, data)
}

func addCurve(line *charts.Line, l look, name string, data []datum) {
	items := make([]opts.LineData, len(data))
	for k, d := range data {
		items[k] = opts.LineData{Value: d.value(), Symbol: d.mark(l.shape)}
	}
	line.AddSeries(name, items,
		charts.WithItemStyleOpts(opts.ItemStyle{Color: l.color}),
		charts.WithLineStyleOpts(opts.LineStyle{Color: l.color, Width: 2, Type: l.dash}),
		charts.WithLineChartOpts(opts.LineChart{ShowSymbol: opts.Bool(true), Symbol: l.shape, SymbolSize: 10}))
}

func addMarks(line *charts.Line, name, symbol, color string, size int, data []datum) {
	if len(data) == 0 {
		return
	}
	items := make([]opts.ScatterData, len(data))
	for k, d := range data {
		items[k] = opts.ScatterData{Value: d.value(), Symbol: d.mark(symbol)}
	}
	marks := charts.NewScatter()
	marks.AddSeries(name, items, charts.WithItemStyleOpts(opts.ItemStyle{Color: color}),
		charts.WithScatterChartOpts(opts.ScatterChart{Symbol: symbol, SymbolSize: size}))
	line.Overlap(marks)
}

// addLimits draws the SLO's limits on the y axis.
func addLimits(line *charts.Line, metric string, limits []float64) {
	if len(limits) == 0 {
		return
	}
	var items []opts.MarkLineNameYAxisItem
	for _, ms := range limits {
		items = append(items, opts.MarkLineNameYAxisItem{Name: metric + " ≤ " + exactly(ms, "ms"), YAxis: ms})
	}
	line.AddSeries("SLO limit", nil,
		charts.WithItemStyleOpts(opts.ItemStyle{Color: vermilion}), charts.WithLineStyleOpts(opts.LineStyle{Color: vermilion, Type: "dashed"}),
		charts.WithMarkLineNameYAxisItemOpts(items...),
		charts.WithMarkLineStyleOpts(opts.MarkLineStyle{Symbol: []string{"none", "none"},
			Label:     &opts.Label{Show: opts.Bool(true), Position: "insideStartTop", Formatter: "{b}", Color: vermilion},
			LineStyle: &opts.LineStyle{Color: vermilion, Type: "dashed"}}))
}

// option is the plain data that ECharts takes. What go-echarts has no field for is set here: text
// in tooltips is drawn, never parsed as HTML, and drawing them needs no inline style.
func option(line *charts.Line) (map[string]any, error) {
	line.Validate()
	b, err := json.Marshal(line.JSON())
	if err != nil {
		return nil, fmt.Errorf("describing a chart: %w", err)
	}
	var o map[string]any
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&o); err != nil {
		return nil, fmt.Errorf("describing a chart: %w", err)
	}
	tooltip, _ := o["tooltip"].(map[string]any)
	tooltip["renderMode"], tooltip["confine"] = "richText", true
	for _, key := range []string{"title", "toolbox", "color"} { // the page has its own title, the series their colours
		delete(o, key)
	}
	return o, nil
}

// latencyDatum places a percentile on an axis of latency; ok is false where it can't be quoted, or
// not on a logarithmic axis.
func latencyDatum(ps record.Percentiles, name, tip string) (d datum, ms float64, ok bool) {
	p, ok := ps.Get(name)
	if !ok {
		return datum{}, 0, false
	}
	_, ms, ok = p.Mark()
	return datum{grade: p.Grade, atLeast: p.Grade == stats.NoBound, tip: tip + " " + p.String()}, ms, ok && ms > 0
}

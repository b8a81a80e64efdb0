package page

import (
	"fmt"
	"math"
	"slices"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/report"
)

// heatSteps is the number of shades of a heat map. The cells also have the figures.
const heatSteps = 5

// heatMetrics: NaN, and no shade, if n is too small for an estimate; ok is false without a figure.
var heatMetrics = []struct {
	name, help string
	of         func(*series.Point) (x float64, c report.Cell, ok bool)
}{
	{"output tok/s", "throughput", func(p *series.Point) (float64, report.Cell, bool) {
		x := p.OutputTokensPerS.Median
		return x, report.TextCell(unit.Digits(x)), x > 0
	}},
	{"TTFT p95", "ttft", func(p *series.Point) (float64, report.Cell, bool) { return p95Cell(p.TTFT) }},
	{"TPOT p95", "tpot", func(p *series.Point) (float64, report.Cell, bool) { return p95Cell(p.TPOT) }},
}

func p95Cell(ps record.Percentiles) (float64, report.Cell, bool) {
	l, ok := ps.Get("p95")
	if l.Grade == stats.NoBound {
		l.Median = math.NaN()
	}
	return l.Median, report.LatencyCell(ps, "p95"), ok
}

type grid struct {
	name   string
	axes   []experiment.Axis // keys; the values are in values
	values [2][]string       // in the order of the points
	at     map[[2]string]*series.Point
}

// heatMaps are rows with exactly two axes of two values or more: the first down, the second across.
func heatMaps(o *report.Analysis) []report.Table {
	points := map[string][]*series.Point{}
	var names []string
	o.Each(func(s *series.Series, p *series.Point) {
		if points[s.Name] == nil {
			names = append(names, s.Name)
		}
		points[s.Name] = append(points[s.Name], p)
	})
	var out []report.Table
	for _, name := range names {
		g, ok := newGrid(name, points[name])
		for i := range heatMetrics {
			if t, known := g.table(i); ok && known {
				t.ID = fmt.Sprintf("heat-%d", len(out))
				out = append(out, t)
			}
		}
	}
	return out
}

// newGrid is the grid of a row; ok is false unless each point has its own pair of values.
func newGrid(name string, points []*series.Point) (g grid, ok bool) {
	g = grid{name: name, at: map[[2]string]*series.Point{}}
	for _, p := range points {
		if g.axes = p.Rows[0].Spec.Point; len(g.axes) != 2 {
			return grid{}, false
		}
		g.at[[2]string{g.axes[0].Value, g.axes[1].Value}] = p
		for i, a := range g.axes {
			if !slices.Contains(g.values[i], a.Value) {
				g.values[i] = append(g.values[i], a.Value)
			}
		}
	}
	return g, len(g.at) == len(points) && len(g.values[0]) > 1 && len(g.values[1]) > 1
}

func (g grid) table(metric int) (t report.Table, ok bool) {
	m := heatMetrics[metric]
	low, high := math.Inf(1), math.Inf(-1)
	for _, p := range g.at {
		if x, _, measured := m.of(p); measured {
			ok = true
			if !math.IsNaN(x) {
				low, high = min(low, x), max(high, x)
			}
		}
	}
	if !ok {
		return t, false
	}
	t = report.Table{Caption: fmt.Sprintf("%s: %s by %s and %s", g.name, m.name, g.axes[0].Key, g.axes[1].Key),
		Note:    "Darker: larger; without shade: n too small. Tag: SLO verdict.",
		Columns: []report.Column{{Head: g.axes[0].Key + " ↓ " + g.axes[1].Key + " →"}}}
	for _, head := range g.values[1] {
		t.Columns = append(t.Columns, report.Column{Head: head, Num: true, Help: m.help})
	}
	for _, line := range g.values[0] {
		row := []report.Cell{report.TextCell(line)}
		for _, head := range g.values[1] {
			cell := report.Absent()
			if p := g.at[[2]string{line, head}]; p != nil {
				if x, c, ok := m.of(p); ok {
					if !math.IsNaN(x) {
						shade := min(int(heatSteps*(x-low)/max(high-low, math.SmallestNonzeroFloat64)), heatSteps-1)
						c.Kind = report.Kind(fmt.Sprintf("heat%d", shade))
					}
					c.Tag = string(p.SLO)
					cell = c
				}
			}
			row = append(row, cell)
		}
		t.Add(row...)
	}
	return t, true
}

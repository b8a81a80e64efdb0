package report

import (
	"fmt"
	"slices"

	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/unit"
)

// heatSteps is how many shades a heat map has; the figure is in the cell, too.
const heatSteps = 5

// heatTables are the rows with two axes as maps, one value of the first in each line, one of the second in each column. A map
// is a table with shades: it prints, is read aloud, and can be copied.
func (o *Outcome) heatTables() []table {
	var out []table
	for _, name := range o.names() {
		g := o.grid(name)
		if g == nil {
			continue
		}
		for _, m := range heatMetrics {
			if t, ok := g.table(m); ok {
				t.id = fmt.Sprintf("heat-%d", len(out))
				out = append(out, t)
			}
		}
	}
	return out
}

// heatMetric is what a map shows.
type heatMetric struct {
	name, help string
	of         func(*series.SeriesPoint) (x float64, c cell, ok bool)
}

var heatMetrics = []heatMetric{
	{"output tok/s", "throughput", func(p *series.SeriesPoint) (float64, cell, bool) {
		x := p.OutputTokensPerS.Median
		return x, text(unit.Digits(x)), x > 0
	}},
	{"TTFT p95", "ttft", func(p *series.SeriesPoint) (float64, cell, bool) { return heatOf(p.TTFT) }},
	{"TPOT p95", "tpot", func(p *series.SeriesPoint) (float64, cell, bool) { return heatOf(p.TPOT) }},
}

func heatOf(ps record.Percentiles) (float64, cell, bool) {
	l, _ := ps.Get("p95")
	_, ms, ok := l.Mark()
	return ms, inCell.percentile(ps, "p95"), ok && len(ps) > 0
}

// names are the rows' names in order.
func (o *Outcome) names() []string {
	var out []string
	for _, s := range o.Series {
		if !slices.Contains(out, s.Name) {
			out = append(out, s.Name)
		}
	}
	return out
}

// grid is the points of a row with two axes.
type grid struct {
	name         string
	axes         [2]string
	lines, heads []string
	at           map[[2]string]*series.SeriesPoint
}

// grid is nil where a point of the row has not just two axes, or one of them has a single value.
func (o *Outcome) grid(name string) *grid {
	g := &grid{name: name, at: map[[2]string]*series.SeriesPoint{}}
	plain := true
	o.each(func(s *series.Series, p *series.SeriesPoint) {
		if s.Name != name {
			return
		}
		axes := p.Rows[0].Spec.Point
		if len(axes) != 2 {
			plain = false
			return
		}
		g.axes = [2]string{axes[0].Key, axes[1].Key}
		line, head := axes[0].Value, axes[1].Value
		if !slices.Contains(g.lines, line) {
			g.lines = append(g.lines, line)
		}
		if !slices.Contains(g.heads, head) {
			g.heads = append(g.heads, head)
		}
		plain = plain && g.at[[2]string{line, head}] == nil
		g.at[[2]string{line, head}] = p
	})
	if !plain || len(g.lines) < 2 || len(g.heads) < 2 {
		return nil
	}
	return g
}

func (g *grid) table(m heatMetric) (table, bool) {
	t := table{caption: fmt.Sprintf("%s: %s by %s and %s", g.name, m.name, g.axes[0], g.axes[1]),
		note:    "The stronger the shade, the more. The word is the SLO's, where there is one.",
		columns: []column{{head: g.axes[0] + " ↓ " + g.axes[1] + " →"}}}
	low, high, known := 0.0, 0.0, false
	for _, p := range g.at {
		if x, _, ok := m.of(p); ok {
			if !known {
				low, high, known = x, x, true
			}
			low, high = min(low, x), max(high, x)
		}
	}
	for _, head := range g.heads {
		t.columns = append(t.columns, column{head: head, num: true, help: m.help})
	}
	for _, line := range g.lines {
		row := []cell{text(line)}
		for _, head := range g.heads {
			row = append(row, g.cell(m, [2]string{line, head}, low, high))
		}
		t.rows = append(t.rows, row)
	}
	return t, known
}

func (g *grid) cell(m heatMetric, at [2]string, low, high float64) cell {
	p := g.at[at]
	if p == nil {
		return absent()
	}
	x, c, ok := m.of(p)
	if !ok {
		return absent()
	}
	shade := 0
	if high > low {
		shade = min(int(float64(heatSteps)*(x-low)/(high-low)), heatSteps-1)
	}
	c.kind = kind(fmt.Sprintf("heat%d", shade))
	c.tag = string(p.SLO)
	return c
}

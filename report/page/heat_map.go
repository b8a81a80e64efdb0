package page

import (
	"fmt"
	"slices"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/unit"
	"bench/report"
)

// heatSteps is the number of shades of a heat map. The cells also have the figures.
const heatSteps = 5

// heatMetrics are what heat maps show: the figure that sets the shade, and its cell; ok is false without a
// figure.
var heatMetrics = []struct {
	name, help string
	of         func(*series.SeriesPoint) (x float64, c report.Cell, ok bool)
}{
	{"output tok/s", "throughput", func(p *series.SeriesPoint) (float64, report.Cell, bool) {
		x := p.OutputTokensPerS.Median
		return x, report.TextCell(unit.Digits(x)), x > 0
	}},
	{"TTFT p95", "ttft", func(p *series.SeriesPoint) (float64, report.Cell, bool) { return p95Cell(p.TTFT) }},
	{"TPOT p95", "tpot", func(p *series.SeriesPoint) (float64, report.Cell, bool) { return p95Cell(p.TPOT) }},
}

func p95Cell(ps record.Percentiles) (float64, report.Cell, bool) {
	l, _ := ps.Get("p95")
	_, ms, ok := l.Mark()
	return ms, report.InCell.Percentile(ps, "p95"), ok && len(ps) > 0
}

// heatMaps are the rows with exactly two axes of two values or more, as tables with shades: the first axis
// down, the second across. Curves need a load axis; a map also shows rows such as input × output.
func heatMaps(o *report.Outcome) []report.Table {
	points := map[string][]*series.SeriesPoint{}
	var names []string
	o.Each(func(s *series.Series, p *series.SeriesPoint) {
		if points[s.Name] == nil {
			names = append(names, s.Name)
		}
		points[s.Name] = append(points[s.Name], p)
	})
	var out []report.Table
	for _, name := range names {
		at := map[[2]string]*series.SeriesPoint{}
		var values [2][]string
		var axes []experiment.Axis
		for _, p := range points[name] {
			if axes = p.Rows[0].Spec.Point; len(axes) != 2 {
				break
			}
			at[[2]string{axes[0].Value, axes[1].Value}] = p
			for i, a := range axes {
				if !slices.Contains(values[i], a.Value) {
					values[i] = append(values[i], a.Value)
				}
			}
		}
		if len(axes) != 2 || len(at) < len(points[name]) || len(values[0]) < 2 || len(values[1]) < 2 {
			continue
		}
		for _, m := range heatMetrics {
			low, high, known := 0.0, 0.0, false
			for _, p := range at {
				if x, _, ok := m.of(p); ok && !known {
					low, high, known = x, x, true
				} else if ok {
					low, high = min(low, x), max(high, x)
				}
			}
			if !known {
				continue
			}
			t := report.Table{ID: fmt.Sprintf("heat-%d", len(out)), Caption: fmt.Sprintf("%s: %s by %s and %s", name, m.name, axes[0].Key, axes[1].Key),
				Note: "Darker: larger. Tag: SLO verdict.", Columns: []report.Column{{Head: axes[0].Key + " ↓ " + axes[1].Key + " →"}}}
			for _, head := range values[1] {
				t.Columns = append(t.Columns, report.Column{Head: head, Num: true, Help: m.help})
			}
			for _, line := range values[0] {
				row := []report.Cell{report.TextCell(line)}
				for _, head := range values[1] {
					row = append(row, report.Absent())
					p := at[[2]string{line, head}]
					if p == nil {
						continue
					}
					if x, c, ok := m.of(p); ok {
						shade := 0
						if high > low {
							shade = min(int(heatSteps*(x-low)/(high-low)), heatSteps-1)
						}
						c.Kind, c.Tag = report.Kind(fmt.Sprintf("heat%d", shade)), string(p.SLO)
						row[len(row)-1] = c
					}
				}
				t.Add(row...)
			}
			out = append(out, t)
		}
	}
	return out
}

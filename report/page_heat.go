package report

import (
	"fmt"
	"slices"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/unit"
)

// heatSteps is the number of shades of a heat map. The cells also have the figures.
const heatSteps = 5

// heatMetrics are what heat maps show: the figure that sets the shade, and its cell; ok is false without a figure.
var heatMetrics = []struct {
	name, help string
	of         func(*series.SeriesPoint) (x float64, c cell, ok bool)
}{
	{"output tok/s", "throughput", func(p *series.SeriesPoint) (float64, cell, bool) {
		x := p.OutputTokensPerS.Median
		return x, text(unit.Digits(x)), x > 0
	}},
	{"TTFT p95", "ttft", func(p *series.SeriesPoint) (float64, cell, bool) { return p95Cell(p.TTFT) }},
	{"TPOT p95", "tpot", func(p *series.SeriesPoint) (float64, cell, bool) { return p95Cell(p.TPOT) }},
}

func p95Cell(ps record.Percentiles) (float64, cell, bool) {
	l, _ := ps.Get("p95")
	_, ms, ok := l.Mark()
	return ms, inCell.percentile(ps, "p95"), ok && len(ps) > 0
}

// heatMaps are the rows with exactly two axes of two values or more, as tables with shades: the first axis down, the
// second across. Curves need a load axis; a map also shows rows such as input × output.
func heatMaps(o *Outcome) []table {
	points := map[string][]*series.SeriesPoint{}
	var names []string
	o.Each(func(s *series.Series, p *series.SeriesPoint) {
		if points[s.Name] == nil {
			names = append(names, s.Name)
		}
		points[s.Name] = append(points[s.Name], p)
	})
	var out []table
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
			t := table{id: fmt.Sprintf("heat-%d", len(out)), caption: fmt.Sprintf("%s: %s by %s and %s", name, m.name, axes[0].Key, axes[1].Key),
				note: "Darker: larger. Tag: SLO verdict.", columns: []column{{head: axes[0].Key + " ↓ " + axes[1].Key + " →"}}}
			for _, head := range values[1] {
				t.columns = append(t.columns, column{head: head, num: true, help: m.help})
			}
			for _, line := range values[0] {
				row := []cell{text(line)}
				for _, head := range values[1] {
					row = append(row, absent())
					p := at[[2]string{line, head}]
					if p == nil {
						continue
					}
					if x, c, ok := m.of(p); ok {
						shade := 0
						if high > low {
							shade = min(int(heatSteps*(x-low)/(high-low)), heatSteps-1)
						}
						c.kind, c.tag = kind(fmt.Sprintf("heat%d", shade)), string(p.SLO)
						row[len(row)-1] = c
					}
				}
				t.add(row...)
			}
			out = append(out, t)
		}
	}
	return out
}

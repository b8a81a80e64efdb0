package report

import (
	"fmt"
	"maps"
	"slices"

	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
)

func (o *Analysis) groupTables() []Table {
	return []Table{
		o.groupsTable("classes", "Classes", "class",
			func(r *record.Row) map[string]record.Summary { return r.Classes }),
		o.groupsTable("categories", "Categories of prompts", "category",
			func(r *record.Row) map[string]record.Summary { return r.Categories }),
		o.groupsTable("models", "Models and adapters", "model",
			func(r *record.Row) map[string]record.Summary { return r.Models }),
		o.groupsTable("replicas", "Replicas", "replica",
			func(r *record.Row) map[string]record.Summary { return r.Replicas }),
	}
}

const mostGroups = 12

func (p *printer) groups(o *Analysis) {
	left := mostGroups
	for _, t := range o.groupTables()[1:3] {
		left -= p.few(t, left, "report.html, tab Latency")
	}
}

// few writes the first rows of a table, and where the others are. It returns the number of those that it wrote.
func (p *printer) few(t Table, most int, where string) int {
	more := len(t.Rows) - most
	t.Rows = t.Rows[:min(len(t.Rows), most)]
	p.optionalTable(t)
	if more > 0 {
		p.line(fmt.Sprintf("and %d more: %s", more, where))
	}
	return len(t.Rows)
}

func (o *Analysis) groupsTable(id, caption, head string,
	groups func(*record.Row) map[string]record.Summary) Table {
	t := newTable(id, caption, "point", head, "n #", "TTFT p50|ms # ?ttft", "TTFT p99|ms # ?ttft",
		"TPOT p50|ms # ?tpot", "E2E p99|ms # ?e2e")
	o.Each(func(s *series.Series, p *series.Point) {
		samples := map[string][3][]*stats.Summary{}
		for _, r := range p.Rows {
			for name, c := range groups(r) {
				x := samples[name]
				samples[name] = [3][]*stats.Summary{append(x[0], c.TTFT), append(x[1], c.TPOT), append(x[2], c.E2E)}
			}
		}
		for _, name := range slices.Sorted(maps.Keys(samples)) {
			x := samples[name]
			ttft, tpot, e2e := record.PercentilesOf(x[0]...), record.PercentilesOf(x[1]...), record.PercentilesOf(x[2]...)
			n := 0
			if len(e2e) > 0 {
				n = e2e[0].N
			}
			t.Add(pointCell(s, p), TextCell(name), count(n), msCell(ttft, "p50"),
				msCell(ttft, "p99"), msCell(tpot, "p50"), msCell(e2e, "p99"))
		}
	})
	return t
}

package report

import (
	"fmt"
	"maps"
	"slices"

	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/experiment/verdict"
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

// eachClass calls f for every point, and for the classes of a mix after their point, if one has an SLO of its own.
func (o *Analysis) eachClass(f func(s *series.Series, p *series.Point)) {
	o.Each(func(s *series.Series, p *series.Point) {
		f(s, p)
		for i := range p.Classes {
			f(s, &p.Classes[i])
		}
	})
}

// ofAllClasses marks a point whose classes have limits of their own: its percentiles describe none of them.
func ofAllClasses(p *series.Point) string {
	if len(p.Classes) == 0 {
		return ""
	}
	return ", all classes"
}

// limitedPercentile is the percentile, of a class with the verdict on its limit. A mean is that of its limit.
func limitedPercentile(p *series.Point, metric, name string) Cell {
	c := msCell(p.Latency(metric), name)
	if p.Class == "" && name != "mean" {
		return c
	}
	for i := range p.Limits {
		if v := &p.Limits[i]; v.Metric == metric+"_"+name && v.Class == p.Class {
			if name == "mean" && v.Value != nil {
				c = Cell{Text: unit.Digits(*v.Value)}
			}
			if p.Class == "" {
				return c
			}
			c.Kind, c.Title = verdictCell(v.Verdict, v.Need).Kind, verdict.ResultText(v)+"; "+c.Title
			if v.Verdict != stats.Pass {
				c.Tag = string(v.Verdict)
			}
		}
	}
	return c
}

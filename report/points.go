package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/experiment/verdict"
)

// closedLoop marks rows without a schedule: their latencies count from the moment a worker is free.
const closedLoop = "closed loop"

func pointCell(s *series.Series, p *series.Point) Cell {
	c := TextCell(s.PointName(p) + ofAllClasses(p))
	if s.Closed {
		c.Title = closedLoop
	}
	for _, mark := range s.Marks {
		c.Tag = strings.TrimPrefix(c.Tag+"; "+mark, "; ")
	}
	if n := len(p.Rows); n > 1 {
		c.Title = strings.TrimPrefix(c.Title+", "+fmt.Sprintf("%d repeats", n), ", ")
	}
	return c
}

// pointsTable has the classes of a mix below their point, if one has an SLO of its own.
func pointsTable(o *Analysis) Table {
	columns := pointColumns(o)
	t := tableOf("points", "Points", columns)
	o.Each(func(s *series.Series, p *series.Point) { t.addPoint(s, p, columns) })
	return t.withoutEmpty()
}

func pointColumns(o *Analysis) []pointColumn {
	percentiles := func(latency string, names ...string) (out []pointColumn) {
		for _, name := range names {
			out = append(out, ofPoint(metric.Words(latency)+" "+name+"|ms # ?"+latency, always,
				func(p *series.Point) Cell {
					return besideSend(limitedPercentile(p, latency, name), p, latency, name)
				}))
		}
		return out
	}
	output := ofPoint("output tok/s # ?throughput", always, outputCell)
	if o.PerGPU() {
		output = ofPoint("tok/s/GPU # ?throughput", always, perGPUCell)
	}
	firsts := percentiles("ttft", o.limitedStats("ttft")...)
	if o.answers() {
		firsts = append(firsts, percentiles("ttfo", o.limitedStats("ttfo")...)...)
	}
	return slices.Concat([]pointColumn{
		{Column{Head: "point"}, always, pointCell}, ofPoint("SLO ?slo", always, o.statusCell),
		ofPoint("req/s # ?throughput", always, requestsCell), output,
		ofPoint("tok/s/user # ?peruser", always, perUserCell),
	}, firsts, percentiles("tpot", o.limitedStats("tpot")...), percentiles("itl", o.limitedOr("p99", "itl")...),
		percentiles("e2e", o.limitedOr("p99", "e2e")...), otherLimited(o, percentiles), []pointColumn{
			ofPoint("USD/M out # ?cost", always, costCell), ofPoint("J/token # ?energy", always, energyCell),
			ofPoint("n # ?failures", always, sampleCell), ofPoint("cautions ?validity", always, validityCell)})
}

// besideSend adds to a TTFT that from send, as other tools count it, where it differs.
func besideSend(c Cell, p *series.Point, latency, stat string) Cell {
	x, ok := p.TTFT.Get(stat)
	sent, known := record.PercentilesOf(p.Rows[0].Summary.TTFTFromSend).Get(stat)
	const least = 0.05 // of the latency
	if latency == "ttft" && ok && known && p.Class == "" && x.Median-sent.Median > least*x.Median {
		c.Tag = strings.TrimPrefix(c.Tag+", from send "+unit.Digits(sent.Median), ", ")
	}
	return c
}

// limitedStats are p50 and the percentiles of a latency that a limit is on, of a class or of all requests; else p95.
func (o *Analysis) limitedStats(latency string) []string {
	out := o.limitedOr("p50", latency)
	if len(out) == 1 {
		out = append(out, "p95")
	}
	return out
}

// limitedOr are one percentile of a latency (empty: none) and those that a limit is on.
func (o *Analysis) limitedOr(one, latency string) []string {
	return slices.DeleteFunc(slices.Clone(metric.Percentiles), func(name string) bool {
		return name != one && !o.limits(latency, name)
	})
}

// limitedStat is one percentile of a latency that a limit is on, else p95.
func (o *Analysis) limitedStat(latency string) string { return o.limitedStats(latency)[1] }

// completed is the sample size of a point: that of its smallest repeat.
func completed(p *series.Point) Cell { return count(p.Completed()) }

func sampleCell(p *series.Point) Cell {
	c := completed(p)
	if f := failures(p); f.Kind == Failed {
		c.Kind, c.Tag, c.Title = Failed, f.Text+" failed", f.Tag
	}
	return c
}

// failures is absent if there are none.
func failures(p *series.Point) Cell {
	n, classes := 0, map[string]int{}
	for _, r := range p.Rows {
		n += r.Summary.Requests.Failed
		for class, k := range r.Summary.Requests.Errors {
			classes[class] += k
		}
	}
	switch {
	case n == 0:
		return Absent()
	case n < 0: // of another tool
		return count(n)
	}
	return Cell{Text: unit.Count(n), Kind: Failed, Tag: unit.Counts(classes), Title: unit.Counts(classes)}
}

// validityCell counts the findings of a point that are no notes; the tooltip names them.
func validityCell(p *series.Point) Cell {
	codes := disturbances(p)
	c := findingsCell(p, unit.Count(len(codes)))
	c.Title = strings.Join(codes, ", ")
	return c
}

func seriesTable(o *Analysis) Table {
	t := newTable("series", "Saturation and knee", "workload", "saturation ?knee", "knee ?knee")
	for i := range o.Series {
		s := &o.Series[i]
		if len(s.Points) < 2 {
			continue
		}
		knee := func(k series.LoadLimit) Cell {
			if k.Point == nil {
				return Cell{Text: k.Why, Kind: Faint}
			}
			c := TextCell(s.Points[*k.Point].Load + ": " + k.Why)
			if r := k.Resampled; r != nil && r.Share < 1 {
				c.Text += " (same point in " + share(r.Share) + " of resampled repeats)"
			}
			return c
		}
		t.Add(TextCell(s.Label()), knee(s.Saturation), knee(s.Knee))
	}
	return t
}

func percentilesTable(o *Analysis, latency string) Table {
	n := "n"
	if latency == "itl" {
		n = "gaps"
	}
	t := newTable("percentiles-"+latency, metric.Words(latency)+" by percentile", "point", n+" #")
	for _, name := range metric.Percentiles {
		t.addColumns(name + "|ms # ?" + latency)
	}
	o.Each(func(s *series.Series, p *series.Point) {
		ps := p.Latency(latency)
		if len(ps) == 0 {
			return
		}
		row := []Cell{pointCell(s, p), count(ps[0].N)}
		for _, name := range metric.Percentiles {
			row = append(row, msCell(ps, name))
		}
		t.Add(row...)
	})
	return t
}

func (o *Analysis) PerGPU() bool {
	return !o.any(func(p *series.Point) bool { return p.OutputTokensPerSPerGPU == nil })
}

func groupTables(o *Analysis) []Table {
	return []Table{
		groupsTable(o, "classes", "Classes", "class",
			func(r *record.Row) map[string]record.Summary { return r.Classes }),
		groupsTable(o, "categories", "Categories of prompts", "category",
			func(r *record.Row) map[string]record.Summary { return r.Categories }),
		groupsTable(o, "models", "Models and adapters", "model",
			func(r *record.Row) map[string]record.Summary { return r.Models }),
		groupsTable(o, "replicas", "Replicas", "replica",
			func(r *record.Row) map[string]record.Summary { return r.Replicas }),
	}
}

const mostGroups = 12

func (p *printer) groups(o *Analysis) {
	left := mostGroups
	for _, t := range groupTables(o)[1:3] {
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

func groupsTable(o *Analysis, id, caption, head string,
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
			of := record.PercentilesOf
			ttft, tpot, e2e := of(x[0]...), of(x[1]...), of(x[2]...)
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
			c.Kind, c.Title = verdictCell(v.Verdict, 0).Kind, verdict.ResultText(v)+"; "+c.Title
			if v.Verdict != stats.Pass {
				c.Tag = string(v.Verdict)
			}
		}
	}
	return c
}

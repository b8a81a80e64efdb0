package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// closedLoop is the tag of rows without a schedule: their latencies count from the moment a worker is free.
const closedLoop = "closed loop"

func pointCell(s *series.Series, p *series.Point) Cell {
	c := TextCell(s.PointName(p))
	if s.Closed {
		c.Tag = closedLoop
	}
	for _, mark := range s.Marks {
		c.Tag = strings.TrimPrefix(c.Tag+"; "+mark, "; ")
	}
	if n := len(p.Rows); n > 1 {
		c.Title = fmt.Sprintf("%d repeats", n)
	}
	return c
}

// pointsTable is every point with its headline metrics.
func (o *Outcome) pointsTable(u Units) Table {
	t := Table{ID: "points", Caption: "All points", Columns: []Column{
		{Head: "point"}, {Head: "SLO", Help: "slo"}, {Head: "validity", Help: "validity"},
		{Head: "offered", Unit: "req/s", Num: true, Help: "throughput"},
		{Head: "achieved", Unit: "req/s", Num: true, Help: "throughput"},
		{Head: "output", Unit: "tok/s", Num: true, Help: "throughput"},
		{Head: "output", Unit: "tok/s/GPU", Num: true, Help: "throughput"},
		u.column("TTFT p50"), u.column("TTFT p95"), u.column("TTFT p99"), u.column("TPOT p50"), u.column("TPOT p99"),
		u.column("E2E p50"), u.column("E2E p99"),
		{Head: "n", Num: true, Help: "failures"}, {Head: "failed", Num: true, Help: "failures"},
	}}
	o.Each(func(s *series.Series, p *series.Point) {
		offered := Absent()
		if _, ok := p.FiniteLoad(); ok && !s.Closed { // a closed loop and the rate "inf" offer no rate
			offered = TextCell(unit.Digits(p.OfferedPerS.Median))
		}
		t.Add(pointCell(s, p), verdictCell(p.SLO, p.Need), validityCell(p), offered, TextCell(unit.Digits(p.RequestsPerS.Median)),
			TextCell(unit.Digits(p.OutputTokensPerS.Median)),
			optional(p.OutputTokensPerSPerGPU, func(r record.Repeats) string { return unit.Digits(r.Median) }),
			u.Percentile(p.TTFT, "p50"), u.Percentile(p.TTFT, "p95"), u.Percentile(p.TTFT, "p99"),
			u.Percentile(p.TPOT, "p50"), u.Percentile(p.TPOT, "p99"),
			u.Percentile(p.E2E, "p50"), u.Percentile(p.E2E, "p99"),
			completed(p), failures(p))
	})
	return t
}

// completed is the sample size of a point: that of its smallest repeat.
func completed(p *series.Point) Cell {
	least := p.Rows[0].Summary.Requests.Completed
	for _, r := range p.Rows {
		least = min(least, r.Summary.Requests.Completed)
	}
	c := count(least)
	if len(p.Rows) > 1 {
		c.Title = fmt.Sprintf("completed requests of the smallest of %d repeats", len(p.Rows))
	}
	return c
}

func failures(p *series.Point) Cell {
	n, classes := 0, map[string]int{}
	for _, r := range p.Rows {
		n += r.Summary.Requests.Failed
		for class, k := range r.Summary.Requests.Errors {
			classes[class] += k
		}
	}
	c := count(n)
	if n > 0 {
		c.Kind, c.Tag = Failed, counts(classes)
		c.Title = c.Tag
	}
	return c
}

// counts lists counts by name: "status 1, timeout 4".
func counts(by map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(by)) {
		parts = append(parts, name+" "+unit.Count(by[name]))
	}
	return strings.Join(parts, ", ")
}

// validityCell is the validity of the repeat with the most severe findings.
func validityCell(p *series.Point) Cell {
	worst, rank := p.Rows[0], 0
	for _, r := range p.Rows {
		n := len(r.Codes(record.Caution))
		if !r.Valid() {
			n += 1000
		}
		if n > rank {
			worst, rank = r, n
		}
	}
	c := Cell{Text: ValidityOf(worst), Kind: Passed}
	var parts []string
	for _, s := range []record.Severity{record.Caution, record.Invalid} {
		if codes := worst.Codes(s); len(codes) > 0 {
			c.Kind = severityKind(s)
			parts = append(parts, string(s)+": "+strings.Join(codes, ", "))
		}
	}
	if len(p.Findings) > 0 {
		c.Text += ", repeats differ"
		parts = append(parts, p.Findings[0].Text)
	}
	if len(worst.Checks.NotPossible) > 0 {
		parts = append(parts, "not possible: "+strings.Join(worst.Checks.NotPossible, ", "))
	}
	c.Title = strings.Join(parts, "; ")
	return c
}

// seriesTable is each curve with its sentence, its maximum load and its bends.
func (o *Outcome) seriesTable() Table {
	t := Table{ID: "series", Caption: "Curves", Columns: []Column{
		{Head: "series"}, {Head: "result"}, {Head: "max load within SLO", Help: "knee"},
		{Head: "saturation", Help: "knee"}, {Head: "knee", Help: "knee"},
	}}
	for i := range o.Series {
		s := &o.Series[i]
		knee := func(k series.LoadLimit) Cell {
			if k.Point == nil {
				return Cell{Text: k.Why, Kind: Faint}
			}
			return TextCell(kneeText(s, k))
		}
		name := TextCell(s.Label())
		if s.Closed {
			name.Tag = closedLoop
		}
		t.Add(name, TextCell(s.Sentence), knee(s.MaxLoadWithinSLO), knee(s.Saturation), knee(s.Knee))
	}
	return t
}

// percentilesTable is one latency of every point, by percentile.
func (o *Outcome) percentilesTable(metric string, u Units) Table {
	t := Table{ID: "percentiles-" + metric, Caption: MetricName(metric) + " by percentile",
		Columns: []Column{{Head: "point"}, {Head: "n", Num: true}}}
	for _, name := range record.PercentileNames {
		t.Columns = append(t.Columns, Column{Head: name, Unit: u.head(), Num: true, Help: metric})
	}
	o.Each(func(s *series.Series, p *series.Point) {
		ps := p.Latency(metric)
		if len(ps) == 0 {
			return
		}
		row := []Cell{pointCell(s, p), count(ps[0].N)}
		for _, name := range record.PercentileNames {
			row = append(row, u.Percentile(ps, name))
		}
		t.Add(row...)
	})
	return t
}

// MetricName is a metric for people: "TTFT" for ttft. Other words stay as they are.
func MetricName(metric string) string {
	switch metric {
	case "ttft", "ttfo", "ttfe", "tpot", "itl", "e2e":
		return strings.ToUpper(metric)
	}
	return metric
}

// classesTable is each class of the mixes.
func (o *Outcome) classesTable(u Units) Table {
	t := Table{ID: "classes", Caption: "Classes", Columns: []Column{{Head: "point"}, {Head: "class"}, {Head: "n", Num: true},
		u.column("TTFT p50"), u.column("TTFT p99"), u.column("TPOT p50"), u.column("E2E p99")}}
	o.Each(func(s *series.Series, p *series.Point) {
		samples := map[string][3][]*stats.Summary{}
		for _, r := range p.Rows {
			for name, c := range r.Classes {
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
			t.Add(pointCell(s, p), TextCell(name), count(n), u.Percentile(ttft, "p50"),
				u.Percentile(ttft, "p99"), u.Percentile(tpot, "p50"), u.Percentile(e2e, "p99"))
		}
	})
	return t
}

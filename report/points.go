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

func pointCell(s *series.Series, p *series.SeriesPoint) cell {
	c := text(s.PointName(p))
	if s.Closed {
		c.tag = closedLoop
	}
	for _, mark := range s.Marks {
		c.tag = strings.TrimPrefix(c.tag+"; "+mark, "; ")
	}
	if n := len(p.Rows); n > 1 {
		c.title = fmt.Sprintf("%d repeats", n)
	}
	return c
}

// pointsTable is every point with its headline metrics.
func (o *Outcome) pointsTable(u units) table {
	t := table{id: "points", caption: "All points", columns: []column{
		{head: "point"}, {head: "SLO", help: "slo"}, {head: "validity", help: "validity"},
		{head: "offered", unit: "req/s", num: true, help: "throughput"},
		{head: "achieved", unit: "req/s", num: true, help: "throughput"},
		{head: "output", unit: "tok/s", num: true, help: "throughput"},
		{head: "output", unit: "tok/s/GPU", num: true, help: "throughput"},
		u.column("TTFT p50"), u.column("TTFT p95"), u.column("TTFT p99"), u.column("TPOT p50"), u.column("TPOT p99"),
		u.column("E2E p50"), u.column("E2E p99"),
		{head: "n", num: true, help: "failures"}, {head: "failed", num: true, help: "failures"},
	}}
	o.Each(func(s *series.Series, p *series.SeriesPoint) {
		perGPU, offered := absent(), absent()
		if _, ok := p.Offered(); ok && !s.Closed { // a closed loop and the rate "inf" offer no rate
			offered = text(unit.Digits(p.OfferedPerS.Median))
		}
		if p.OutputTokensPerSPerGPU != nil {
			perGPU = text(unit.Digits(p.OutputTokensPerSPerGPU.Median))
		}
		t.add(pointCell(s, p), verdictCell(p.SLO, p.Need), validityCell(p), offered, text(unit.Digits(p.RequestsPerS.Median)),
			text(unit.Digits(p.OutputTokensPerS.Median)), perGPU,
			u.percentile(p.TTFT, "p50"), u.percentile(p.TTFT, "p95"), u.percentile(p.TTFT, "p99"),
			u.percentile(p.TPOT, "p50"), u.percentile(p.TPOT, "p99"),
			u.percentile(p.E2E, "p50"), u.percentile(p.E2E, "p99"),
			completed(p), failures(p))
	})
	return t
}

// completed is the sample size of a point: that of its smallest repeat.
func completed(p *series.SeriesPoint) cell {
	least := p.Rows[0].Summary.Requests.Completed
	for _, r := range p.Rows {
		least = min(least, r.Summary.Requests.Completed)
	}
	c := count(least)
	if len(p.Rows) > 1 {
		c.title = fmt.Sprintf("completed requests of the smallest of %d repeats", len(p.Rows))
	}
	return c
}

func failures(p *series.SeriesPoint) cell {
	n, classes := 0, map[string]int{}
	for _, r := range p.Rows {
		n += r.Summary.Requests.Failed
		for class, k := range r.Summary.Requests.Errors {
			classes[class] += k
		}
	}
	c := count(n)
	if n > 0 {
		c.kind, c.tag = failed, counts(classes)
		c.title = c.tag
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

func validityCell(p *series.SeriesPoint) cell {
	worst := p.Rows[0].Checks
	for _, r := range p.Rows {
		v := r.Checks
		if len(v.Failed) > len(worst.Failed) || worst.Valid() && !v.Valid() {
			worst = v
		}
	}
	c := cell{text: ValidityOf(worst), kind: passed}
	if worst.Valid() && !p.Valid {
		c.text, c.kind, c.title = "INVALID, repeats differ", failed, p.Findings[0].Text
	} else if !p.Valid {
		c.kind, c.title = failed, "failed: "+strings.Join(append(worst.Failed, worst.Unverified...), ", ")
	} else if len(worst.NotPossible) > 0 {
		c.title = "not possible: " + strings.Join(worst.NotPossible, ", ")
	}
	return c
}

// seriesTable is each curve with its sentence, its maximum load and its bends.
func (o *Outcome) seriesTable() table {
	t := table{id: "series", caption: "Curves", columns: []column{
		{head: "series"}, {head: "result"}, {head: "max load within SLO", help: "knee"},
		{head: "saturation", help: "knee"}, {head: "knee", help: "knee"},
	}}
	for i := range o.Series {
		s := &o.Series[i]
		knee := func(k series.Knee) cell {
			if k.Point == nil {
				return cell{text: k.Why, kind: faint}
			}
			return text(kneeText(s, k))
		}
		name := text(s.Label())
		if s.Closed {
			name.tag = closedLoop
		}
		t.add(name, text(s.Sentence), knee(s.SLOKnee), knee(s.Saturation), knee(s.GeometricKnee))
	}
	return t
}

// percentilesTable is one latency of every point, by percentile.
func (o *Outcome) percentilesTable(metric string, u units) table {
	t := table{id: "percentiles-" + metric, caption: MetricName(metric) + " by percentile",
		columns: []column{{head: "point"}, {head: "n", num: true}}}
	for _, name := range record.PercentileNames {
		t.columns = append(t.columns, column{head: name, unit: u.head(), num: true, help: metric})
	}
	o.Each(func(s *series.Series, p *series.SeriesPoint) {
		ps := p.Latency(metric)
		if len(ps) == 0 {
			return
		}
		row := []cell{pointCell(s, p), count(ps[0].N)}
		for _, name := range record.PercentileNames {
			row = append(row, u.percentile(ps, name))
		}
		t.add(row...)
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
func (o *Outcome) classesTable(u units) table {
	t := table{id: "classes", caption: "Classes", columns: []column{{head: "point"}, {head: "class"}, {head: "n", num: true},
		u.column("TTFT p50"), u.column("TTFT p99"), u.column("TPOT p50"), u.column("E2E p99")}}
	o.Each(func(s *series.Series, p *series.SeriesPoint) {
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
			t.add(pointCell(s, p), text(name), count(n), u.percentile(ttft, "p50"),
				u.percentile(ttft, "p99"), u.percentile(tpot, "p50"), u.percentile(e2e, "p99"))
		}
	})
	return t
}

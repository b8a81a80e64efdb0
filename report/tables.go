package report

import (
	"fmt"
	"slices"
	"strings"

	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// fromSlot is the remark on closed loops: their latencies count from the slot, not from a schedule.
const fromSlot = "from slot"

func pointCell(s *series.Series, p *series.SeriesPoint) cell {
	c := text(pointName(s, p))
	if s.Closed {
		c.tag = fromSlot
	}
	for _, mark := range s.Marks {
		c.tag = strings.TrimPrefix(c.tag+"; "+mark, "; ")
	}
	if n := len(p.Rows); n > 1 {
		c.title = fmt.Sprintf("%d repeats", n)
	}
	return c
}

// each calls f for every point of every series.
func (o *Outcome) each(f func(s *series.Series, p *series.SeriesPoint)) {
	for i := range o.Series {
		for j := range o.Series[i].Points {
			f(&o.Series[i], &o.Series[i].Points[j])
		}
	}
}

// pointsTable is every point with its headline metrics.
func (o *Outcome) pointsTable(u units) table {
	t := table{id: "points", caption: "All points", columns: []column{
		{head: "point"}, {head: "SLO", help: "slo"}, {head: "validity", help: "validity"},
		{head: "offered", unit: "req/s", num: true, help: "throughput"},
		{head: "achieved", unit: "req/s", num: true, help: "throughput"},
		{head: "output", unit: "tok/s", num: true, help: "throughput"},
		{head: "output per GPU", unit: "tok/s", num: true, help: "throughput"},
		{head: "TTFT p50", unit: u.head(), num: true, help: "ttft"}, {head: "TTFT p95", unit: u.head(), num: true, help: "ttft"},
		{head: "TTFT p99", unit: u.head(), num: true, help: "ttft"},
		{head: "TPOT p50", unit: u.head(), num: true, help: "tpot"}, {head: "TPOT p99", unit: u.head(), num: true, help: "tpot"},
		{head: "e2e p50", unit: u.head(), num: true, help: "e2e"}, {head: "e2e p99", unit: u.head(), num: true, help: "e2e"},
		{head: "n", num: true, help: "failures"}, {head: "failed", num: true, help: "failures"},
	}}
	o.each(func(s *series.Series, p *series.SeriesPoint) {
		perGPU, offered := absent(), absent()
		if _, ok := p.Offered(); ok && !s.Closed { // a closed loop offers what is answered, "inf" no rate
			offered = text(unit.Digits(p.OfferedPerS.Median))
		}
		if p.OutputTokensPerSPerGPU != nil {
			perGPU = text(unit.Digits(p.OutputTokensPerSPerGPU.Median))
		}
		t.rows = append(t.rows, []cell{
			pointCell(s, p), verdictCell(p.SLO, p.Need), validityCell(p), offered, text(unit.Digits(p.RequestsPerS.Median)),
			text(unit.Digits(p.OutputTokensPerS.Median)), perGPU,
			u.percentile(p.TTFT, "p50"), u.percentile(p.TTFT, "p95"), u.percentile(p.TTFT, "p99"),
			u.percentile(p.TPOT, "p50"), u.percentile(p.TPOT, "p99"),
			u.percentile(p.E2E, "p50"), u.percentile(p.E2E, "p99"),
			completed(p), failures(p),
		})
	})
	return t
}

// completed is the sample of a point: of the repeat that has the fewest.
func completed(p *series.SeriesPoint) cell {
	least := p.Rows[0].Summary.Requests.Completed
	for _, r := range p.Rows {
		least = min(least, r.Summary.Requests.Completed)
	}
	c := count(least)
	if len(p.Rows) > 1 {
		c.title = fmt.Sprintf("completed requests of the repeat that has the fewest, of %d", len(p.Rows))
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
	if n == 0 {
		return c
	}
	var parts []string
	for class, k := range classes {
		parts = append(parts, fmt.Sprintf("%s %s", class, unit.Count(k)))
	}
	slices.Sort(parts)
	c.kind, c.title, c.tag = failed, strings.Join(parts, ", "), strings.Join(parts, ", ")
	return c
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
		c.title = "not possible here: " + strings.Join(worst.NotPossible, ", ")
	}
	return c
}

// seriesTable is each curve with its knees and its sentence.
func (o *Outcome) seriesTable() table {
	t := table{id: "series", caption: "Series and their knees", columns: []column{
		{head: "series"}, {head: "in one sentence"}, {head: "SLO knee", help: "knee"},
		{head: "geometric knee", help: "knee"}, {head: "saturation", help: "knee"},
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
			name.tag = fromSlot
		}
		t.rows = append(t.rows, []cell{name, text(s.Sentence), knee(s.SLOKnee), knee(s.GeometricKnee), knee(s.Saturation)})
	}
	return t
}

// percentilesTable is one latency of every point, by percentile.
func (o *Outcome) percentilesTable(metric string, u units) table {
	t := table{id: "percentiles-" + metric, caption: metricName(metric) + " by percentile",
		columns: []column{{head: "point"}, {head: "n", num: true}}}
	for _, name := range record.PercentileNames {
		t.columns = append(t.columns, column{head: name, unit: u.head(), num: true, help: metric})
	}
	o.each(func(s *series.Series, p *series.SeriesPoint) {
		ps := p.Latency(metric)
		if len(ps) == 0 {
			return
		}
		row := []cell{pointCell(s, p), count(ps[0].N)}
		for _, name := range record.PercentileNames {
			row = append(row, u.percentile(ps, name))
		}
		t.rows = append(t.rows, row)
	})
	return t
}

func metricName(metric string) string {
	if metric == "e2e" {
		return metric
	}
	return strings.ToUpper(metric)
}

// classesTable is the classes of mixes, each apart.
func (o *Outcome) classesTable(u units) table {
	t := table{id: "classes", caption: "Classes of the mixes, each apart", columns: []column{
		{head: "point"}, {head: "class"}, {head: "n", num: true},
		{head: "TTFT p50", unit: u.head(), num: true, help: "ttft"}, {head: "TTFT p99", unit: u.head(), num: true, help: "ttft"},
		{head: "TPOT p50", unit: u.head(), num: true, help: "tpot"}, {head: "e2e p99", unit: u.head(), num: true, help: "e2e"},
	}}
	o.each(func(s *series.Series, p *series.SeriesPoint) {
		samples := map[string][3][]*stats.Summary{}
		var names []string
		for _, r := range p.Rows {
			for name, c := range r.Classes {
				if _, ok := samples[name]; !ok {
					names = append(names, name)
				}
				x := samples[name]
				samples[name] = [3][]*stats.Summary{append(x[0], c.TTFT), append(x[1], c.TPOT), append(x[2], c.E2E)}
			}
		}
		slices.Sort(names)
		for _, name := range names {
			x := samples[name]
			ttft, tpot, e2e := record.PercentilesOf(x[0]...), record.PercentilesOf(x[1]...), record.PercentilesOf(x[2]...)
			n := 0
			if len(e2e) > 0 {
				n = e2e[0].N
			}
			t.rows = append(t.rows, []cell{pointCell(s, p), text(name), count(n), u.percentile(ttft, "p50"),
				u.percentile(ttft, "p99"), u.percentile(tpot, "p50"), u.percentile(e2e, "p99")})
		}
	})
	return t
}

// boundsTable sets what was measured beside what the hardware would allow; the bound is the first
// repeat's, for the batch and the context that it saw.
func (o *Outcome) boundsTable(u units) table {
	t := table{id: "bounds", caption: "Measured, and what the hardware would allow", columns: []column{{head: "point"}}}
	for _, m := range []string{"TTFT", "TPOT"} {
		help := strings.ToLower(m)
		t.columns = append(t.columns, column{head: m + " p50", unit: u.head(), num: true, help: help},
			column{head: m + " floor", unit: u.head(), num: true, help: "bound"},
			column{head: m + " expected", unit: u.head(), num: true, help: "bound"},
			column{head: m + " p50 over floor", num: true, help: "bound"})
	}
	t.columns = append(t.columns, column{head: "TPOT is", help: "bound"}, column{head: "of the peaks", help: "bound"}, column{head: "computed for"})
	o.each(func(s *series.Series, p *series.SeriesPoint) {
		r := p.Rows[0]
		b := r.Roofline
		if b == nil {
			none := cell{text: "no bound: " + r.NoRoofline, kind: faint}
			t.rows = append(t.rows, []cell{pointCell(s, p), u.percentile(p.TTFT, "p50"), absent(), absent(), absent(),
				u.percentile(p.TPOT, "p50"), absent(), absent(), absent(), absent(), absent(), none})
			return
		}
		t.rows = append(t.rows, []cell{pointCell(s, p),
			u.percentile(p.TTFT, "p50"), u.bound(b.TTFT.FloorMs), u.bound(b.TTFT.ExpectedMs), ratioCell(b.TTFTRatio, p.TTFT),
			u.percentile(p.TPOT, "p50"), u.bound(b.TPOT.FloorMs), u.bound(b.TPOT.ExpectedMs), ratioCell(b.TPOTRatio, p.TPOT),
			text(or(placeWords[b.TPOTPlace], "–")), text(or(peaks(b), "–")),
			text(fmt.Sprintf("%s, %d × %s, %s; batch %s, context %s tokens", b.Model, b.GPUs, b.Hardware,
				or(b.Precision, "precision as published"), unit.Digits(b.Batch), unit.Digits(b.Context)))})
	})
	return t
}

// bound is a time that the hardware allows; 0 is none that could be computed.
func (u units) bound(ms float64) cell {
	if ms <= 0 {
		return absent()
	}
	return text(u.ms(ms))
}

// ratioCell is a p50 over its floor, as sure as the p50 is.
func ratioCell(x *float64, ps record.Percentiles) cell {
	p, ok := ps.Get("p50")
	if x == nil || !ok {
		return absent()
	}
	n := "n=" + unit.Count(p.N)
	c := cell{text: unit.Digits(*x) + " ×", title: n + ", p50 " + gradeWords(p.Grade)}
	switch p.Grade {
	case stats.NoBound:
		c.text, c.kind = "– ("+n+")", noBound
	case stats.Thin:
		c.text, c.kind = "~"+c.text, thin
	}
	return c
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

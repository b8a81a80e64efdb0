package report

import (
	"cmp"
	"fmt"
	"strings"

	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// rooflineTable compares measured medians with the roofline of the first repeat, at the batch and the context that
// were observed.
func (o *Outcome) rooflineTable(u units) table {
	t := table{id: "roofline", caption: "Roofline", columns: []column{{head: "point"}}}
	for _, m := range []string{"TTFT", "TPOT"} {
		t.columns = append(t.columns, u.column(m+" p50"),
			column{head: m + " floor", unit: u.head(), num: true, help: "roofline"},
			column{head: m + " typical", unit: u.head(), num: true, help: "roofline"},
			column{head: m + " p50 ÷ floor", num: true, help: "roofline"})
	}
	t.columns = append(t.columns, column{head: "TPOT p50 is", help: "roofline"}, column{head: "utilization", help: "roofline"}, column{head: "computed for"})
	o.Each(func(s *series.Series, p *series.SeriesPoint) {
		r := p.Rows[0]
		b := r.Roofline
		if b == nil {
			t.add(pointCell(s, p), u.percentile(p.TTFT, "p50"), absent(), absent(), absent(), u.percentile(p.TPOT, "p50"), absent(), absent(), absent(),
				absent(), absent(), cell{text: "no roofline: " + r.NoRoofline, kind: faint})
			return
		}
		t.add(pointCell(s, p),
			u.percentile(p.TTFT, "p50"), u.floor(b.TTFT.FloorMs), u.floor(b.TTFT.ExpectedMs), ratioCell(b.TTFTRatio, p.TTFT),
			u.percentile(p.TPOT, "p50"), u.floor(b.TPOT.FloorMs), u.floor(b.TPOT.ExpectedMs), ratioCell(b.TPOTRatio, p.TPOT),
			text(cmp.Or(placeWords[b.TPOTPlace], "–")), text(cmp.Or(utilization(b), "–")),
			text(fmt.Sprintf("%s, %d × %s, %s; batch %s, context %s tokens", b.Model, b.GPUs, b.Hardware,
				cmp.Or(b.Precision, "precision as published"), unit.Digits(b.Batch), unit.Digits(b.Context))))
	})
	return t
}

// column is a percentile of a latency: "TTFT p99".
func (u units) column(head string) column {
	metric, _, _ := strings.Cut(strings.ToLower(head), " ")
	return column{head: head, unit: u.head(), num: true, help: metric}
}

// floor is a time of the roofline; 0: it could not be computed.
func (u units) floor(ms float64) cell {
	if ms <= 0 {
		return absent()
	}
	return text(u.ms(ms))
}

// ratioCell is a p50 divided by its floor, with the grade of the p50.
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

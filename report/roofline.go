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

// rooflineTable compares measured medians with the roofline of the first repeat, at the batch and the context
// that were observed.
func (o *Outcome) rooflineTable(u Units) Table {
	t := Table{ID: "roofline", Caption: "Roofline", Columns: []Column{{Head: "point"}}}
	for _, m := range []string{"TTFT", "TPOT"} {
		t.Columns = append(t.Columns, u.column(m+" p50"),
			Column{Head: m + " floor", Unit: u.head(), Num: true, Help: "roofline"},
			Column{Head: m + " typical", Unit: u.head(), Num: true, Help: "roofline"},
			Column{Head: m + " p50 ÷ floor", Num: true, Help: "roofline"})
	}
	t.Columns = append(t.Columns, Column{Head: "TPOT p50 is", Help: "roofline"}, Column{Head: "utilization", Help: "roofline"}, Column{Head: "computed for"})
	o.Each(func(s *series.Series, p *series.Point) {
		r := p.Rows[0]
		b := r.Roofline
		if b == nil {
			t.Add(pointCell(s, p), u.Percentile(p.TTFT, "p50"), Absent(), Absent(), Absent(), u.Percentile(p.TPOT, "p50"), Absent(), Absent(), Absent(),
				Absent(), Absent(), Cell{Text: "no roofline: " + r.NoRoofline, Kind: Faint})
			return
		}
		t.Add(pointCell(s, p),
			u.Percentile(p.TTFT, "p50"), u.floor(b.TTFT.FloorMs), u.floor(b.TTFT.ExpectedMs), ratioCell(b.TTFTRatio, p.TTFT),
			u.Percentile(p.TPOT, "p50"), u.floor(b.TPOT.FloorMs), u.floor(b.TPOT.ExpectedMs), ratioCell(b.TPOTRatio, p.TPOT),
			TextCell(cmp.Or(placeWords[b.TPOTPlace], "–")), TextCell(cmp.Or(utilization(b), "–")),
			TextCell(fmt.Sprintf("%s, %d × %s, %s; batch %s, context %s tokens", b.Model, b.GPUs, b.Hardware,
				cmp.Or(b.Precision, "precision as published"), unit.Digits(b.Batch), unit.Digits(b.Context))))
	})
	return t
}

// column is a percentile of a latency: "TTFT p99".
func (u Units) column(head string) Column {
	metric, _, _ := strings.Cut(strings.ToLower(head), " ")
	return Column{Head: head, Unit: u.head(), Num: true, Help: metric}
}

// floor is a time of the roofline; 0: it could not be computed.
func (u Units) floor(ms float64) Cell {
	if ms <= 0 {
		return Absent()
	}
	return TextCell(u.ms(ms))
}

// ratioCell is a p50 divided by its floor, with the grade of the p50.
func ratioCell(x *float64, ps record.Percentiles) Cell {
	p, ok := ps.Get("p50")
	if x == nil || !ok {
		return Absent()
	}
	n := "n=" + unit.Count(p.N)
	c := Cell{Text: unit.Digits(*x) + " ×", Title: n + ", p50 " + gradeWords(p.Grade)}
	switch p.Grade {
	case stats.NoBound:
		c.Text, c.Kind = "– ("+n+")", NoBound
	case stats.Thin:
		c.Text, c.Kind = "~"+c.Text, Thin
	}
	return c
}

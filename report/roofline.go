package report

import (
	"cmp"
	"fmt"
	"strings"

	"bench/experiment/record"
	"bench/experiment/roofline"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// rooflineTable is of the first repeat, at the batch and the context that were observed.
func (o *Analysis) rooflineTable() Table {
	t := newTable("floors", "Roofline", "point", "TTFT floor|ms # ?roofline", "TTFT p50 ÷ floor # ?roofline",
		"TPOT floor|ms # ?roofline", "TPOT p50 ÷ floor # ?roofline", "MBU|% # ?roofline", "MFU|% # ?roofline",
		"computed for")
	o.Each(func(s *series.Series, p *series.Point) {
		r := p.Rows[0]
		b := r.Roofline
		if b == nil {
			cells := []Cell{pointCell(s, p)}
			for range len(t.Columns) - 2 {
				cells = append(cells, Absent())
			}
			t.Add(append(cells, Cell{Text: "no roofline: " + r.NoRoofline, Kind: Faint})...)
			return
		}
		floor := floorCell(b.TPOT)
		floor.Title = strings.TrimPrefix(floor.Title+
			fmt.Sprintf("; batch %s, context %s tokens", unit.Digits(b.Batch), unit.Digits(b.Context)), "; ")
		t.Add(pointCell(s, p),
			floorCell(b.TTFT), ratioCell(b.TTFTRatio, p.TTFT),
			floor, ratioCell(b.TPOTRatio, p.TPOT),
			known(b.MBU, percent), known(b.MFU, percent),
			TextCell(fmt.Sprintf("%s, %d × %s, %s", b.Model, b.GPUs, b.Hardware,
				cmp.Or(b.Precision, "precision as published"))))
	})
	return t
}

func floorCell(b roofline.Bound) Cell {
	if b.FloorMs <= 0 {
		return Absent()
	}
	c := TextCell(unit.Digits(b.FloorMs))
	if b.ExpectedMs > 0 {
		c.Title = "typical " + unit.Format(b.ExpectedMs, "ms")
	}
	return c
}

func ratioCell(x *float64, ps record.Percentiles) Cell {
	p, ok := ps.Get("p50")
	if x == nil || !ok {
		return Absent()
	}
	n := "n=" + unit.Count(p.N)
	c := Cell{Text: unit.Digits(*x), Title: n + ", p50 " + gradeWords(p.Grade)}
	switch p.Grade {
	case stats.NoBound:
		c.Text, c.Kind = n, NoBound
	case stats.Thin:
		c.Text, c.Kind = "~"+c.Text, Thin
	}
	return c
}

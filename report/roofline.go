package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"bench/experiment/published"
	"bench/experiment/record"
	"bench/experiment/roofline"
	"bench/experiment/series"
	"bench/experiment/unit"
)

// rooflineTable is of the first repeat, at the batch and the context that were observed.
func rooflineTable(o *Analysis) Table {
	t := newTable("floors", "Roofline", "point", "TTFT floor|ms # ?roofline", "TTFT p50 ÷ floor # ?roofline",
		"TPOT floor|ms # ?roofline", "TPOT p50 ÷ floor # ?roofline", "MBU|% # ?roofline", "MFU|% # ?roofline",
		"computed for")
	o.Each(func(s *series.Series, p *series.Point) {
		r := p.Rows[0]
		b := r.Roofline
		if b == nil {
			t.Add(slices.Concat([]Cell{pointCell(s, p)}, slices.Repeat([]Cell{Absent()}, len(t.Columns)-2),
				[]Cell{{Text: "no roofline: " + r.NoRoofline, Kind: Faint}})...)
			return
		}
		floor := floorCell(b.TPOT)
		floor.Title = strings.TrimPrefix(floor.Title+
			fmt.Sprintf("; batch %s, context %s tokens", unit.Digits(b.Batch), unit.Digits(b.Context)), "; ")
		t.Add(pointCell(s, p), floorCell(b.TTFT), ratioCell(b.TTFTRatio, p.TTFT), floor, ratioCell(b.TPOTRatio, p.TPOT),
			known(b.MBU, percent), known(b.MFU, percent), TextCell(fmt.Sprintf("%s, %d × %s, %s", b.Model, b.GPUs,
				b.Hardware, cmp.Or(b.Precision, "precision as published"))))
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
	c := msCell(ps, "p50")
	p, ok := ps.Get("p50")
	if x == nil || !ok {
		return Absent()
	}
	if mark, _, bounded := p.Mark(); bounded {
		c.Text = mark + unit.Digits(*x)
	}
	return c
}

// publishedTable is the published figures of the same setup and lengths beside each point, or beside one alone.
func publishedTable(o *Analysis, alone *series.Point) Table {
	word := "measured"
	if o.any(func(p *series.Point) bool { return p.Rows[0].Predicted }) {
		word = "predicted"
	}
	t := newTable("published", "Published figures", "point", "published by", "load", "TTFT|ms # ?ttft",
		word+"|ms #", "TPOT|ms # ?tpot", word+"|ms #", "tok/s/GPU # ?throughput", word+" #", "source")
	var figures []published.Compared
	o.Each(func(s *series.Series, p *series.Point) {
		if p.Published == nil || alone != nil && p != alone {
			return
		}
		own := p.Published
		figures = append(figures, own.Figures...)
		for _, f := range own.Figures {
			load := "highest"
			if f.Concurrency > 0 {
				load = fmt.Sprintf("c%d", f.Concurrency)
			}
			t.Add(slices.Concat([]Cell{pointCell(s, p), TextCell(f.By()), TextCell(load)},
				besideCells(f.TTFTMs, own.TTFTMs, f.TTFTRatio, published.Slower),
				besideCells(f.TPOTMs, own.TPOTMs, f.TPOTRatio, published.Slower),
				besideCells(f.OutputPerGPU, own.OutputPerGPU, f.OutputRatio, share), []Cell{TextCell(f.From())})...)
		}
	})
	// what the sources leave open, what is beside their figures, and how the lengths of these are spread
	t.Note = "Same model, precision and GPUs, mean lengths ± 10 % or as stated, nearest concurrency (" +
		clauses("published: mean or median, not specified", word+": p50, TTFT from send",
			published.LengthsNote(figures)) + ")."
	return t.withoutEmpty()
}

func share(ratio float64) string { return unit.Format(ratio, "share") }

func besideCells(x, own float64, ratio *float64, words func(float64) string) []Cell {
	if x <= 0 {
		return []Cell{Absent(), Absent()}
	}
	cells := []Cell{TextCell(unit.Digits(x)), Absent()}
	if own > 0 {
		cells[1] = TextCell(unit.Digits(own))
	}
	if ratio != nil {
		cells[1].Text += " (" + words(*ratio) + ")"
	}
	return cells
}

func (t Table) withoutEmpty() Table {
	var kept []int
	for i := range t.Columns {
		if slices.ContainsFunc(t.Rows, func(row []Cell) bool { return row[i] != Absent() }) {
			kept = append(kept, i)
		}
	}
	return t.keep(kept)
}

// publishedPoint is the headline's point, or one below it; nil: none has published figures.
func publishedPoint(o *Analysis) *series.Point {
	s, p := o.HeadlinePoint()
	if s == nil {
		return nil
	}
	for i := len(s.Points) - 1; i >= 0 && p.Published == nil; i-- {
		p = &s.Points[i]
	}
	if p.Published == nil {
		return nil
	}
	return p
}

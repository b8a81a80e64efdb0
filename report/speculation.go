package report

import (
	"fmt"
	"math"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

func (r *Run) speculationTable() Table {
	t := Table{ID: "speculation", Caption: "Speculative decoding", Note: "Acceptance length: tokens of a step that verified a draft. Tokens per step: also of steps without one.", Columns: []Column{
		{Head: "row"}, {Head: "by"}, {Head: "draft tokens", Num: true}, {Head: "accepted", Unit: "%", Num: true}, {Head: "acceptance length", Num: true, Help: "speculation"},
		{Head: "tokens per step", Num: true, Help: "speculation"}, {Head: "TPOT p50", Unit: "ms", Num: true, Help: "tpot"}, {Head: "by position", Unit: "%"}}}
	r.eachSummary(func(name string, row *record.Row, s *record.Summary) {
		x := s.Speculation
		if name == row.ID {
			x = row.Speculation
		}
		if x != nil {
			t.Add(TextCell(name), TextCell(x.Source), known(x.DraftTokens, 1), with95(x.AcceptanceRate, x.RateCI95, unit.PercentDigits), with95(x.AcceptanceLength, x.LengthCI95, unit.Digits),
				known(x.TokensPerStep, 1), tokensAt(s.TPOT, "p50"), positions(x.ByPosition))
		}
	})
	return t
}

func with95(x *float64, within *stats.Interval, digits func(float64) string) Cell {
	c := optional(x, digits)
	if x != nil && within != nil {
		c.Text += fmt.Sprintf(" [%s, %s]", digits(within.Lo), digits(within.Hi))
	}
	return c
}

// positions are shares in percent: "90 50 20".
func positions(shares []float64) Cell {
	if len(shares) == 0 {
		return Absent()
	}
	text := ""
	for _, x := range shares[:min(len(shares), 8)] {
		text += " " + unit.Brief(100*x, 3)
	}
	return TextCell(text[1:])
}

func (r *Run) speculationGainsTable() Table {
	t := Table{ID: "speculation-gains", Caption: "Speculation on against off", Note: "Ratios: on ÷ off, TPOT below 1 is faster.", Columns: []Column{
		{Head: "point"}, {Head: "on"}, {Head: "off"}, {Head: "acceptance length", Num: true, Help: "speculation"}, {Head: "TPOT p50 [95 %]", Unit: "x", Num: true, Help: "tpot"}, {Head: "output tok/s", Unit: "x", Num: true, Help: "throughput"}}}
	for _, g := range series.SpeculationGains(r.Live()) {
		point := experiment.Spec{Name: g.Name, Point: g.Point}
		t.Add(TextCell(point.Label()), TextCell(g.On), TextCell(g.Off), known(g.Speculation.AcceptanceLength, 1), ratioText(g.TPOT), ratioText(g.Output))
	}
	return t
}

func ratioText(x series.Ratio) Cell {
	c := TextCell(unit.Digits(x.Value))
	if !math.IsInf(x.CI95.Lo, 0) && !math.IsInf(x.CI95.Hi, 0) {
		c.Text += fmt.Sprintf(" [%s, %s]", unit.Digits(x.CI95.Lo), unit.Digits(x.CI95.Hi))
	}
	return c
}

func (p *printer) speculationGains(run *Run) {
	for i, row := range run.speculationGainsTable().Rows {
		if i == maxParts {
			return
		}
		p.wrap("speculation ", fmt.Sprintf("%s, %s against %s: TPOT p50 %sx, output %sx, acceptance length %s",
			row[0].Text, row[1].Text, row[2].Text, row[4].Text, row[5].Text, row[3].Text))
	}
}

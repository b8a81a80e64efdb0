package report

import (
	"fmt"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

func (r *Run) speculationTable() Table {
	t := newTable("speculation", "Speculative decoding", "row", "by", "draft tokens #", "accepted|% #",
		"acceptance length # ?speculation", "tokens per step # ?speculation", "TPOT p50|ms # ?tpot",
		"by position|%")
	t.Note = "Acceptance length: tokens of a step that verified a draft. Tokens per step: also of steps without one."
	r.eachSummary(func(name string, row *record.Row, s *record.Summary) {
		x := s.Speculation
		if name == row.ID {
			x = row.Speculation
		}
		if x != nil {
			t.Add(TextCell(name), TextCell(x.Source), known(x.DraftTokens, 1),
				with95(x.AcceptanceRate, x.RateCI95, unit.PercentDigits),
				with95(x.AcceptanceLength, x.LengthCI95, unit.Digits),
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

package report

import (
	"fmt"
	"maps"
	"slices"

	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

func (r *Run) answersTable() Table {
	t := newTable("answers", "Answers", "row", "checked #", "valid|% #", "reasons", "correct of #",
		"correct|% #")
	t.Note = "Valid: of the form that the request asks for. Correct: as expected. With 95 % intervals."
	r.eachSummary(func(name string, row *record.Row, s *record.Summary) {
		if a := s.Answers; a != nil && (a.Valid != nil || a.Correct != nil) {
			checked, valid := shareCells(a.Valid)
			known, correct := shareCells(a.Correct)
			t.Add(TextCell(name), checked, valid, TextCell(unit.Counts(a.Reasons)), known, correct)
		}
		if a := row.Accuracy; a != nil && name == row.ID {
			known, correct := shareCells(&a.Correct)
			t.Add(TextCell(name+", questions before"), Absent(), Absent(), TextCell(""), known, correct)
			for _, r := range a.Replicas {
				known, correct := shareCells(&r.Correct)
				t.Add(TextCell(name+", questions to "+r.Endpoint), Absent(), Absent(), TextCell(""), known, correct)
			}
		}
	})
	return t
}

func shareCells(s *record.Share) (checked, share Cell) {
	if s == nil {
		return Absent(), Absent()
	}
	return count(s.Checked), with95(&s.Share, &s.CI95, unit.PercentDigits)
}

// Latencies are the latencies to show, in order: ttfo is one of them only where a point has reasoning, or a limit on
// it.
func (o *Analysis) Latencies() []string {
	all := slices.Clone(metric.Shown)
	if !o.answers() {
		all = slices.Delete(all, 1, 2)
	}
	return all
}

func (o *Analysis) answers() bool {
	return o.any((*series.Point).Thinks) || slices.ContainsFunc(metric.Percentiles, func(name string) bool { return o.limits("ttfo", name) })
}

func (r *Run) reasoningTable() Table {
	t := newTable("reasoning", "Reasoning", "row", "requests #", "unanswered #", "tokens p50 #", "p95 #",
		"answer tokens p50 #", "time p50|ms #", "p95|ms #", "TTFO p50|ms # ?ttfo")
	t.Note = "Per request with reasoning. Time: first token to first answer token. ≈: estimated by bench: the server reports no count of reasoning."
	r.eachSummary(func(name string, row *record.Row, s *record.Summary) {
		x := s.Reasoning
		if x == nil {
			return
		}
		t.Add(TextCell(name), count(x.Requests), count(x.Unanswered), reasoningTokens(x, x.Tokens, "p50"),
			reasoningTokens(x, x.Tokens, "p95"),
			reasoningTokens(x, x.AnswerTokens, "p50"),
			tokensAt(x.TimeMs, "p50"), tokensAt(x.TimeMs, "p95"), tokensAt(s.Latency("ttfo"), "p50"))
	})
	return t
}

func reasoningTokens(r *record.Reasoning, s *stats.Summary, name string) Cell {
	c := tokensAt(s, name)
	if r.Estimated && s != nil {
		c.Text = "≈" + c.Text
	}
	return c
}

func tokensAt(s *stats.Summary, name string) Cell {
	x, ok := s.Get(name)
	if !ok {
		return Absent()
	}
	return TextCell(unit.Digits(x))
}

func (r *Run) eachSummary(f func(name string, row *record.Row, s *record.Summary)) {
	for _, row := range r.Live() {
		f(row.ID, &row, &row.Summary)
		for _, parts := range []map[string]record.Summary{row.Classes, row.Categories} {
			for _, name := range slices.Sorted(maps.Keys(parts)) {
				s := parts[name]
				f(row.ID+", "+name, &row, &s)
			}
		}
	}
}

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

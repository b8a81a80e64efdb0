package report

import (
	"maps"
	"slices"

	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

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
	shown := false
	o.Each(func(_ *series.Series, p *series.Point) { shown = shown || p.Thinks() })
	return shown || slices.ContainsFunc(metric.Percentiles, func(name string) bool { return o.limits("ttfo", name) })
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

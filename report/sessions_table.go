package report

import (
	"fmt"

	"bench/experiment/record"
	"bench/experiment/unit"
)

func (r *Run) sessionsTable() Table {
	t := newTable("sessions", "Sessions: conversations and agent runs", "sessions", "n # ?sessions",
		"time p50 # ?sessions", "p90 #", "per turn # ?sessions", "tools # ?sessions",
		"E2E tok/s # ?e2e_interactivity", "hits of possible # ?reuse")
	cut := false
	for _, row := range r.Live() {
		s := row.Sessions
		if s == nil {
			continue
		}
		cut = cut || s.Cut > 0
		times := s.Percentiles(s.Time)
		hits := Absent()
		if u := row.Reuse; u != nil {
			hits = TextCell(fmt.Sprintf("%.1f of %s", 100*u.CachedRate, unit.Percent(u.PossibleRate)))
		}
		t.Add(TextCell(row.ID), sessionsCell(s), secondsCell(times, "p50"), secondsCell(times, "p90"),
			secondsCell(s.Percentiles(s.TurnTime), "p50"),
			optional(s.ToolShare, unit.Percent),
			optional(s.Interactivity, func(x record.Interactivity) string { return unit.Digits(x.TokensPerS) }), hits)
	}
	if cut {
		t.Note = "Times are of completed sessions. The row ended in others (cut), the long ones first: true times are longer (≥)."
	}
	return t
}

func sessionsCell(s *record.Sessions) Cell {
	text := unit.Count(s.Completed)
	if s.Failed > 0 {
		text += fmt.Sprintf(" + %d failed", s.Failed)
	}
	if s.Left > 0 {
		text += fmt.Sprintf(" + %d left", s.Left)
	}
	if s.Cut > 0 {
		text += fmt.Sprintf(" + %d cut", s.Cut)
	}
	c := TextCell(text)
	if s.Requests != nil {
		c.Title = unit.Digits(s.Requests.Mean) + " requests in each, on average"
	}
	return c
}

func secondsCell(ps record.Percentiles, name string) Cell {
	format := func(s float64) string { return formatMs(1000 * s) }
	return percentileCell(ps, name, format, format)
}

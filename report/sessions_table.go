package report

import (
	"fmt"

	"bench/experiment/record"
	"bench/experiment/stats"
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
		times := s.Percentiles(inMs(s.Time))
		hits := Absent()
		if u := row.Reuse; u != nil {
			hits = TextCell(fmt.Sprintf("%.1f of %s", 100*u.CachedRate, unit.Percent(u.PossibleRate)))
		}
		t.Add(TextCell(row.ID), sessionsCell(s), LatencyCell(times, "p50"), LatencyCell(times, "p90"),
			LatencyCell(s.Percentiles(inMs(s.TurnTime)), "p50"),
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

func inMs(s *stats.Summary) *stats.Summary {
	if s == nil {
		return nil
	}
	const msPerS = 1e3
	ms := *s
	for _, x := range []*float64{&ms.Mean, &ms.Std, &ms.Min, &ms.P50, &ms.P90, &ms.P95, &ms.P99, &ms.P999, &ms.Max} {
		*x *= msPerS
	}
	ms.CI95 = map[string]stats.Interval{}
	for name, ci := range s.CI95 {
		ms.CI95[name] = stats.Interval{Lo: ci.Lo * msPerS, Hi: ci.Hi * msPerS}
	}
	return &ms
}

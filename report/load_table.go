package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// loadTable is the load of each row: requests, arrivals, and how steady it was.
func (r *Run) loadTable() Table {
	t := Table{ID: "load", Caption: "Load", Columns: []Column{
		{Head: "row"}, {Head: "planned", Num: true, Help: "failures"}, {Head: "completed", Num: true, Help: "failures"}, {Head: "failed", Num: true, Help: "failures"},
		{Head: "warm-up", Num: true}, {Head: "concurrency", Num: true}, {Head: "window", Num: true}, {Head: "arrivals"}, {Head: "finish reasons"}, {Head: "steadiness", Help: "steady"}, {Head: "Little's law", Help: "steady"},
	}}
	for _, row := range r.Live() {
		q, c := row.Summary.Requests, row.Summary.Concurrency
		t.Add(TextCell(row.ID), count(q.Planned), shortCell(q), failedCell(q), count(q.Warmup),
			Cell{Text: unit.Digits(c.Mean), Tag: "max " + unit.Count(c.Max)}, TextCell(unit.Format(row.Summary.DurationS*1000, "ms")),
			TextCell(arrivals(&row)), TextCell(finishes(q.Finish)), TextCell(steadiness(row.Steady)), littleCell(row.Little))
	}
	return t
}

func shortCell(q record.Requests) Cell {
	c := count(q.Completed)
	if q.Short > 0 {
		c.Tag = unit.Count(q.Short) + " short"
	}
	return c
}

func failedCell(q record.Requests) Cell {
	c := count(q.Failed)
	if q.Failed > 0 {
		c.Kind = Failed
	}
	c.Tag = counts(q.Errors)
	if q.TurnsLost > 0 {
		c.Tag = strings.TrimPrefix(c.Tag+", ", ", ") + unit.Plural(q.TurnsLost, "turn") + " lost"
	}
	return c
}

// finishes are the server's finish reasons. More than one means that answers ended early.
func finishes(by map[string]int) string {
	named := map[string]int{}
	for reason, n := range by {
		named[cmp.Or(reason, "no reason")] += n
	}
	return cmp.Or(counts(named), "not reported")
}

func arrivals(row *record.Row) string {
	a := row.Arrivals
	if a == nil {
		return "no schedule"
	}
	return fmt.Sprintf("%s/s of %s/s scheduled; gap CV %s, scheduled %s", unit.Digits(a.RatePerS), unit.Digits(a.AskedPerS),
		unit.Format(a.GapCV, "share"), unit.Format(a.GapCVAsked, "share"))
}

// steadiness lists the trends in the window with their p-values.
func steadiness(s *record.Steadiness) string {
	if s == nil {
		return "not tested"
	}
	var parts []string
	for _, metric := range slices.Sorted(maps.Keys(s.Trends)) {
		parts = append(parts, trendText(metric, s.Trends[metric]))
	}
	if s.Cut != nil {
		parts = append(parts, fmt.Sprintf("MSER-5 truncates %s", unit.Plural(*s.Cut, "request")))
	}
	return cmp.Or(strings.Join(parts, "; "), "n too small")
}

func trendText(metric string, t stats.Trend) string {
	sign := ""
	if t.Change > 0 {
		sign = "+"
	}
	return fmt.Sprintf("%s %s%s (p=%s)", strings.ReplaceAll(metric, "_", " "), sign, unit.Format(t.Change, "share"), unit.Digits(t.P))
}

func littleCell(l *record.Little) Cell {
	if l == nil {
		return Absent()
	}
	c := TextCell(fmt.Sprintf("within %s", unit.Format(l.Tolerance, "share")))
	if !l.Consistent {
		c = Cell{Text: fmt.Sprintf("off by %s, tolerance %s", unit.Format(l.Off, "share"), unit.Format(l.Tolerance, "share")), Kind: Failed}
	}
	c.Title = fmt.Sprintf("concurrency %s; %s requests/s × %s", unit.Digits(l.InFlight), unit.Digits(l.RequestsS), unit.Format(l.MeanMs, "ms"))
	return c
}

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
func (r *Run) loadTable() table {
	t := table{id: "load", caption: "Load", columns: []column{
		{head: "row"}, {head: "planned", num: true, help: "failures"}, {head: "completed", num: true, help: "failures"}, {head: "failed", num: true, help: "failures"},
		{head: "warm-up", num: true}, {head: "concurrency", num: true}, {head: "window", num: true}, {head: "arrivals"}, {head: "finish reasons"}, {head: "steadiness", help: "steady"}, {head: "Little's law", help: "steady"},
	}}
	for _, row := range r.Live() {
		q, c := row.Summary.Requests, row.Summary.Concurrency
		t.add(text(row.ID), count(q.Planned), shortCell(q), failedCell(q), count(q.Warmup),
			cell{text: unit.Digits(c.Mean), tag: "max " + unit.Count(c.Max)}, text(unit.Format(row.Summary.DurationS*1000, "ms")),
			text(arrivals(&row)), text(finishes(q.Finish)), text(steadiness(row.Steady)), littleCell(row.Little))
	}
	return t
}

func shortCell(q record.Requests) cell {
	c := count(q.Completed)
	if q.Short > 0 {
		c.tag = unit.Count(q.Short) + " short"
	}
	return c
}

func failedCell(q record.Requests) cell {
	c := count(q.Failed)
	if q.Failed > 0 {
		c.kind = failed
	}
	c.tag = counts(q.Errors)
	if q.TurnsLost > 0 {
		c.tag = strings.TrimPrefix(c.tag+", ", ", ") + unit.Plural(q.TurnsLost, "turn") + " lost"
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

func littleCell(l *record.Little) cell {
	if l == nil {
		return absent()
	}
	c := text(fmt.Sprintf("within %s", unit.Format(l.Tolerance, "share")))
	if !l.Consistent {
		c = cell{text: fmt.Sprintf("off by %s, tolerance %s", unit.Format(l.Off, "share"), unit.Format(l.Tolerance, "share")), kind: failed}
	}
	c.title = fmt.Sprintf("concurrency %s; %s requests/s × %s", unit.Digits(l.InFlight), unit.Digits(l.RequestsS), unit.Format(l.MeanMs, "ms"))
	return c
}

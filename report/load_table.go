package report

import (
	"cmp"
	"fmt"
	"strings"

	"bench/experiment/record"
	"bench/experiment/unit"
)

func (r *Run) loadTable() Table {
	t := newTable("load", "Load", "row", "completed # ?failures", "failed # ?failures", "mean concurrency #",
		"window|s #", "arrivals|of scheduled, 1/s", "finish reasons", "trend|lowest p of tests ?steady",
		"Little's law ?steady")
	for _, row := range r.Live() {
		q, c := row.Summary.Requests, row.Summary.Concurrency
		mean := Cell{Text: unit.Digits(c.Mean), Title: "maximum " + unit.Count(c.Max)}
		if c.Mean == 0 {
			mean = Absent()
		}
		t.Add(TextCell(row.ID), shortCell(q), failedCell(q), mean,
			TextCell(unit.Digits(row.Summary.DurationS)),
			arrivals(&row), TextCell(finishes(q.Finish)), steadiness(row.Steady), littleCell(row.Little))
	}
	return t
}

func shortCell(q record.Requests) Cell {
	c := count(q.Completed)
	c.Title = fmt.Sprintf("%s planned, %s before for warm-up", unit.Count(q.Planned), unit.Count(q.Warmup))
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
	c.Tag = unit.Counts(q.Errors)
	if q.TurnsLost > 0 {
		c.Tag = strings.TrimPrefix(c.Tag+", ", ", ") + unit.Plural(q.TurnsLost, "turn") + " lost"
	}
	return c
}

// finishes are the server's finish reasons, counted if there are several: then answers ended early.
func finishes(by map[string]int) string {
	named, only := map[string]int{}, ""
	for reason, n := range by {
		only = cmp.Or(reason, "no reason")
		named[only] += n
	}
	if len(named) == 1 {
		return only
	}
	return cmp.Or(unit.Counts(named), "not reported")
}

func arrivals(row *record.Row) Cell {
	a := row.Arrivals
	if a == nil {
		return Absent()
	}
	return Cell{Text: unit.Digits(a.RatePerS) + " / " + unit.Digits(a.AskedPerS),
		Title: fmt.Sprintf("gap CV %s, scheduled %s", unit.Format(a.GapCV, "share"),
			unit.Format(a.GapCVAsked, "share"))}
}

func steadiness(s *record.Steadiness) Cell {
	if s == nil || len(s.Trends) == 0 {
		return Absent()
	}
	lowest := 1.
	for _, trend := range s.Trends {
		lowest = min(lowest, trend.P)
	}
	return TextCell(unit.Digits(lowest))
}

func littleCell(l *record.Little) Cell {
	if l == nil {
		return Absent()
	}
	c := TextCell("✓")
	if !l.Consistent {
		c = Cell{Text: "off by " + unit.Format(l.Off, "share"), Kind: Failed}
	}
	c.Title = fmt.Sprintf("tolerance %s; concurrency %s; %s requests/s × %s", unit.Format(l.Tolerance, "share"),
		unit.Digits(l.InFlight), unit.Digits(l.RequestsS), unit.Format(l.MeanMs, "ms"))
	return c
}

package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// loadTable is how the load of each row went: what was asked of it, what became of it, how steady it was.
func (r *Run) loadTable() table {
	t := table{id: "load", caption: "How the load went", columns: []column{
		{head: "row"}, {head: "planned", num: true, help: "failures"}, {head: "completed", num: true, help: "failures"}, {head: "failed", num: true, help: "failures"},
		{head: "warm-up", num: true}, {head: "in flight", num: true}, {head: "window", num: true}, {head: "arrivals"}, {head: "ended by"}, {head: "steadiness", help: "steady"}, {head: "Little's law", help: "steady"},
	}}
	for _, row := range r.Live() {
		q, c := row.Summary.Requests, row.Summary.Concurrency
		t.rows = append(t.rows, []cell{text(row.ID), count(q.Planned), shortCell(q), failedCell(q), count(q.Warmup),
			{text: unit.Digits(c.Mean), tag: "max " + unit.Count(c.Max)}, text(unit.Format(row.Summary.DurationS*1000, "ms")),
			text(arrivals(&row)), text(finishes(q.Finish)), text(steadiness(row.Steady)), littleCell(row.Little)})
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
	var said []string
	for _, class := range slices.Sorted(maps.Keys(q.Errors)) {
		said = append(said, class+" "+unit.Count(q.Errors[class]))
	}
	if q.TurnsLost > 0 {
		said = append(said, unit.Count(q.TurnsLost)+" turns lost")
	}
	c.tag = strings.Join(said, ", ")
	return c
}

// finishes are the server's finish reasons; more than one tells that the answers were not all as long as asked.
func finishes(by map[string]int) string {
	var said []string
	for _, reason := range slices.Sorted(maps.Keys(by)) {
		said = append(said, or(reason, "no reason")+" "+unit.Count(by[reason]))
	}
	return or(strings.Join(said, ", "), "not told")
}

func arrivals(row *record.Row) string {
	a := row.Arrivals
	if a == nil {
		return "none scheduled"
	}
	return fmt.Sprintf("%s of %s/s asked; gaps vary by %s, asked %s", unit.Digits(a.RatePerS), unit.Digits(a.AskedPerS),
		unit.Format(a.GapCV, "share"), unit.Format(a.GapCVAsked, "share"))
}

// steadiness names the trends through the window, with how likely chance alone shows as clear a one.
func steadiness(s *record.Steadiness) string {
	if s == nil {
		return "not judged"
	}
	var said []string
	for _, metric := range slices.Sorted(maps.Keys(s.Trends)) {
		said = append(said, trendText(metric, s.Trends[metric]))
	}
	if s.Cut != nil {
		said = append(said, fmt.Sprintf("MSER-5 would cut %s", plural(*s.Cut, "request", "requests")))
	}
	return or(strings.Join(said, "; "), "too few requests to tell")
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
	c := text(fmt.Sprintf("holds within %s", unit.Format(l.Tolerance, "share")))
	if !l.Consistent {
		c = cell{text: fmt.Sprintf("off by %s, more than %s", unit.Format(l.Off, "share"), unit.Format(l.Tolerance, "share")), kind: failed}
	}
	c.title = fmt.Sprintf("%s in flight; %s requests/s × %s", unit.Digits(l.InFlight), unit.Digits(l.RequestsS), unit.Format(l.MeanMs, "ms"))
	return c
}

// readingTable is how rows are to be read where they are easily read wrong: no reason to finding them.
func (r *Run) readingTable() table {
	t := table{id: "reading", caption: "How to read it", columns: []column{{head: "what"}, {head: "rows"}, {head: "do"}}}
	at := map[record.Finding]int{}
	var rows [][]string
	for _, row := range r.Live() {
		for _, n := range row.Notes {
			if _, ok := at[n]; !ok {
				at[n] = len(t.rows)
				t.rows, rows = append(t.rows, []cell{text(n.Text), {}, text(n.Hint)}), append(rows, nil)
			}
			rows[at[n]] = append(rows[at[n]], row.ID)
		}
	}
	for i, ids := range rows {
		t.rows[i][1] = text(some(ids))
	}
	return t
}

// some names a few, and counts the others.
func some(names []string) string {
	const few = 3
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:few], ", ") + fmt.Sprintf(" and %d more", len(names)-few)
}

// coldTable is the way from an idle server, or none, to the first token.
func (r *Run) coldTable() table {
	t := table{id: "cold", caption: "Cold starts", columns: []column{{head: "row"}, {head: "idle before each", num: true},
		{head: "server ready after", num: true}, {head: "its first token after", num: true}, {head: "TTFT p50", num: true, help: "ttft"}, {head: "n", num: true}}}
	for _, row := range r.Live() {
		c := row.ColdStart
		if c == nil {
			continue
		}
		ready, token := cell{text: "ran already", kind: faint}, absent()
		if c.Server != nil {
			ready, token = text(unit.Format(c.Server.ReadyMs, "ms")), known(c.Server.FirstTokenMs, "ms")
		}
		t.rows = append(t.rows, []cell{text(row.ID), text(fmt.Sprint(c.IdleS)), ready, token,
			inCell.percentile(record.PercentilesOf(row.Summary.TTFT), "p50"), count(row.Summary.Requests.Completed)})
	}
	return t
}

// reuseTable sets what the server found in its prefix cache beside what the plan let it find.
func (r *Run) reuseTable() table {
	t := table{id: "reuse", caption: "Prefix cache: possible and found", columns: []column{{head: "row"}, {head: "prompt tokens", num: true},
		{head: "possible", num: true, help: "reuse"}, {head: "found, by the server", num: true, help: "reuse"}, {head: "of the possible", num: true}, {head: "requests", num: true}}}
	for _, row := range r.Live() {
		u := row.Reuse
		if u == nil {
			continue
		}
		share := absent()
		if u.PossibleTokens > 0 {
			share = text(unit.Format(float64(u.CachedTokens)/float64(u.PossibleTokens), "share"))
		}
		t.rows = append(t.rows, []cell{text(row.ID), count(u.PromptTokens), text(unit.Format(u.PossibleRate, "share")),
			text(unit.Format(u.CachedRate, "share")), share, count(u.Requests)})
	}
	return t
}

package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"bench/experiment/metric"
	"bench/experiment/stats"
	"bench/experiment/text"
	"bench/experiment/unit"
	"bench/report/compare"
)

func HistoryText(w io.Writer, h *compare.History, screen Screen) error {
	p := newPrinter(screen)
	for i := range h.Groups {
		g := &h.Groups[i]
		if i > 0 {
			p.line("")
		}
		a := AnswerGroup(g)
		lead, rest, _ := strings.Cut(a.Lead, ":")
		if rest != "" {
			lead += ":"
		}
		p.wrap(p.paint(a.Kind, text.Escape(lead)), strings.TrimPrefix(rest, " "))
		p.wraps("  ", append([]string{a.Alarm}, a.Notes...)...)
		p.wrap("", GroupTitle(g))
		for _, t := range []Table{alarmTable(g), changeTable(g), gateTableOf(g)} {
			p.captioned(t, p.list)
		}
	}
	for _, n := range h.Unread {
		p.wrap("unreadable: ", n.Dir+": "+n.Error)
	}
	return p.flush(w)
}

func HistoryMarkdown(w io.Writer, h *compare.History) error {
	m := &markdown{}
	for _, g := range h.Groups {
		a := AnswerGroup(&g)
		m.line("# " + escapeMarkdown(a.Lead))
		if a.Alarm != "" {
			m.line("**" + escapeMarkdown(a.Alarm) + "**")
		}
		m.line(escapeMarkdown(GroupTitle(&g)))
		for _, note := range a.Notes {
			m.line("- " + escapeMarkdown(note))
		}
		m.tables(append(GroupTables(&g), TrendsTable(&g))...)
	}
	m.tables(UnreadTable(h))
	return m.flush(w)
}

func GroupTitle(g *compare.Group) string {
	s := fmt.Sprintf("%s, %s, %s", cmp.Or(g.Matrix, "no matrix"), cmp.Or(g.Model, "model not reported"),
		cmp.Or(g.Hardware, "hardware not specified"))
	if g.GPUs > 0 {
		s += fmt.Sprintf(" × %d", g.GPUs)
	}
	for _, part := range []string{g.Precision, g.Vantage} {
		if part != "" {
			s += ", " + part
		}
	}
	if g.Simulated {
		s += ", SIMULATED"
	}
	return s + ": " + unit.Plural(len(g.Nights), "night")
}

func Date(t time.Time) string { return t.UTC().Format(time.DateOnly) }

func Day(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }

func GroupTables(g *compare.Group) []Table {
	return []Table{alarmTable(g), changeTable(g), gateTableOf(g), unwatchedTable(g)}
}

func gateTableOf(g *compare.Group) Table {
	t := newTable("gates", "Regressions that the gate found", "night", "point", "figure", "change", "since")
	for _, n := range g.Gates {
		for _, r := range n.Regressions {
			change := Cell{Text: "not known", Kind: Faint}
			if r.Change != nil {
				change = worseCell(*r.Change, true)
			}
			t.Add(TextCell(n.Run), TextCell(compare.OfClass(r.Point, r.Class)), TextCell(r.Metric), change,
				TextCell(r.Since))
		}
	}
	return t
}

// UnwatchedID is the table of what no alarm watches.
const UnwatchedID = "unwatched"

// unwatchedTable has what "no alarm" does not cover.
func unwatchedTable(g *compare.Group) Table {
	t := newTable(UnwatchedID, "Not watched", "what", "why")
	type gap struct{ why, point string }
	var gaps []gap
	figures := map[gap][]string{}
	for _, tr := range g.Trends {
		if tr.Unwatched == "" || tr.Unwatched == compare.TrendEnded {
			continue
		}
		k := gap{tr.Unwatched, tr.Point}
		if figures[k] == nil {
			gaps = append(gaps, k)
		}
		figures[k] = append(figures[k], tr.Metric)
	}
	for _, k := range gaps {
		t.Add(TextCell(k.point+" ("+strings.Join(figures[k], ", ")+")"), TextCell(k.why))
	}
	return t
}

func worseCell(size float64, worse bool) Cell {
	if worse {
		return Cell{Text: compare.Percent(size, true) + " worse", Kind: Failed}
	}
	return Cell{Text: compare.Percent(size, true) + " better", Kind: Passed}
}

func alarmTable(g *compare.Group) Table {
	t := newTable("alarms", "Alarms", "point", "figure", "change", "since", "value #", "expected", "nights")
	for _, tr := range g.Trends {
		if a := tr.Alarm; a != nil {
			expected := "before: " + Quantity(a.Before, tr.Unit)
			if a.Expected != nil {
				expected = IntervalText(*a.Expected, tr.Unit)
			}
			t.Add(TextCell(tr.Point), TextCell(tr.Metric), worseCell(a.Size, a.Worse), TextCell(Date(a.Since)),
				TextCell(Quantity(a.X, tr.Unit)), TextCell(expected), TextCell(unit.Plural(a.Nights, "night")))
		}
	}
	return t
}

func changeTable(g *compare.Group) Table {
	t := newTable("changes", "Changes", "point", "figure", "since", "change", "other changes", "before #", "after #")
	for _, tr := range g.Trends {
		add := func(since time.Time, change, suspects Cell, before, after float64) {
			t.Add(TextCell(tr.Point), TextCell(tr.Metric), TextCell(Day(since)), change, suspects,
				TextCell(Quantity(before, tr.Unit)), TextCell(Quantity(after, tr.Unit)))
		}
		if d := tr.Drift; d != nil {
			change := worseCell(d.Size, d.Worse)
			change.Text += ", drifts " + compare.Percent(d.PerNight, true) + " a night"
			add(d.Since, change, Absent(), d.Before, d.After)
		}
		for _, c := range tr.Changes {
			add(c.Date, worseCell(c.Size, c.Worse), TextCell(Suspects(c)), c.Before, c.After)
		}
	}
	return t
}

// Suspects are the facts that changed at about the night of a change.
func Suspects(c compare.Change) string {
	var all []string
	for _, x := range c.Suspects {
		text := x.What + ": " + x.Was + " → " + x.Value
		if !x.Date.Equal(c.Date) {
			text += " (" + Day(x.Date) + ")"
		}
		all = append(all, text)
	}
	return cmp.Or(strings.Join(all, "; "), "none recorded")
}

func TrendsTable(g *compare.Group) Table {
	t := newTable("trends", "Trends", "point", "figure", "last night #", "95 % interval", "nights #", "last change")
	for _, tr := range g.Trends {
		last := tr.Nights[len(tr.Nights)-1]
		changed := Cell{Text: "none", Kind: Faint}
		if n := len(tr.Changes); n > 0 {
			changed = TextCell(Day(tr.Changes[n-1].Date))
		}
		t.Add(TextCell(tr.Point), TextCell(tr.Metric), TextCell(Quantity(last.X, tr.Unit)),
			TextCell(IntervalText(last.CI95, tr.Unit)), count(len(tr.Nights)), changed)
	}
	return t
}

func IntervalText(iv stats.Interval, unit string) string {
	if math.IsInf(iv.Hi, 1) {
		return "unbounded"
	}
	return Quantity(iv.Lo, unit) + " to " + Quantity(iv.Hi, unit)
}

func UnreadTable(h *compare.History) Table {
	t := newTable("unread", "Unreadable runs", "run", "why")
	for _, n := range h.Unread {
		t.Add(TextCell(n.Dir), TextCell(n.Error))
	}
	return t
}

type GroupAnswer struct {
	Kind  Kind
	Lead  string   // the gate of the last night: "FAIL: TPOT p50 +8.0 % …"; without one, the alarms
	Alarm string   // "1 alarm: TPOT p50 +6 % since 2026-11-20, A"; empty: none, or it leads
	Notes []string // what got better, what is not watched, what the gate found
}

// HistoryTitle is the lead of the group with the latest night.
func HistoryTitle(h *compare.History) string {
	if len(h.Groups) == 0 {
		return "History"
	}
	latest := slices.MaxFunc(h.Groups, func(a, b compare.Group) int {
		return a.Nights[len(a.Nights)-1].StartedAt.Compare(b.Nights[len(b.Nights)-1].StartedAt)
	})
	return AnswerGroup(&latest).Lead
}

func AnswerGroup(g *compare.Group) GroupAnswer {
	worse, better := alarmsOf(g)
	watched, unwatched := 0, unwatchedTable(g)
	for _, t := range g.Trends {
		if t.Unwatched == "" {
			watched++
		}
	}
	a := GroupAnswer{Kind: Passed, Lead: "no alarm in " + unit.Plural(g.Quiet, "night")}
	if g.Quiet == 0 {
		a.Lead = "no alarm for the worse"
	}
	switch {
	case len(worse) > 0:
		a.Kind, a.Lead = Failed, unit.Plural(len(worse), "alarm")+": "+firstThree(worse)
	case watched == 0 && len(better) == 0:
		a.Kind, a.Lead = Undecided, "not watched yet: no point in the last night has a figure"
		if len(unwatched.Rows) > 0 {
			a.Lead = "not watched yet: " + unwatched.Rows[0][1].Text
		}
	}
	if last := g.Nights[len(g.Nights)-1].Gate; last != nil {
		if len(worse) > 0 {
			a.Alarm = a.Lead
		} else {
			a.Notes = append(a.Notes, a.Lead)
		}
		a.Kind, a.Lead = verdictKind(last.Verdict), cmp.Or(last.Line, string(last.Verdict))
		if last.Verdict != stats.Fail { // of which the whole sentence is shown, of others the first clause
			a.Lead, _, _ = strings.Cut(a.Lead, "; ")
		}
	}
	if len(better) > 0 {
		a.Notes = append(a.Notes, "better: "+firstThree(better))
	}
	if n := g.Live(); watched < n && watched > 0 {
		text := fmt.Sprintf("not watched: %d of %s: ", n-watched, unit.Plural(n, "figure"))
		if rows := unwatched.Rows; len(rows) > 0 {
			text += rows[0][0].Text + ": " + rows[0][1].Text + others("; and ", len(rows), "more point")
		}
		a.Notes = append(a.Notes, text)
	}
	if s := gatesText(g); s != "" {
		a.Notes = append(a.Notes, s)
	}
	if n := len(g.UnreadGates); n > 0 {
		why, _, _ := strings.Cut(g.UnreadGates[n-1].Error, "\n")
		a.Notes = append(a.Notes, fmt.Sprintf("gate unreadable in %s: %s", unit.Plural(n, "night"), why))
	}
	return a
}

func alarmsOf(g *compare.Group) (worse, better []string) {
	all := slices.DeleteFunc(slices.Clone(g.Trends), func(t compare.Trend) bool { return t.Alarm == nil })
	slices.SortStableFunc(all, func(a, b compare.Trend) int {
		return cmp.Compare(math.Abs(b.Alarm.Size), math.Abs(a.Alarm.Size))
	})
	for _, t := range all {
		text := fmt.Sprintf("%s %s since %s, %s", metric.Words(t.Metric), compare.Percent(t.Alarm.Size, true),
			Date(t.Alarm.Since), PointWords(t.Point))
		if t.Alarm.Worse {
			worse = append(worse, text)
		} else {
			better = append(better, text)
		}
	}
	return worse, better
}

func firstThree(all []string) string {
	const shown = 3
	if more := len(all) - shown; more > 0 {
		all = append(all[:shown:shown], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(all, "; ")
}

func gatesText(g *compare.Group) string {
	if len(g.Gates) == 0 {
		return ""
	}
	counts, last := map[string]int{}, ""
	for _, n := range g.Gates {
		counts[string(n.Verdict)]++
		if n.Verdict == stats.Fail {
			last = "; last FAIL " + n.Run
		}
	}
	return fmt.Sprintf("gate in %s: %s", unit.Plural(len(g.Gates), "night"), unit.Counts(counts)) + last
}

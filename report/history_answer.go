package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"bench/experiment/metric"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/report/compare"
)

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
	watched, unwatched := watchedFigures(g), unwatchedTable(g)
	a := GroupAnswer{Kind: Passed, Lead: quietText(g)}
	switch {
	case len(worse) > 0:
		a.Kind, a.Lead = Failed, unit.Plural(len(worse), "alarm")+": "+firstThree(worse, "; ")
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
		a.Kind, a.Lead = verdictCell(last.Verdict, 0).Kind, gateLine(last)
	}
	if len(better) > 0 {
		a.Notes = append(a.Notes, "better: "+firstThree(better, "; "))
	}
	if n := g.Live(); watched < n && watched > 0 {
		a.Notes = append(a.Notes, fmt.Sprintf("not watched: %d of %s: %s", n-watched,
			unit.Plural(n, "figure"), notWatched(unwatched)))
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

// gateLine is the whole sentence of a FAIL, and the first clause of another verdict.
func gateLine(n *compare.NightGate) string {
	line := cmp.Or(n.Line, string(n.Verdict))
	if n.Verdict != stats.Fail {
		line, _, _ = strings.Cut(line, "; ")
	}
	return line
}

func quietText(g *compare.Group) string {
	if g.Quiet == 0 {
		return "no alarm for the worse"
	}
	return "no alarm in " + unit.Plural(g.Quiet, "night")
}

func alarmsOf(g *compare.Group) (worse, better []string) {
	var all []*compare.Trend
	for i := range g.Trends {
		if g.Trends[i].Alarm != nil {
			all = append(all, &g.Trends[i])
		}
	}
	slices.SortStableFunc(all, func(a, b *compare.Trend) int {
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

func firstThree(all []string, by string) string {
	const shown = 3
	s := strings.Join(all[:min(shown, len(all))], by)
	if more := len(all) - shown; more > 0 {
		s += fmt.Sprintf("%sand %d more", by, more)
	}
	return s
}

func watchedFigures(g *compare.Group) (n int) {
	for i := range g.Trends {
		if g.Trends[i].Unwatched == "" {
			n++
		}
	}
	return n
}

func notWatched(unwatched Table) string {
	if len(unwatched.Rows) == 0 {
		return ""
	}
	s := unwatched.Rows[0][0].Text + ": " + unwatched.Rows[0][1].Text
	if more := len(unwatched.Rows) - 1; more > 0 {
		s += fmt.Sprintf("; and %s", unit.Plural(more, "more point"))
	}
	return s
}

func gatesText(g *compare.Group) string {
	if len(g.Gates) == 0 {
		return ""
	}
	counts := map[string]int{}
	last := ""
	for _, n := range g.Gates {
		counts[string(n.Verdict)]++
		if n.Verdict == stats.Fail {
			last = n.Run
		}
	}
	s := fmt.Sprintf("gate in %s: %s", unit.Plural(len(g.Gates), "night"), unit.Counts(counts))
	if last != "" {
		s += "; last FAIL " + last
	}
	return s
}

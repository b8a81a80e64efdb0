package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/report/compare"
)

type GroupAnswer struct {
	Kind  Kind
	Lead  string   // "1 alarm: TPOT p50 at A +6 % since 2026-11-20"
	Notes []string // what got better, what is not watched, what the gate found
}

func AnswerGroup(g *compare.Group) GroupAnswer {
	worse, better := alarmsOf(g)
	watched := watchedFigures(g)
	a := GroupAnswer{Kind: Passed, Lead: quietText(g)}
	switch {
	case len(worse) > 0:
		a.Kind, a.Lead = Failed, unit.Plural(len(worse), "alarm")+": "+firstThree(worse, "; ")
	case watched == 0 && len(better) == 0:
		a.Kind, a.Lead = Undecided, "not watched yet: "+firstReason(g)
	}
	if len(better) > 0 {
		a.Notes = append(a.Notes, "better: "+firstThree(better, "; "))
	}
	if n := g.Live(); watched < n && watched > 0 {
		a.Notes = append(a.Notes, fmt.Sprintf("not watched: %d of %s: %s", n-watched,
			unit.Plural(n, "figure"), notWatched(g)))
	}
	if n := invalidNow(g); n > 0 && watched == 0 {
		a.Notes = append(a.Notes, fmt.Sprintf("invalid in the last night: %s", unit.Plural(n, "figure")))
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
	return alarmsText(all, true), alarmsText(all, false)
}

func alarmsText(all []*compare.Trend, worse bool) (out []string) {
	for _, t := range all {
		if a := t.Alarm; a.Worse == worse {
			out = append(out, fmt.Sprintf("%s at %s %s since %s", t.Metric, t.Point, compare.Percent(a.Size, true), Date(a.Since)))
		}
	}
	return out
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

func firstReason(g *compare.Group) string {
	for i := range g.Trends {
		if why := g.Trends[i].Unwatched; why != "" && why != compare.TrendEnded {
			return why
		}
	}
	return "no point in the last night has a figure"
}

func invalidNow(g *compare.Group) (n int) {
	for i := range g.Trends {
		t := &g.Trends[i]
		if t.Unwatched != compare.TrendEnded && !t.Nights[len(t.Nights)-1].Valid {
			n++
		}
	}
	return n
}

func notWatched(g *compare.Group) string {
	t := unwatchedTable(g)
	if len(t.Rows) == 0 {
		return ""
	}
	s := t.Rows[0][0].Text + ": " + t.Rows[0][1].Text
	if more := len(t.Rows) - 1; more > 0 {
		s += fmt.Sprintf("; and %s", unit.Plural(more, "more reason"))
	}
	return s
}

func gatesText(g *compare.Group) string {
	if len(g.Gates) == 0 {
		return ""
	}
	counts := map[stats.Verdict]int{}
	last := ""
	for _, n := range g.Gates {
		counts[n.Verdict]++
		if n.Verdict == stats.Fail {
			last = n.Run
		}
	}
	var parts []string
	for _, v := range []stats.Verdict{stats.Pass, stats.Undecided, stats.Fail} {
		if counts[v] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", v, counts[v]))
		}
	}
	s := fmt.Sprintf("gate in %s: %s", unit.Plural(len(g.Gates), "night"), strings.Join(parts, ", "))
	if last != "" {
		s += "; last FAIL " + last
	}
	return s
}

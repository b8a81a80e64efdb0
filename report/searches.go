package report

import (
	"cmp"
	"fmt"
	"strings"

	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/report/compare"
)

var searchGoals = map[string]string{"slo": "max %s within SLO", "saturation": "saturation %s"}

func searchGoal(goal, axis string) string {
	return fmt.Sprintf(cmp.Or(searchGoals[goal], goal+" of %s"), axis)
}

var searchStates = map[string]string{"above": "the highest load qualifies", "below": "the lowest load does not qualify",
	"none": "nothing found", "beaten": "another server setting is better",
	"unprobed": "further probes would narrow it",
	"budget":   "ended by its budget", "searching": "interrupted: resume the run"}

func searched(axis string, load float64) string {
	if axis == "rate" {
		return unit.Brief(load, 4) + "/s"
	}
	return unit.Count(int(load))
}

// loadInterval is "concurrency 8 to 12"; empty: neither end is known.
func loadInterval(axis string, x stats.Bracket) string {
	text := ""
	switch {
	case x.Low == nil && x.High == nil:
		return ""
	case x.Low == nil:
		text = "below " + searched(axis, *x.High)
	case x.High == nil:
		text = searched(axis, *x.Low) + " or above"
	case *x.Low == *x.High:
		text = searched(axis, *x.Low)
	default:
		text = searched(axis, *x.Low) + " to " + searched(axis, *x.High)
	}
	if axis == "concurrency" {
		text = "concurrency " + text
	}
	return text
}

// The probes are also points of their own.
func searchesTable(r *Run) Table {
	t := newTable("searches", "Searches", "row", "goal", "range", "answer #", "most likely #", "state",
		"probes #", "duration #", "result")
	t.Note = "The answer is an interval. Each probe is also a point of the tables and curves."
	for _, f := range r.Manifest.Searches {
		of := series.Series{Name: f.Name, OtherAxes: f.Others}
		best := optional(f.Best, func(x float64) string { return searched(f.Search.Axis, x) }).Text
		within := unit.Exactly(float64(f.Search.Tolerance), "share")
		t.Add(TextCell(strings.TrimSpace(of.Label()+" "+f.Variant)), TextCell(searchGoal(f.Search.Goal, f.Search.Axis)),
			TextCell(f.Search.RangeText()+", within "+within),
			TextCell(cmp.Or(loadInterval(f.Search.Axis, f.Bracket), searchStates[f.State], f.State)), TextCell(best),
			TextCell(strings.TrimSuffix(f.State+": "+searchStates[f.State], ": ")), count(f.Probes),
			TextCell(unit.Format(f.TookS*1000, "ms")), TextCell(f.Text))
	}
	return t
}

func comparedSearches(c *compare.Comparison) Table {
	t := newTable("searches", "Answers of searches", "search", "goal", "base #", "new #", "verdict", "why")
	for _, s := range c.Searches {
		base, changed := sidesOf(&s)
		t.Add(TextCell(s.Point), TextCell(searchGoal(s.Goal, s.Axis)), TextCell(base), TextCell(changed),
			Cell{Text: string(s.Verdict), Kind: ForestMark(s.Verdict).Kind()}, TextCell(s.Why))
	}
	return t
}

func sidesOf(s *compare.SearchAnswer) (base, changed string) {
	of := func(x stats.Bracket) string { return cmp.Or(loadInterval(s.Axis, x), "no answer") }
	return of(s.Base.Bracket), of(s.New.Bracket)
}

// searchChange is "40.1/s to 44/s → 50.2/s to 55/s, +25 % [+14, +37], better".
func searchChange(s *compare.SearchAnswer) string {
	base, changed := sidesOf(s)
	text := base + " → " + changed
	if s.Change != nil {
		text += ", " + percentDigits(*s.Change) + " % " + withinText(*s.CI95)
	}
	return text + ", " + string(s.Verdict)
}

// searchesNotes lack the search that the answer is about; "": it is about none.
func searchesNotes(c *compare.Comparison, said string) []string {
	var notes []string
	for i := range c.Searches {
		if s := &c.Searches[i]; said != searchChange(s)+", "+s.Point {
			notes = append(notes, fmt.Sprintf("%s, %s: %s", s.Point, searchGoal(s.Goal, s.Axis), searchChange(s)))
		}
	}
	return notes
}

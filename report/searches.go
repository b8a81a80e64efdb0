package report

import (
	"cmp"
	"fmt"
	"strings"

	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/unit"
	"bench/report/compare"
)

func searchName(f *record.Found) string {
	s := series.Series{Name: f.Name, OtherAxes: f.Others}
	return strings.TrimSpace(s.Label() + " " + f.Variant)
}

var searchGoals = map[string]string{"slo": "max %s within SLO", "saturation": "saturation %s"}

var searchStates = map[string]string{"above": "the highest load qualifies", "below": "the lowest load does not qualify",
	"none":     "nothing found",
	"beaten":   "another server setting is better",
	"unprobed": "further probes would narrow it",
	"budget":   "ended by its budget", "searching": "interrupted: resume the run"}

func answer(f *record.Found) string {
	low, high := searched(f, f.Low), searched(f, f.High)
	text := cmp.Or(searchStates[f.State], f.State)
	switch {
	case f.Low != nil && f.High != nil && *f.Low == *f.High:
		text = low
	case f.Low != nil && f.High != nil:
		text = low + " to " + high
	case f.Low != nil:
		text = low + " or above"
	case f.High != nil:
		text = "below " + high
	default:
		return text
	}
	if f.Search.Axis == "concurrency" {
		text = "concurrency " + text
	}
	return text
}

func searched(f *record.Found, load *float64) string {
	switch {
	case load == nil:
		return ""
	case f.Search.Axis == "rate":
		return unit.Brief(*load, 4) + "/s"
	}
	return unit.Count(int(*load))
}

// The probes are also points of their own.
func (r *Run) searchesTable() Table {
	t := newTable("searches", "Searches", "row", "goal", "range", "answer #", "most likely #", "state",
		"probes #", "duration #", "result")
	t.Note = "The answer is an interval. Each probe is also a point of the tables and curves."
	for i := range r.Manifest.Searches {
		f := &r.Manifest.Searches[i]
		t.Add(TextCell(searchName(f)), TextCell(fmt.Sprintf(cmp.Or(searchGoals[f.Search.Goal], f.Search.Goal+" of %s"),
			f.Search.Axis)),
			TextCell(fmt.Sprintf("%s, within %s", f.Search.RangeText(), Exactly(float64(f.Search.Tolerance), "share"))),
			TextCell(answer(f)), TextCell(cmp.Or(searched(f, f.Best), "–")),
			TextCell(strings.TrimSuffix(f.State+": "+searchStates[f.State], ": ")), count(f.Probes),
			TextCell(unit.Format(f.TookS*1000, "ms")), TextCell(f.Text))
	}
	return t
}

func comparedSearches(c *compare.Comparison) Table {
	t := newTable("searches", "Answers of searches", "search", "goal", "base #", "new #", "verdict", "why")
	for i := range c.Searches {
		s := &c.Searches[i]
		t.Add(TextCell(s.Point), TextCell(searchGoal(s)), TextCell(loadInterval(s, s.Base)),
			TextCell(loadInterval(s, s.New)),
			Cell{Text: string(s.Verdict), Kind: ForestMark(s.Verdict).Kind()}, TextCell(s.Why))
	}
	return t
}

// searchAnswer is the first search that both sides answer: of two searches no load need be common, and a common one has
// few requests.
func searchAnswer(c *compare.Comparison) ComparisonAnswer {
	s := &c.Searches[c.ComparedSearch()]
	return ComparisonAnswer{Lead: searchGoal(s), Text: searchChange(s) + ", " + s.Point,
		Kind: ForestMark(s.Verdict).Kind()}
}

// searchChange is "40.1/s to 44/s → 50.2/s to 55/s, +25 % [+14, +37], better".
func searchChange(s *compare.SearchAnswer) string {
	text := loadInterval(s, s.Base) + " → " + loadInterval(s, s.New)
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
			notes = append(notes, fmt.Sprintf("%s, %s: %s", s.Point, searchGoal(s), searchChange(s)))
		}
	}
	return notes
}

func searchGoal(s *compare.SearchAnswer) string {
	return fmt.Sprintf(cmp.Or(searchGoals[s.Goal], s.Goal+" of %s"), s.Axis)
}

func loadInterval(s *compare.SearchAnswer, x compare.LoadInterval) string {
	f := &record.Found{Bracket: x.Bracket}
	f.Search.Axis = s.Axis
	return cmp.Or(answer(f), "no answer")
}

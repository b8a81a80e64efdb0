package report

import (
	"cmp"
	"fmt"

	"bench/experiment/record"
	"bench/experiment/unit"
	"bench/report/compare"
)

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
	const most = 3
	var notes []string
	for i := range c.Searches[:min(most, len(c.Searches))] {
		if s := &c.Searches[i]; said != searchChange(s)+", "+s.Point {
			notes = append(notes, fmt.Sprintf("%s, %s: %s", s.Point, searchGoal(s), searchChange(s)))
		}
	}
	if more := len(c.Searches) - most; more > 0 {
		notes = append(notes, unit.Plural(more, "more search")+" in the table")
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

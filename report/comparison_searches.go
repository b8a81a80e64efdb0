package report

import (
	"cmp"
	"fmt"

	"bench/experiment/record"
	"bench/experiment/unit"
	"bench/report/compare"
)

func comparedSearches(c *compare.Comparison) Table {
	t := Table{ID: "searches", Caption: "Answers of searches", Columns: []Column{
		{Head: "search"}, {Head: "goal"}, {Head: "base", Num: true}, {Head: "new", Num: true},
		{Head: "verdict"}, {Head: "why"}}}
	for i := range c.Searches {
		s := &c.Searches[i]
		t.Add(TextCell(s.Point), TextCell(searchGoal(s)), TextCell(loadInterval(s, s.Base)),
			TextCell(loadInterval(s, s.New)),
			Cell{Text: string(s.Verdict), Kind: ForestMark(s.Verdict).Kind()}, TextCell(s.Why))
	}
	return t
}

func searchesNotes(c *compare.Comparison) []string {
	const most = 3
	var notes []string
	for i := range c.Searches[:min(most, len(c.Searches))] {
		s := &c.Searches[i]
		base, changed := loadInterval(s, s.Base), loadInterval(s, s.New)
		notes = append(notes, fmt.Sprintf("%s, %s: %s → %s, %s", s.Point, searchGoal(s), base, changed,
			s.Verdict))
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

package report

import (
	"cmp"
	"fmt"
	"slices"

	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/report/compare"
)

// sightNotes say what a gate sees: of a new base at once, else only which thresholds are too small for the noise.
func sightNotes(c *compare.Comparison) (notes []string) {
	all := c.Sights()
	if c.NewBase != nil {
		all = c.NewBase.Sees
	}
	if len(all) == 0 || c.Gate == nil {
		return nil
	}
	excess := func(s compare.Sight) float64 { return s.Smallest / s.Threshold.Worse }
	blind := slices.DeleteFunc(slices.Clone(all), func(s compare.Sight) bool { return excess(s) <= 1 })
	slices.SortStableFunc(blind, func(a, b compare.Sight) int { return cmp.Compare(excess(b), excess(a)) })
	if c.NewBase != nil {
		notes = append(notes, fmt.Sprintf("the next run's gate sees %d of %s at their thresholds; %s", len(all)-len(blind),
			unit.Plural(len(all), "figure"), spreadWords(all[0].Spread)))
	}
	if len(blind) > 0 {
		s := blind[0]
		text := fmt.Sprintf("too noisy for its threshold: %s at %s: smallest visible change %s", s.Threshold, compare.OfClass(s.Point, s.Class),
			compare.Percent(s.Smallest, false))
		if more := len(blind) - 1; more > 0 {
			text += "; " + unit.Plural(more, "more figure")
		}
		notes = append(notes, text)
	}
	return notes
}

func spreadWords(s compare.Spread) string {
	sd := compare.Percent(s.SD, false)
	switch s.Source {
	case stats.SpreadOfMachine:
		return "spread between runs: " + sd + ", as in other runs on this machine"
	case stats.SpreadOfRepeats:
		return "spread between runs: " + sd + " taken, twice that between repeats"
	case stats.SpreadAssumed:
		return "spread between runs: " + sd + " assumed"
	}
	return "spread between runs: " + sd
}

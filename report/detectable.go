package report

import (
	"cmp"
	"fmt"
	"slices"

	"bench/experiment/unit"
	"bench/report/compare"
)

// detectableNotes say which changes a gate detects: of a new base all, else only which thresholds are below the noise.
func detectableNotes(c *compare.Comparison) (notes []string) {
	all := c.Detectables()
	if c.NewBase != nil {
		all = c.NewBase.Detectable
	}
	if len(all) == 0 || c.Gate == nil {
		return nil
	}
	excess := func(s compare.Detectable) float64 { return s.Smallest / s.Threshold.Worse }
	blind := slices.DeleteFunc(slices.Clone(all), func(s compare.Detectable) bool { return excess(s) <= 1 })
	slices.SortStableFunc(blind, func(a, b compare.Detectable) int { return cmp.Compare(excess(b), excess(a)) })
	if c.NewBase != nil {
		notes = append(notes, fmt.Sprintf("the next run's gate detects a change of the threshold in %d of %s; %s",
			len(all)-len(blind),
			unit.Plural(len(all), "figure"), all[0].Spread.Words()))
	}
	if len(blind) > 0 {
		s := blind[0]
		text := fmt.Sprintf("threshold below the noise: %s at %s: smallest detectable change %s", s.Threshold,
			compare.OfClass(s.Point, s.Class),
			compare.Percent(s.Smallest, false))
		if more := len(blind) - 1; more > 0 {
			text += "; " + unit.Plural(more, "more figure")
		}
		notes = append(notes, text)
	}
	return notes
}

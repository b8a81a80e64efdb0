package report

import (
	"fmt"
	"slices"
	"time"

	"bench/experiment/record"
	"bench/experiment/unit"
)

func budgetLine(b *record.Budget) string {
	if b == nil {
		return ""
	}
	text := fmt.Sprintf("budget %s: spent %s", clock(b.TotalS), clock(b.SpentS))
	if b.Added > 0 {
		text += ", " + unit.Plural(b.Added, "longer repeat")
	}
	if len(b.NotRun) > 0 {
		text += "; " + andMore(b.NotRun[0].ID, len(b.NotRun)-1) + " did not fit"
	}
	if len(b.Open) == 0 {
		return text + "; no verdict is open"
	}
	var parts []string
	for _, o := range b.Open {
		part := o.Name + ": " + o.Why
		if o.NeedS > 0 {
			part += ", about " + clock(o.NeedS)
		}
		parts = append(parts, part)
	}
	return fmt.Sprintf("%s; %s open: %s", text, unit.Plural(len(b.Open), "verdict"), firstThree(parts, "; "))
}

// beyondBudget is why a row has no result, if it did not fit in the budget; empty: it is another reason.
func (r *Run) beyondBudget(id string) string {
	b := r.Manifest.Budget
	if b == nil || !slices.ContainsFunc(b.NotRun, func(n record.NotStarted) bool { return n.ID == id }) {
		return ""
	}
	if r.Manifest.Predicted != nil {
		return "did not fit in the budget"
	}
	return "did not fit in the budget; run bench sweep --resume with a longer budget"
}

// clock is a number of seconds: 42s, 11m 20s, 1h 05m.
func clock(seconds float64) string { return unit.Clock(time.Duration(seconds * float64(time.Second))) }

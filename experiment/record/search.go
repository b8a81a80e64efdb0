package record

import (
	"slices"

	"bench/experiment"
	"bench/experiment/stats"
)

// Found is the result of a search: the bracket of the load.
type Found struct {
	Name    string            `json:"name"`           // the row's
	Others  []experiment.Axis `json:"axes,omitempty"` // values of the other axes
	Variant string            `json:"variant,omitempty"`
	Search  experiment.Search `json:"search"`

	stats.Bracket
	// Counted is what the verdicts of the probes alone leave possible; absent = no estimate
	Counted *stats.Bracket `json:"counted,omitempty"`
	// State is searching, found (within the tolerance, or extrapolated), budget (the answer is wider: the budget is
	// used up), above (even the highest load qualifies), below (not even the lowest does), beaten (another server
	// setting is better), none, or unprobed (evaluated again: further probes would narrow it).
	State string `json:"state"`
	// ConfirmS is the smallest budget with a verdict at the lower end, s; absent = a probe has passed near it, or none
	// is known.
	ConfirmS float64  `json:"confirm_s,omitempty"`
	Passed   *float64 `json:"passed"` // highest load of a probe that met the SLO; null = none
	// highest load of a probe of a gentle search, beyond which its answer is extrapolated; absent = another search
	ProbedUpTo float64 `json:"probed_up_to,omitempty"`
	Probes     int     `json:"probes_run"`
	TookS      float64 `json:"took_s"`
	Text       string  `json:"text"` // the result as a sentence
}

// Probed reports whether a row is a probe of the search.
func (f *Found) Probed(s *experiment.Spec) bool {
	if s.Search == nil || s.Name != f.Name || s.Variant != f.Variant {
		return false
	}
	_, others := experiment.LoadAxis(s)
	return slices.Equal(others, f.Others)
}

func (f *Found) Spent() string {
	if f.Probes >= f.Search.MaxProbes() {
		return "probes"
	}
	return "budget"
}

func (f *Found) Verdict() stats.Verdict {
	switch {
	case f.Search.Goal != experiment.GoalSLO:
		return ""
	case f.Met():
		return stats.Pass
	case f.State == "below":
		return stats.Fail
	}
	return stats.Undecided
}

func (f *Found) Met() bool {
	qualifies := f.Low != nil
	if f.Search.Goal == experiment.GoalSLO {
		qualifies = f.Passed != nil
	}
	return qualifies && f.State != "searching" && f.State != "beaten"
}

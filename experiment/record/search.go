package record

import (
	"bench/experiment"
	"bench/experiment/stats"
)

// Found is what a search found: where the load lies that was looked for.
type Found struct {
	Name    string            `json:"name"`           // the row's
	Others  []experiment.Axis `json:"axes,omitempty"` // the values of the axes that are not the load
	Variant string            `json:"variant,omitempty"`
	Search  experiment.Search `json:"search"`

	stats.Bracket
	State  string  `json:"state"` // searching, found, above (even the highest load is one), below (not even the lowest), none, budget (it ended before the search)
	Probes int     `json:"probes_run"`
	TookS  float64 `json:"took_s"`
	Text   string  `json:"text"` // in a sentence
}

// Verdict is that of a search for what meets the SLO; empty for the others.
func (f *Found) Verdict() stats.Verdict {
	switch {
	case f.Search.For != experiment.ForSLO:
		return ""
	case f.Met():
		return stats.Pass
	case f.State == "below":
		return stats.Fail
	}
	return stats.Undecided
}

// Met says that there is a load that is one of those looked for.
func (f *Found) Met() bool { return f.Low != nil && (f.State == "found" || f.State == "above") }

package report

import (
	"errors"
	"strings"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/verdict"
)

// Met returns nil if every SLO is met by valid rows, and else an error with a line for each that is not.
// UNDECIDED and invalid count as not met, a caution does not. The probes of a search may fail: its answer counts instead.
func (r *Run) Met() error {
	var missed []string
	for _, row := range r.Live() {
		switch v, _ := verdict.OfRows(&row); {
		case row.Spec.Search != nil:
		case v != "" && v != stats.Pass:
			missed = append(missed, row.ID+": SLO "+string(v))
		case !row.Valid():
			missed = append(missed, row.ID+": invalid ("+strings.Join(row.Codes(record.Invalid), ", ")+")")
		}
	}
	for _, id := range r.Missing {
		missed = append(missed, id+": no result")
	}
	for _, f := range r.Manifest.Searches {
		if !f.Met() {
			missed = append(missed, f.Text)
		}
	}
	// Outcome also judges rows without a possible check.
	if o := r.Outcome(); len(missed) == 0 && (!o.Valid || o.Verdict != "" && o.Verdict != stats.Pass) {
		missed = []string{o.Validity}
	}
	if len(missed) == 0 {
		return nil
	}
	return errors.New("SLO not met:\n  " + strings.Join(missed, "\n  "))
}

package record

import (
	"encoding/json"
	"slices"
	"strings"
)

// invalidEarlier are the codes of findings from before severities that are invalid now.
var invalidEarlier = []string{"errors", "unfinished", "short", "token_counts", "stamps", "arrivals", "prefix_cache", "faster_than_bound"}

// notesEarlier are such codes that are notes now.
var notesEarlier = []string{"warmup", "heterogeneous", "tokens_per_event", "server_logs", "foreign"}

// UnmarshalJSON reads a row of this version, or of one before findings had a severity: that one has its notes
// in a list of their own, and a finding few_samples, which grades, intervals and verdicts replace.
func (r *Row) UnmarshalJSON(b []byte) error {
	type plain Row
	earlier := struct {
		*plain
		Notes []Finding `json:"notes"`
	}{plain: (*plain)(r)}
	if err := json.Unmarshal(b, &earlier); err != nil {
		return err
	}
	few := func(code string) bool { return code == "few_samples" }
	r.Checks.Failed = slices.DeleteFunc(r.Checks.Failed, few)
	r.Checks.Passed = slices.DeleteFunc(r.Checks.Passed, few)
	r.Checks.NotPossible = slices.DeleteFunc(r.Checks.NotPossible, few)
	r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool { return few(f.Code) })
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Severity == "" {
			f.Severity = r.severityEarlier(f.Code)
		}
	}
	for _, f := range earlier.Notes {
		f.Severity = Note
		r.Findings = append(r.Findings, f)
	}
	SortFindings(r.Findings)
	r.openEarlier()
	return nil
}

// openEarlier names the findings that left a limit undecided in a row that has them in its reasons only.
func (r *Row) openEarlier() {
	for i := range r.SLO {
		v := &r.SLO[i]
		_, because, ok := strings.Cut(v.Why, "undecided because of ")
		if !ok || v.OpenedBy != nil {
			continue
		}
		for _, f := range r.Findings {
			if strings.Contains(because, f.Code+":") && !slices.Contains(v.OpenedBy, f.Code) {
				v.OpenedBy = append(v.OpenedBy, f.Code)
			}
		}
	}
}

// severityEarlier is the severity of a finding that has none.
func (r *Row) severityEarlier(code string) Severity {
	q := r.Summary.Requests
	switch {
	case slices.Contains(r.Checks.Unverified, code), code == "token_counts" && r.Summary.Tokens.Estimated:
		return Caution
	case code == "unfinished" && 100*q.Unfinished <= q.Planned:
		return Note
	case slices.Contains(invalidEarlier, code):
		return Invalid
	case slices.Contains(notesEarlier, code):
		return Note
	}
	return Caution
}

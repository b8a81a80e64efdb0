package series

import (
	"slices"
	"strings"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/verdict"
)

// HeldOpenBy is the caution that leaves most of the undecided probes open, so that more probes decide nothing; nil:
// more requests would decide as many of them.
func HeldOpenBy(rows []*record.Row) *record.Finding {
	count := map[string]int{}
	undecided := 0
	var most *record.Finding
	for _, r := range rows {
		if v, _ := verdict.OfRows(r); v != stats.Undecided || disturbed(r) != "" {
			continue
		}
		undecided++
		if f := OpenedBy(r.Findings, r.SLO...); f != nil {
			if count[f.Code]++; most == nil || count[f.Code] > count[most.Code] {
				most = f
			}
		}
	}
	if most == nil || 2*count[most.Code] <= undecided {
		return nil
	}
	return most
}

// OpenedBy is the first caution without whose effects one of the limits would have a verdict; nil: none is.
func OpenedBy(findings []record.Finding, limits ...record.Verdict) *record.Finding {
	for i := range findings {
		f := &findings[i]
		if f.Severity == record.Caution && slices.ContainsFunc(limits,
			func(v record.Verdict) bool { return v.WasOpenedBy(f) }) {
			return f
		}
	}
	return nil
}

// heldOpenText is the reason in a sentence: "this machine is too busy to decide: the local server waited …".
func heldOpenText(f *record.Finding) string {
	text, _, _ := strings.Cut(f.Text, "; ") // without the limits of one row
	// other work; losses on the network lower no throughput
	if f.Code == "client_machine" && f.Touches("requests_per_s") {
		return "this machine is too busy to decide: " + text
	}
	return f.Code + " leaves the probes undecided: " + text
}

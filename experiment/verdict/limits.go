package verdict

import (
	"fmt"
	"strings"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// nameLimits adds to each caution the limits on what it touches. A PASS or a FAIL holds at both ends of its effects.
func (e *Measured) nameLimits() {
	for i := range e.Findings {
		f := &e.Findings[i]
		if f.Severity != record.Caution {
			continue
		}
		if text := limitsText(f, e.SLO); text != "" {
			f.Text += "; " + text
		}
	}
}

func limitsText(f *record.Finding, verdicts []record.Verdict) string {
	var touched, open []string // limits, keys
	undecided := false
	for _, v := range verdicts {
		if !f.Touches(record.TouchedMetric(v.Metric)) {
			continue
		}
		name := strings.TrimSpace(v.Class + " " + v.Metric)
		touched = append(touched, fmt.Sprintf("%s limit %s", name, unit.Exactly(v.Limit, v.Unit)))
		if v.Verdict == stats.Undecided {
			undecided = true
			if v.WasOpenedBy(f) {
				open = append(open, name)
			}
		}
	}
	switch {
	case len(open) > 0:
		return strings.Join(open, ", ") + " UNDECIDED because of it"
	case len(touched) == 0:
		return ""
	case undecided:
		return "can affect " + strings.Join(touched, ", ")
	case len(touched) == 1:
		return touched[0] + ": verdict unaffected"
	}
	return strings.Join(touched, ", ") + ": verdicts unaffected"
}

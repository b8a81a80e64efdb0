package series

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"bench/experiment/record"
	"bench/experiment/unit"
)

func AddTwins(all []Series, twins []record.Twin) {
	for i := range all {
		s := &all[i]
		for j := range twins {
			if t := &twins[j]; t.Name == s.Name && t.Axis == s.Axis && slices.Equal(t.Others, s.OtherAxes) {
				s.Twin = t
				s.addDisturbed()
			}
		}
	}
}

func (s *Series) addDisturbed() {
	for _, d := range s.Twin.Disturbed {
		for i := range s.Points {
			p := &s.Points[i]
			if slices.ContainsFunc(p.Rows, func(r *record.Row) bool { return r.ID == d.Row }) {
				p.Findings = append(p.Findings, record.Finding{Code: "disturbed", Severity: record.Caution,
					Text: fmt.Sprintf("median %s %s; the twin of its neighbours has %s", strings.ToUpper(d.Metric),
						unit.Format(d.Ms, "ms"), unit.Format(d.TwinMs, "ms")),
					Hint: "the host or another client may have slowed this row: repeat it on a quiet machine",
				})
			}
		}
	}
}

// TwinText says what an answer rests on.
func TwinText(t *record.Twin) string {
	if t.Rejected != "" {
		return "rejected: " + t.Rejected
	}
	_, largest := LargestResidual(t)
	text := fmt.Sprintf("accepted, residuals up to %.0f %%", 100*largest)
	if t.Outside != "" {
		text += "; no estimate: " + t.Outside
	}
	return text
}

// ServerText is the server as the twin has it, with standard errors: "step 9.01 ± 0.05 ms, + 250 ± 3 µs a sequence".
func ServerText(t *record.Twin) string {
	part := func(value, err, scale float64, unitName string) string {
		text := unit.Brief(scale*value, 3)
		if err > 0 {
			text += " ± " + unit.Brief(scale*err, 2)
		}
		return text + " " + unitName
	}
	m, e := &t.Model, &t.Model.Errors
	text := "step " + part(m.Base, e.Base, 1e3, "ms")
	text += ", + " + part(m.PerSequence, e.PerSequence, 1e6, "µs a sequence")
	if m.PerContextToken > 0 {
		text += ", + " + part(m.PerContextToken, e.PerContextToken, 1e9, "ns a token of context")
	}
	text += ", + " + part(m.PerPrefillToken, e.PerPrefillToken, 1e6, "µs a prompt token")
	if m.FreePrefillTokens > 0 {
		text += fmt.Sprintf(" after %d", m.FreePrefillTokens)
	}
	text += ", front end " + unit.Brief(1e3*m.FrontEnd, 2) + " ms"
	if m.MaxSequences == 0 {
		return text + "; sequences at most not known: no row filled them"
	}
	return text + fmt.Sprintf("; %d sequences at most", m.MaxSequences)
}

// LargestResidual is that of the latency near the estimate that a twin misses most, and as a share of the twin's; nil:
// none.
func LargestResidual(t *record.Twin) (of *record.TwinResidual, share float64) {
	const near = 0.4 // of ln(load)
	for i, r := range t.Residuals {
		if miss := math.Abs(math.Expm1(r.Log)); miss > share && (t.Best == nil ||
			math.Abs(math.Log(r.Load / *t.Best)) <= near) {
			of, share = &t.Residuals[i], miss
		}
	}
	return of, share
}

package diagnosis

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/experiment/verdict"
)

// Estimate is the highest load that meets the SLO, by all points of the series together, and what it brings.
type Estimate struct {
	stats.Bracket          // of the load, at 95 %
	Passed        *float64 `json:"passed"` // highest load with a measured PASS; null: none

	// of a gentle search: the highest load of a probe; absent: the estimate lies between measured loads
	Extrapolated float64 `json:"extrapolated_from,omitempty"`

	Brings

	// what the estimate rests on: the twin and its residuals, or why it is rejected; empty: none was fitted
	Twin string `json:"twin"`
	// the latency near the estimate that the twin misses by far; absent: none
	TwinCaution string `json:"twin_caution,omitempty"`

	Text    string `json:"text"`    // "≈ 48/s (41–54); measured PASS up to 40/s"
	Figures string `json:"figures"` // "≈ 2,900 users who ask once a minute · 6,300 tok/s/GPU"; empty: no valid point
}

// estimate is nil without an estimate of the load or a measured PASS.
func (a *answering) estimate(m *record.Manifest) *Estimate {
	e := &Estimate{}
	if f := a.search; f != nil {
		e.Bracket = f.Bracket
	} else if b, ok := a.s.Estimate(); ok {
		e.Bracket = b
	}
	if a.Operating != nil {
		if x := requested(a.s, a.point(a.s)); !math.IsInf(x, 0) {
			e.Passed = &x
		}
	}
	if e.Low == nil || e.High == nil { // a curve does not go on beyond the loads that bound it
		e.Best = nil
	}
	// A measured PASS above the estimate: a limit that higher loads meet more easily, or loads that disagree.
	disagrees := e.Passed != nil && (e.Best != nil && *e.Passed > *e.Best || e.High != nil && *e.Passed > *e.High)
	if e.Best == nil && (e.Passed == nil || e.Low == nil && e.High == nil) || disagrees || EasierByLoad(a.s) {
		return nil
	}
	if t := a.s.Twin; t != nil {
		e.Twin, e.TwinCaution = series.TwinText(t), twinCaution(t)
	}
	if f := a.search; f != nil && e.Best != nil && f.ProbedUpTo < *e.Best {
		e.Extrapolated = f.ProbedUpTo
	}
	pass := a.PassWord()
	if a.Operating != nil && a.point(a.s).ByTwin() {
		pass += " by the twin"
	}
	e.Text = e.text(a.s.Axis, pass)
	if at := cmp.Or(e.Best, e.Passed); at != nil {
		e.Brings = *bringsAt(m, a.s, *at)
		e.Brings.atLeast = e.Best == nil
		e.Figures = e.Brings.text()
	}
	return e
}

func twinCaution(t *record.Twin) string {
	const large = 0.25 // of a latency
	r, share := series.LargestResidual(t)
	if t.Rejected != "" || share <= large {
		return ""
	}
	return fmt.Sprintf("the twin misses %s at %s by %.0f %%", verdict.LimitName(r.Metric, ""), loadText(t.Axis, r.Load),
		100*share)
}

// EasierByLoad reports whether a point misses a limit that a higher load meets more easily, or leaves it open: the SLO
// has no highest load alone. Where every point meets them, so does the estimate.
func EasierByLoad(s *series.Series) bool {
	return slices.ContainsFunc(s.Points, func(p series.Point) bool {
		return slices.ContainsFunc(p.Rows[0].SLO, func(v record.Verdict) bool {
			return experiment.Limit{Key: v.Metric}.EasierByLoad() && v.Verdict != stats.Pass
		})
	})
}

func (w *Workload) PassWord() string {
	return map[bool]string{true: "predicted", false: "measured"}[w.Predicted] + " PASS"
}

func (e *Estimate) text(axis, pass string) string {
	load := func(x float64) string { return loadText(axis, x) }
	var text string
	switch {
	case e.Best != nil:
		text = fmt.Sprintf("≈ %s (%s–%s)", load(*e.Best), unit.Brief(*e.Low, 3), unit.Brief(*e.High, 3))
		if e.Extrapolated > 0 {
			text += ", extrapolated from " + load(e.Extrapolated)
		}
	case e.Low != nil:
		text = load(*e.Low) + " or more"
	case e.High != nil:
		text = "less than " + load(*e.High)
	}
	switch {
	case e.Passed == nil && e.Best != nil: // the lead is LIKELY
		return text + "; no " + pass
	case e.Passed == nil:
		return text + ", likely; no " + pass
	}
	return text + "; " + pass + " up to " + load(*e.Passed)
}

func loadText(axis string, x float64) string {
	if axis == "concurrency" {
		return "concurrency " + unit.Count(int(x))
	}
	return unit.Brief(x, 3) + "/s"
}

package diagnosis

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"bench/experiment"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/experiment/verdict"
)

// Estimate is the highest load that meets the SLO, by all points of the series together, and what it brings. Figures
// are those of the nearest valid point; a rate's throughput and cost are scaled to the estimate.
type Estimate struct {
	stats.Bracket          // of the load, at 95 %
	Passed        *float64 `json:"passed"` // highest load with a measured PASS; null: none

	UsersPerMinute         *float64 `json:"users_once_a_minute"` // who send a request each minute; null: unknown
	OutputTokensPerS       *float64 `json:"output_tokens_per_s"`
	OutputTokensPerSPerGPU *float64 `json:"output_tokens_per_s_per_gpu"`
	USDPerMillion          *float64 `json:"usd_per_million_output_tokens"`
	RooflineShare          *float64 `json:"roofline_share"` // floor of the TPOT at this load ÷ its median

	Twin    string `json:"twin"`    // what the estimate rests on: the twin and its residuals, or why it is rejected; empty: none was fitted
	Text    string `json:"text"`    // "≈ 48/s (41–54); measured PASS up to 40/s"
	Figures string `json:"figures"` // "≈ 2,900 users who ask once a minute · 6,300 tok/s/GPU"; empty: no valid point
}

// estimate is nil without an estimate of the load or a measured PASS.
func (a *answering) estimate() *Estimate {
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
	if e.Best == nil && (e.Passed == nil || e.Low == nil && e.High == nil) || disagrees || a.easierByLoad() {
		return nil
	}
	if t := a.s.Twin; t != nil {
		e.Twin = series.TwinText(t)
	}
	e.Text = e.text(a.s.Axis)
	e.bring(a.s)
	return e
}

// easierByLoad reports whether the SLO has a limit that a higher load meets more easily: it has no highest load alone.
func (a *answering) easierByLoad() bool {
	return slices.ContainsFunc(a.s.Points, func(p series.Point) bool {
		return slices.ContainsFunc(p.Rows[0].Spec.SLO.Limits, experiment.Limit.EasierByLoad)
	})
}

func (e *Estimate) text(axis string) string {
	load := func(x float64) string {
		if axis == "concurrency" {
			return "concurrency " + unit.Count(int(x))
		}
		return unit.Brief(x, 3) + "/s"
	}
	var text string
	switch {
	case e.Best != nil:
		text = fmt.Sprintf("≈ %s (%s–%s)", load(*e.Best), unit.Brief(*e.Low, 3), unit.Brief(*e.High, 3))
	case e.Low != nil:
		text = load(*e.Low) + " or more"
	case e.High != nil:
		text = "less than " + load(*e.High)
	}
	if e.Passed == nil {
		return text + ", likely; no measured PASS"
	}
	return text + "; measured PASS up to " + load(*e.Passed)
}

// bring adds the figures at the estimate.
func (e *Estimate) bring(s *series.Series) {
	at := e.Best
	if at == nil {
		at = e.Passed
	}
	if at == nil {
		return
	}
	p := nearest(s, *at)
	if p == nil {
		return
	}
	scale := 1.0
	if done := p.RequestsPerS.Median; s.Axis == "rate" && done > 0 {
		scale = *at / done
	}
	times := func(x float64) *float64 { x *= scale; return &x }
	e.UsersPerMinute, e.OutputTokensPerS = times(60*p.RequestsPerS.Median), times(p.OutputTokensPerS.Median)
	if g := p.OutputTokensPerSPerGPU; g != nil {
		e.OutputTokensPerSPerGPU = times(g.Median)
	}
	if hour := hourUSD(s); hour > 0 && *e.OutputTokensPerS > 0 {
		usd := hour / (3600 * *e.OutputTokensPerS) * 1e6
		e.USDPerMillion = &usd
	}
	if r := p.Rows[0].Roofline; r != nil && p.Rows[0].Summary.TPOT != nil && p.Rows[0].Summary.TPOT.P50 > 0 {
		floor := r.TPOT.FloorMs
		if r.Loaded != nil {
			floor = r.Loaded.FloorMs
		}
		share := floor / p.Rows[0].Summary.TPOT.P50
		e.RooflineShare = &share
	}
	e.Figures = e.figures()
}

// hourUSD is the price of an hour of all GPUs; 0 = not specified.
func hourUSD(s *series.Series) float64 {
	for i := range s.Points {
		for _, r := range s.Points[i].Rows {
			if r.Cost != nil {
				return r.Cost.HourUSD
			}
		}
	}
	return 0
}

func nearest(s *series.Series, load float64) (best *series.Point) {
	least := math.Inf(1)
	for i := range s.Points {
		p := &s.Points[i]
		if d := math.Abs(math.Log(requested(s, p) / load)); p.Valid && p.RequestsPerS.Median > 0 && d < least {
			least, best = d, p
		}
	}
	return best
}

func (e *Estimate) figures() string {
	var out []string
	if u := e.UsersPerMinute; u != nil {
		out = append(out, fmt.Sprintf("≈ %s users who ask once a minute", unit.Count(int(twoDigits(*u)))))
	}
	if g := e.OutputTokensPerSPerGPU; g != nil {
		out = append(out, unit.Digits(*g)+" tok/s/GPU")
	} else if x := e.OutputTokensPerS; x != nil {
		out = append(out, unit.Digits(*x)+" output tok/s")
	}
	if c := e.USDPerMillion; c != nil {
		out = append(out, unit.Digits(*c)+verdict.PerMillion)
	}
	if r := e.RooflineShare; r != nil {
		out = append(out, fmt.Sprintf("%.0f %% of the roofline", 100**r))
	}
	return strings.Join(out, " · ")
}

func twoDigits(x float64) float64 {
	if x < 10 {
		return math.Round(x)
	}
	step := math.Pow(10, math.Floor(math.Log10(x))-1)
	return math.Round(x/step) * step
}

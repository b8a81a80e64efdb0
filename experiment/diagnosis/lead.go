package diagnosis

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/experiment/verdict"
)

func (a *answering) ship(m *record.Manifest, operating int) {
	p := &a.s.Points[operating]
	a.Verdict, a.Lead = stats.Pass, LeadShip
	a.quote(operating)
	a.Text = a.extent(operating)
	a.Points[operating] = PointStatus{Status: Ship}
	a.Operating = operatingPoint(m, a.s, p)
	end := a.firstMiss(operating + 1)
	if end < len(a.s.Points) {
		a.Limit = a.limitAt(end)
	}
	if open := a.unknown(operating+1, end); open >= 0 {
		a.Text += "; " + a.s.Points[open].Load + " is " + a.Points[open].Text
		if a.Next = a.decideAt(open); a.Points[open].Status == Open && verdict.Beyond(worst(&a.s.Points[open])) {
			a.Next = a.moreLoads(operating, open) // it looks slow: the limit is below it
		}
	}
	switch {
	case a.Limit != nil:
		a.Text += "; " + a.Limit.Text
	case a.unfinished:
		a.Text += "; planned loads have no result"
	case len(a.s.Points) == 1:
		a.Text += ", the only load"
	case operating == len(a.s.Points)-1:
		a.Text += ", the highest load measured"
	}
	below := a.unknown(0, operating)
	if below >= 0 {
		a.Text += fmt.Sprintf("; %s below it is %s", a.s.Points[below].Load, a.Points[below].Status)
	}
	switch {
	case a.unfinished:
		a.Next = resume()
	case a.Next != nil:
	case below >= 0 && a.Limit == nil:
		a.Next = a.decideAt(below)
	default:
		if a.Next = a.repair(end); a.Next == nil {
			a.Next = a.moreLoads(operating, end)
		}
	}
}

// Baseline reports whether a series is one user in a closed loop, or a class of a mix alone: its latencies are the
// lowest that the server has, and no load to ship. A comparison of settings of the server keeps its best one.
func Baseline(s *series.Series) bool {
	_, setting, ofServer := settingOf(s)
	first := &s.Points[0].Rows[0].Spec
	return first.Alone != "" || s.Closed && len(s.Points) == 1 && first.Concurrency == 1 && first.Search == nil &&
		!first.IsColdStart() && !(ofServer && setting != "")
}

func (a *answering) baseline() {
	a.Lead, a.Text = LeadBaseline, "a single user meets the SLO: what the healthy server does, not a load to ship"
	if alone := a.s.Points[0].Rows[0].Spec.Alone; alone != "" {
		a.Text = "class " + alone + " alone meets the SLO: what the others are compared with, not a load to ship"
	}
	a.Points[a.Quoted].Status = Meets
	if !a.unfinished { // else it says how to resume
		a.Next = nil
	}
}

// saturation answers a search for the highest rate that the server keeps up with: no limit of the SLO has a say.
func (a *answering) saturation(f *record.Found) {
	a.measured()
	a.Text, a.Next = strings.TrimPrefix(f.Text, a.Name+": "), a.nextOfSearch(f)
}

func (a *answering) extent(operating int) string {
	first := operating
	for first > 0 && a.Points[first-1].Status == Meets {
		first--
	}
	switch {
	case first == operating:
		return "SLO met at " + a.Load
	case first == 0:
		return "SLO met up to " + a.Load
	}
	return fmt.Sprintf("SLO met from %s to %s", a.s.Points[first].Load, a.Load)
}

func (a *answering) firstMiss(from int) int {
	for j := from; j < len(a.s.Points); j++ {
		if a.Points[j].Status == Misses && a.s.Points[j].FailsByLoad() {
			return j
		}
	}
	return len(a.s.Points)
}

func (a *answering) unknown(from, to int) int {
	for _, s := range []Status{Open, Invalid} {
		if j := slices.IndexFunc(a.Points[from:max(from, to)],
			func(p PointStatus) bool { return p.Status == s }); j >= 0 {
			return from + j
		}
	}
	return -1
}

func (a *answering) measured() {
	a.Quoted = *a.s.Headline
	p := &a.s.Points[a.Quoted]
	a.Lead, a.Load = LeadMeasured, p.Load
	a.Text = "no SLO is specified"
	if len(a.s.Points) > 1 {
		a.Text += "; highest output tok/s at " + p.Load
	}
	if invalid := a.unknown(0, len(a.Points)); invalid >= 0 {
		a.Text += "; " + a.s.Points[invalid].Load + " is " + a.Points[invalid].Text
		a.Next = a.decideAt(invalid)
		return
	}
	a.Next = &NextSweep{Variable: "[slo]", Values: []string{}, TOML: "[slo]\nttft_p95 = \"1s\"",
		Why: "no SLO is specified", Text: `add [slo] with ttft_p95 = "1s"`}
}

func (a *answering) withhold() {
	a.Verdict, a.Lead = stats.Undecided, LeadNotYet
	end := a.firstMiss(0)
	missed := end
	if missed == len(a.s.Points) { // what a higher load meets more easily the highest one misses least
		missed = -1
		for j, p := range a.Points {
			if p.Status == Misses {
				missed = j
			}
		}
	}
	if missed >= 0 {
		a.Limit = a.limitAt(missed)
	}
	meets := slices.IndexFunc(a.Points, func(p PointStatus) bool { return p.Status == Meets })
	fine := -1
	for j := range a.Points[:end] {
		if a.Points[j].Status == Open && looksFine(&a.s.Points[j]) {
			fine = j
		}
	}
	unknown := a.unknown(0, end)
	switch {
	case fine >= 0:
		a.quote(fine)
		p := &a.s.Points[fine]
		a.Text = fmt.Sprintf("%s looks fine on %s; about %s more decide it", a.Load,
			unit.Plural(worst(p).Observed, "request"), unit.Count(p.Need))
		a.Next = a.decideAt(fine)
	case unknown >= 0:
		a.quote(unknown)
		a.Text = a.Load + " is " + a.Points[unknown].Text
		if missed >= 0 && a.Points[unknown].Status == Invalid { // the valid point first
			a.quote(missed)
			a.Text = a.Limit.Text + "; " + a.Text
		}
		a.Next = a.decideAt(unknown)
	case meets >= 0:
		a.quote(meets)
		a.Text = a.Load + " meets the SLO"
		if a.Limit != nil && a.Limit.Point != meets {
			a.Text += ", but " + a.Limit.Text
		}
		a.Next = byHand("repeat the row", "loads disagree: repeat the row")
	case a.unfinished:
		a.quote(missed)
		a.Text = a.Limit.Text + "; planned loads have no result"
		a.Next = resume()
	default:
		a.quote(missed)
		a.Verdict, a.Lead, a.Text = stats.Fail, LeadNone, a.Limit.Text
		if len(a.s.Points) > 1 && missed == 0 && a.s.Points[0].FailsByLoad() {
			a.Text = "even " + a.Text
		}
		if a.Next = a.between(missed); a.Next == nil {
			a.Next = a.change()
		}
	}
}

// between is for a load that fails above one that misses what more load meets, such as a price; nil: it is not so.
func (a *answering) between(missed int) *NextSweep {
	if missed == 0 || !a.s.Points[missed].FailsByLoad() || a.Points[missed-1].Status != Misses {
		return nil
	}
	a.Text = a.s.Points[missed-1].Load + " " + a.Points[missed-1].Text + "; " + a.Text
	low, high := requested(a.s, &a.s.Points[missed-1]), requested(a.s, &a.s.Points[missed])
	easier := slices.ContainsFunc(a.s.Points[missed].Limits, func(v record.Verdict) bool {
		return v.Verdict == stats.Fail && experiment.Limit{Key: v.Metric}.EasierByLoad()
	})
	step := math.Pow(high/low, 0.25)
	n := a.loads("a lower load misses what a higher one meets: try between", low*step, low*step*step, high/step)
	if easier || math.IsInf(high, 1) || n == nil {
		return byHand("[slo]", "no load meets both limits: change one, the server's settings or its hardware")
	}
	return n
}

func (a *answering) observed(m *record.Manifest) {
	a.Next = nil
	switch a.Lead {
	case LeadShip:
		a.Lead, a.Text = LeadMet, "SLO met at "+a.Load
	case LeadNone:
		a.Lead = leadMissed
	case LeadMeasured:
		a.Next = &NextSweep{Text: fmt.Sprintf("bench report %s --slo ttft_p95=1s", m.Run), Variable: "--slo",
			Values: []string{}, Why: a.Text}
	}
}

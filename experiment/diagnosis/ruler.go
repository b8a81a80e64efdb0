package diagnosis

import (
	"fmt"
	"math"

	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/unit"
)

// Ruler is the loads of a workload on one line from 0, by what is known of them, and what the best load brings.
type Ruler struct {
	End   float64     `json:"end"`   // of the line
	Parts []RulerPart `json:"parts"` // side by side
	// that the figures are of: "≈ 48/s", "rate 45/s"; empty: no load is known to meet the SLO
	Load    string `json:"load"`
	Figures []Fact `json:"figures"` // users, GPUs, cost and share of the roofline at that load
}

// RulerPart is from the end of the part before it, or 0: meets, likely, undecided or misses.
type RulerPart struct {
	To     float64 `json:"to"`
	Status Status  `json:"status"`
}

// newRuler is nil for one load without an estimate.
func (a *answering) newRuler(m *record.Manifest) *Ruler {
	n, last := 0, 0.0 // loads, which ascend
	for i := range a.s.Points {
		if x, ok := RulerLoad(a.s, &a.s.Points[i]); ok {
			n, last = n+1, x
		}
	}
	if a.Verdict == "" || n == 0 || n < 2 && a.Estimate == nil {
		return nil
	}
	first, passed, likely, missed := a.known()
	if e := a.Estimate; e != nil && e.Best != nil {
		likely, last = *e.Best, max(last, *e.High)
	}
	r := &Ruler{End: rulerEnd * last}
	if EasierByLoad(a.s) { // a PASS shows nothing of the loads below it
		below := Open
		for j := range a.Points {
			if a.Points[j].Status == Misses && requested(a.s, &a.s.Points[j]) < first {
				below = Misses
			}
		}
		r.upTo(first, below)
	}
	r.upTo(passed, Meets)
	r.upTo(min(likely, missed), Likely)
	r.upTo(min(missed, r.End), Open)
	r.upTo(r.End, Misses)
	r.bring(m, a, passed)
	return r
}

// known are the lowest and the highest load with a PASS below the first that misses the SLO, the highest one there that
// is likely to meet it, and that first one; 0 or +Inf: none.
func (a *answering) known() (first, passed, likely, missed float64) {
	end := a.firstMiss(0)
	missed = math.Inf(1)
	if end < len(a.s.Points) {
		missed = requested(a.s, &a.s.Points[end])
	}
	for j := range a.Points[:end] {
		load, ok := RulerLoad(a.s, &a.s.Points[j])
		switch status := a.Points[j].Status; {
		case !ok:
		case status == Ship || status == Meets:
			if passed = load; first == 0 {
				first = load
			}
		case status == Open && looksFine(&a.s.Points[j]):
			likely = load
		}
	}
	return first, passed, likely, missed
}

const rulerEnd = 1.08 // of the highest load: beyond it nothing is known

func (r *Ruler) upTo(load float64, status Status) {
	from := 0.0
	if n := len(r.Parts); n > 0 {
		from = r.Parts[n-1].To
	}
	if load > from && !math.IsInf(load, 1) {
		r.Parts = append(r.Parts, RulerPart{load, status})
	}
}

func (r *Ruler) bring(m *record.Manifest, a *answering, passed float64) {
	at := passed
	switch e := a.Estimate; {
	case e != nil && e.Best != nil:
		at, r.Load = *e.Best, "≈ "+loadText(a.s.Axis, *e.Best)
	case passed > 0:
		r.Load = loadText(a.s.Axis, passed)
	default:
		return
	}
	add := func(name, value string) { r.Figures = append(r.Figures, Fact{Name: name, Value: value}) }
	b := bringsAt(m, a.s, at)
	about, most := "≈ ", ""
	if a.Estimate != nil && a.Estimate.Best == nil {
		about, most = "≥ ", "≤ "
	}
	if b.UsersPerMinute != nil {
		add("users, 1 request a minute each", about+UsersText(*b.UsersPerMinute))
	}
	if b.UsersPerKW != nil {
		add("users per kW", "≈ "+UsersText(*b.UsersPerKW))
		add("J per output token", unit.Digits(*b.EnergyPerToken))
	}
	if t := m.Target; t.GPUs > 0 {
		add(gpusName(m), unit.Count(t.GPUs))
	}
	if b.USDPerMillion != nil {
		add("USD/M output tokens", most+unit.Digits(*b.USDPerMillion))
	}
	if b.RooflineShare != nil {
		name := "TPOT floor ÷ TPOT"
		if b.sharedAt != "" {
			name += ", at " + b.sharedAt
		}
		add(name, fmt.Sprintf("%.0f %%", 100**b.RooflineShare))
	}
}

// PriceText is "3.50 USD/h", of a GPU; empty: the matrix has no price, or no hardware.
func PriceText(m *record.Manifest) string {
	if m.GPUHourUSD == nil || m.Target.Hardware == "" {
		return ""
	}
	return unit.Digits(*m.GPUHourUSD) + " USD/h"
}

// gpusName is "GPU (h100-sxm, 3.50 USD/h)".
func gpusName(m *record.Manifest) string {
	name := "GPUs"
	if m.Target.GPUs == 1 {
		name = "GPU"
	}
	if price := PriceText(m); price != "" {
		return fmt.Sprintf("%s (%s, %s)", name, m.Target.Hardware, price)
	}
	if m.Target.Hardware != "" {
		name += " (" + m.Target.Hardware + ")"
	}
	return name
}

// RulerLoad is the place of a point on the ruler; false: it has none.
func RulerLoad(s *series.Series, p *series.Point) (load float64, ok bool) {
	load = requested(s, p)
	return load, load > 0 && !math.IsInf(load, 1) && !p.Rows[0].Spec.IsColdStart()
}

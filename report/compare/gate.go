package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"bench/experiment"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// Outcome is the verdict of the gate on the whole comparison.
type Outcome struct {
	Verdict stats.Verdict `json:"verdict"` // FAIL if a case fails; else UNDECIDED if one is; else PASS
	Passes  bool          `json:"passes"`  // PASS, or UNDECIDED with UndecidedPasses
	Cases   []Case        `json:"cases"`

	UndecidedPasses bool `json:"undecided_passes"` // Options.UndecidedPasses
}

// Case is one gated figure of one point, or of one class of its mix.
type Case struct {
	Point   string        `json:"point"`           // empty: the whole comparison
	Class   string        `json:"class,omitempty"` // of a mix; empty: all requests
	Metric  string        `json:"metric"`
	Verdict stats.Verdict `json:"verdict"`
	Why     string        `json:"why"`
}

// Where is the point with its class: "F-production rate=4 (class chat)"; empty for the whole comparison.
func (x Case) Where() string {
	if x.Class == "" {
		return x.Point
	}
	return x.Point + " (class " + x.Class + ")"
}

// outcome judges every gated figure: a regression is both significant and larger than its threshold. A figure
// that was not compared is UNDECIDED, never PASS.
func (c *Comparison) outcome(o Options) *Outcome {
	out := &Outcome{Verdict: stats.Pass, Cases: []Case{}, UndecidedPasses: o.UndecidedPasses}
	add := func(x Case) {
		out.Cases = append(out.Cases, x)
		if x.Verdict == stats.Fail || out.Verdict == stats.Pass {
			out.Verdict = x.Verdict
		}
	}
	undecided := func(point, metric, why string) {
		add(Case{Point: point, Metric: metric, Verdict: stats.Undecided, Why: why})
	}
	if c.Refused {
		undecided("", "", "the sides are not comparable")
	}
	for i := range c.Points {
		p := &c.Points[i]
		if p.Refused {
			undecided(p.Name, "", "the workloads differ")
		}
		for _, x := range p.gate() {
			add(x)
		}
	}
	for _, name := range c.Missing {
		why := "the point is missing in new"
		if reason := c.Skipped[name]; reason != "" {
			why = "skipped in new: " + reason
		}
		undecided(name, "", why)
	}
	c.unmeasured(o.Gate, undecided)
	out.Passes = out.Verdict == stats.Pass || out.Verdict == stats.Undecided && o.UndecidedPasses
	return out
}

// gate judges a point's gated figures, then those of each class: a threshold applies to all requests and to
// each class.
func (p *Point) gate() (out []Case) {
	add := func(class string, metrics []Metric) {
		for i := range metrics {
			if m := &metrics[i]; m.Threshold != nil {
				verdict, why := m.gate(p)
				m.Gate = verdict
				out = append(out, Case{p.Name, class, m.Name, verdict, why})
			}
		}
	}
	add("", p.Metrics)
	for _, c := range p.Classes {
		add(c.Name, c.Metrics)
	}
	return out
}

// unmeasured adds an undecided case for each threshold whose figure no point has: it is a mistake, not a
// pass.
func (c *Comparison) unmeasured(g experiment.Gate, undecided func(point, metric, why string)) {
	if c.Refused {
		return
	}
	measured := map[string]bool{}
	c.each(func(m *Metric) { measured[m.Name] = true })
	for _, t := range g.Thresholds {
		if !measured[t.Metric] {
			undecided("", t.Metric, "no point has this figure")
		}
	}
}

// gate is the verdict on one figure, and why.
func (m *Metric) gate(p *Point) (stats.Verdict, string) {
	limit := m.Threshold.String()
	bad := slices.IndexFunc(p.Invalid, func(x Invalid) bool { return !x.LeftOut })
	switch {
	case bad >= 0:
		x := p.Invalid[bad]
		return stats.Undecided, fmt.Sprintf("row %s of %s is invalid: %s", x.Row, x.Run, strings.Join(x.Codes, ", "))
	case m.Verdict == Worse && worse(m.Name, *m.Change) > m.Threshold.Worse:
		return stats.Fail, fmt.Sprintf("worse by more than %s: %s%s", limit, m.Describe(), p.newCautions())
	case m.Verdict != Inconclusive:
		return stats.Pass, m.Describe()
	case m.P != nil && max(worse(m.Name, m.CI95.Lo), worse(m.Name, m.CI95.Hi)) < m.Threshold.Worse:
		return stats.Pass, "not worse than " + limit + ": " + m.Describe()
	}
	return stats.Undecided, m.Describe()
}

// newCautions are the codes of the cautions of new, which can be why a figure is worse; empty: there are none.
func (p *Point) newCautions() string {
	var codes []string
	for _, c := range p.Cautions {
		for _, code := range c.Codes {
			if c.New && !slices.Contains(codes, code) {
				codes = append(codes, code)
			}
		}
	}
	if len(codes) == 0 {
		return ""
	}
	return "; cautions of new: " + strings.Join(codes, ", ")
}

// Describe is a figure's verdict as text: "worse by 6.2 % (3.9 to 8.5 %, p=0.008)".
func (m *Metric) Describe() string {
	switch {
	case m.Verdict == Inconclusive && m.Change == nil:
		return "inconclusive: " + m.Why
	case m.Verdict == Inconclusive:
		s := fmt.Sprintf("inconclusive: %s (%s)", m.percent(), m.interval())
		if m.P != nil && *m.P <= risk {
			s += ", " + m.Why
		}
		if m.NeedForChange > 0 {
			s += fmt.Sprintf(", needs %s repeats per side to detect a change this large", unit.Count(m.NeedForChange))
		}
		if m.NeedRepeats > 0 {
			s += fmt.Sprintf(", needs %s repeats per side to detect %s", unit.Count(m.NeedRepeats), unit.Exactly(m.Margin, "share"))
		}
		return s
	case m.Verdict == NoChange:
		return fmt.Sprintf("no change within %s (%s)", Percent(m.NoChangeWithin, false), m.interval())
	}
	return fmt.Sprintf("%s by %s (%s, p=%s)", m.Verdict, m.percent(), m.interval(), unit.Digits(*m.Adjusted))
}

func (m *Metric) percent() string { return Percent(*m.Change, true) }

func (m *Metric) interval() string {
	return Percent(m.CI95.Lo, true) + " to " + Percent(m.CI95.Hi, true)
}

// Percent formats a share in percent, with a + if signed; "unbounded" for an infinite one.
func Percent(share float64, signed bool) string {
	if math.IsInf(share, 0) {
		return "unbounded"
	}
	s := unit.Digits(100*share) + " %"
	if signed && share > 0 {
		s = "+" + s
	}
	return s
}

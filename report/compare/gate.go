package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"bench/experiment"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

type Outcome struct {
	Verdict stats.Verdict `json:"verdict"` // FAIL if a case fails; else UNDECIDED if one is; else PASS
	// PASS, UNDECIDED with UndecidedPasses, or a FAIL of which every regression is known since an earlier run
	Passes bool   `json:"passes"`
	Cases  []Case `json:"cases"`

	UndecidedPasses bool `json:"undecided_passes"` // Options.UndecidedPasses
}

type Case struct {
	Point   string        `json:"point"`           // empty: the whole comparison
	Class   string        `json:"class,omitempty"` // of a mix; empty: all requests
	Metric  string        `json:"metric"`
	Verdict stats.Verdict `json:"verdict"`
	Why     string        `json:"why"`
	// Suspected marks an UNDECIDED figure that is worse only with rows that are invalid for it, one that new lost, and
	// sides that are not comparable. UndecidedPasses does not pass it.
	Suspected bool `json:"suspected,omitempty"`
	// Invalid are the codes of the findings that make every row of new invalid; absent = one is valid.
	Invalid []string `json:"invalid,omitempty"`
	// Failed marks an UNDECIDED case of which new has no measurement, as its requests or its row failed: an error in
	// JUnit also if the gate passes, as the exit code of the sweep is.
	Failed bool     `json:"failed,omitempty"`
	Change *float64 `json:"change,omitempty"` // as in Metric; absent = not compared
	// the first run whose gate had this regression, if it is not decided to be over; absent = new, or none
	Since string `json:"known_since,omitempty"`
	// SinceAt is the night in which the change began; zero = new, or none.
	SinceAt time.Time `json:"since_at,omitzero"`
	// Changed is what else changed in that night or a neighbour.
	Changed []Suspect `json:"changed_then,omitempty"`

	// Alarm is the change over several nights that fails the case; absent = last night alone does, or none.
	Alarm *Alarm `json:"alarm,omitempty"`

	of    *Metric // nil: of no single figure
	began string  // the run in which it began, if that is an earlier one; empty: new is
}

// Better reports whether the figure is better by more than its threshold.
func (x Case) Better() bool {
	return x.of != nil && x.Change != nil && WorseBy(x.Metric, *x.Change) < -x.of.Threshold.Worse
}

// Where is the point with its class: "F-production rate=4 (class chat)"; empty for the whole comparison.
func (x Case) Where() string { return OfClass(x.Point, x.Class) }

// OfClass names a point, or a class of its mix: "B (class chat)"; an empty class is all requests.
func OfClass(point, class string) string {
	if class == "" {
		return point
	}
	return point + " (class " + class + ")"
}

func (x Case) Reason() string {
	switch {
	case x.Since == "":
		return x.Why
	case x.Verdict == stats.Undecided:
		return "regression since " + x.Since + " still open: " + x.Why
	}
	return "known since " + x.Since + ": " + x.Why
}

// outcome: a regression is both significant and larger than its threshold. Not compared: UNDECIDED, never PASS.
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
	points := c.Points
	if c.Refused {
		add(Case{Verdict: stats.Undecided, Why: "the sides are not comparable", Suspected: true})
		points = nil
	}
	for i := range points {
		if p := &points[i]; p.Refused {
			undecided(p.Name, "", "the workloads differ")
		} else {
			p.gate(add)
		}
	}
	for _, name := range c.Missing {
		if why := c.Unmeasured[name]; why != "" { // else the matrix of new lacks the point
			add(Case{Point: name, Verdict: stats.Undecided, Why: why, Failed: !strings.HasPrefix(why, skippedInNew)})
		}
	}
	if !c.Refused {
		c.unknownFigures(o.Gate, undecided)
	}
	out.setPasses()
	return out
}

func (o *Outcome) Blocks(x Case) bool {
	switch x.Verdict {
	case stats.Pass:
		return false
	case stats.Undecided:
		return !o.UndecidedPasses || x.Suspected
	}
	return x.Since == ""
}

func (o *Outcome) setPasses() { o.Passes = !slices.ContainsFunc(o.Cases, o.Blocks) }

// gate judges all requests, then each class: a threshold applies to both.
func (p *Point) gate(add func(Case)) {
	p.Each(func(class string, m *Metric) {
		if m.Threshold == nil {
			return
		}
		x := m.gate(p)
		x.Point, x.Class, x.Metric, x.Change, x.of = p.Name, class, m.Name, m.Change, m
		m.Gate = x.Verdict
		add(x)
	})
}

// unknownFigures: a threshold whose figure no point has is a mistake, not a pass.
func (c *Comparison) unknownFigures(g experiment.Gate, undecided func(point, metric, why string)) {
	measured := map[string]bool{}
	c.each(func(m *Metric) { measured[m.Name] = true })
	for _, t := range g.Thresholds {
		if !measured[t.Metric] {
			undecided("", t.Metric, "no point has this figure")
		}
	}
}

// Describe is a figure's verdict as text: "worse by 6.2 % (3.9 to 8.5 %, p=0.008)".
func (m *Metric) Describe() string {
	switch {
	case m.Verdict == Inconclusive && m.Change == nil:
		return "inconclusive: " + m.Why
	case m.Verdict == Inconclusive:
		s := fmt.Sprintf("inconclusive: %s (%s)", m.percent(), m.interval())
		if m.P != nil && *m.P <= Risk {
			s += ", " + m.Why
		}
		if m.NeedForChange > 0 {
			s += fmt.Sprintf(", needs %s to detect a change this large", m.Needed(m.NeedForChange, " per side"))
		}
		if m.NeedRuns > 0 {
			s += fmt.Sprintf(", needs %s to detect %s", m.Needed(m.NeedRuns, " per side"),
				unit.Exactly(m.Margin, "share"))
		}
		return s
	case m.Verdict == NoChange:
		return fmt.Sprintf("no change within %s (%s)", Percent(m.NoChangeWithin, false), m.interval())
	}
	return fmt.Sprintf("%s by %s (%s, p=%s)", m.Verdict, m.percent(), m.interval(), unit.Digits(*m.Adjusted))
}

// Needed is a number of runs, with side behind it, or of pairs of repeats.
func (m *Metric) Needed(n int, side string) string {
	if m.Test == ByPairs {
		return unit.Plural(n, "pair")
	}
	return unit.Plural(n, "run") + side
}

func (m *Metric) percent() string { return m.signed(*m.Change) }

func (m *Metric) interval() string { return m.signed(m.CI95.Lo) + " to " + m.signed(m.CI95.Hi) }

func (m *Metric) signed(change float64) string {
	s := Percent(change, true)
	if m.figure.absolute() {
		s = strings.Replace(s, " %", " points", 1)
	}
	return s
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

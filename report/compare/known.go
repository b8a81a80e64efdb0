package compare

import (
	"cmp"
	"path/filepath"
	"slices"

	"bench/experiment/stats"
)

const SchemaGate = "bench/gate/v1"

// GateRecord is gate.json in a run's directory: what the gate of bench compare --base found. A run whose gate
// was FAIL is no base of later ones; without the file it is one.
type GateRecord struct {
	Schema      string        `json:"schema"`
	Run         string        `json:"run"`
	BaseRuns    []string      `json:"base_runs"` // empty: new base
	Verdict     stats.Verdict `json:"verdict"`
	Regressions []Regression  `json:"regressions"`
	Undecided   []GatedFigure `json:"undecided"`
	// RegressedSince is the first run with a regression that this run's gate could not decide: a run with it
	// is no base either. Absent = none is open.
	RegressedSince string `json:"regressed_since,omitempty"`
	// Disturbed marks a run of which the repeats of a gated figure scatter far more than those of earlier runs. It is
	// no base, unless the next run scatters too: its noise would hide a regression.
	Disturbed bool `json:"disturbed,omitempty"`
	// Beyond are undecided figures of a disturbed run that are worse by more than the threshold. Such a run is no base.
	// A figure that the next run has here too is a regression: of a server that has become slow and unsteady.
	Beyond []GatedFigure `json:"beyond,omitempty"`
	// Accepted marks a run whose level is accepted: it begins a new base, and what gates found before is over.
	Accepted bool `json:"accepted,omitempty"`
	// Line is the comparison's answer in one sentence: "FAIL: TPOT p50 +8.0 % [+6.1, +9.9] since 14 Nov, …".
	Line string `json:"line,omitempty"`
}

// GatedFigure is a figure of a point. An empty field stands for any: a point without a row has no figure.
type GatedFigure struct {
	Point  string `json:"point"`
	Class  string `json:"class,omitempty"`
	Metric string `json:"metric"`
}

type Regression struct {
	GatedFigure
	Change *float64 `json:"change"` // relative to base; of a share, the difference; null: not known
	Since  string   `json:"since"`  // the first run whose gate had it
}

func (x Case) figure() GatedFigure { return GatedFigure{x.Point, x.Class, x.Metric} }

func (f GatedFigure) includes(x GatedFigure) bool {
	is := func(have, want string) bool { return have == "" || have == want }
	return is(f.Point, x.Point) && is(f.Class, x.Class) && is(f.Metric, x.Metric)
}

// known is a regression that earlier runs had without a run since in which the figure was measured and passed:
// Since is the first of them, Change that of the first whose record there is. nil: the latest such run passed, or
// none is gated. The latest record is first.
func known(gates []GateRecord, x GatedFigure) (found *Regression) {
	for _, g := range gates {
		i := slices.IndexFunc(g.Regressions, func(r Regression) bool { return x.includes(r.GatedFigure) })
		switch {
		case i >= 0:
			r := g.Regressions[i]
			r.Since = cmp.Or(r.Since, g.Run)
			if found != nil && found.Since != r.Since {
				return found
			}
			found = &r
		case !slices.ContainsFunc(g.Undecided, func(u GatedFigure) bool { return u.includes(x) }):
			return found
		}
	}
	return found
}

// knownSince is empty if it is new, also if it is worse than the known one by more than the threshold.
func (x Case) knownSince(gates []GateRecord) string {
	r := known(gates, x.figure())
	if r == nil || x.Verdict == stats.Fail && r.Change != nil && WorseBy(x.Metric, *x.Change) > WorseBy(x.Metric, *r.Change)+x.of.Threshold.Worse {
		return ""
	}
	return r.Since
}

// markKnown; passes: the gate passes if all regressions are known, and nothing else keeps it from it.
func (c *Comparison) markKnown(gates []GateRecord, passes bool) {
	if c.Gate == nil {
		return
	}
	c.Gate.KnownPasses = passes
	c.failUnsteady(gates)
	news, open := 0, 0
	for i := range c.Gate.Cases {
		x := &c.Gate.Cases[i]
		if x.Verdict == stats.Pass {
			continue
		}
		x.Since = x.knownSince(gates)
		switch {
		case x.Verdict == stats.Undecided:
			open++
		case x.Since == "":
			news++
		}
	}
	if c.Gate.Verdict == stats.Fail && passes {
		c.Gate.Passes = news == 0 && (open == 0 || c.Gate.UndecidedPasses && !c.Gate.suspects())
	}
}

// beyond reports whether an undecided figure of a disturbed run is worse by more than its threshold.
func (x *Case) beyond() bool {
	return x.Verdict == stats.Undecided && x.of != nil && x.of.contrast.Disturbed && x.Change != nil &&
		WorseBy(x.Metric, *x.Change) > x.of.Threshold.Worse
}

// failUnsteady fails what is beyond the threshold in this run and in the one before, where no single run decides.
func (c *Comparison) failUnsteady(gates []GateRecord) {
	for i := range c.Gate.Cases {
		x := &c.Gate.Cases[i]
		if len(gates) == 0 || !x.beyond() || !slices.Contains(gates[0].Beyond, x.figure()) {
			continue
		}
		x.Verdict, x.of.Gate = stats.Fail, stats.Fail
		x.Why = "worse by more than " + x.of.Threshold.String() + " in two runs in a row whose repeats scatter: " + x.of.Describe()
		c.Gate.Verdict, c.Gate.Passes = stats.Fail, false
	}
}

func (c *Comparison) Record(run string) *GateRecord {
	if c.Gate == nil {
		return nil
	}
	g := &GateRecord{Schema: SchemaGate, Run: run, BaseRuns: []string{}, Verdict: c.Gate.Verdict,
		Regressions: []Regression{}, Undecided: []GatedFigure{}}
	for _, r := range c.BaseRuns {
		g.BaseRuns = append(g.BaseRuns, filepath.Base(r.Name))
	}
	for _, x := range c.Gate.Cases {
		switch x.Verdict {
		case stats.Fail:
			g.Regressions = append(g.Regressions, Regression{x.figure(), x.Change, cmp.Or(x.Since, run)})
		case stats.Undecided:
			g.Undecided = append(g.Undecided, x.figure())
			if x.beyond() {
				g.Beyond = append(g.Beyond, x.figure())
			}
			g.RegressedSince = cmp.Or(g.RegressedSince, x.Since)
		}
	}
	c.each(func(m *Metric) { g.Disturbed = g.Disturbed || m.Threshold != nil && m.contrast.Disturbed })
	return g
}

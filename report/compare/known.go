package compare

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bench/experiment"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

const SchemaGate = "bench/gate/v1"

// GateRecord is gate.json in a run's directory: what the gate of bench compare --base found. Without the file a run is
// a base of later ones.
type GateRecord struct {
	Schema      string        `json:"schema"`
	Run         string        `json:"run"`
	BaseRuns    []string      `json:"base_runs"` // empty: new base
	Verdict     stats.Verdict `json:"verdict"`
	Regressions []Regression  `json:"regressions"`
	Undecided   []GatedFigure `json:"undecided"`
	// Held are the figures that differ by more than their threshold, for the worse or the better: of them the run is no
	// base until it is accepted.
	Held []HeldFigure `json:"held,omitempty"`
	// Accepted marks a run whose level is accepted: it begins a new base, and what gates found before is over.
	Accepted bool `json:"accepted,omitempty"`
	// Line is the comparison's answer in one sentence: "FAIL: TPOT p50 +8.0 % [+6.1, +9.9] since 14 Nov, …".
	Line string `json:"line,omitempty"`
}

type HeldFigure struct {
	GatedFigure
	Change float64 `json:"change"` // relative to base; of a share, the difference
}

// holds reports whether a figure of the run differs by more than its threshold, and is not accepted.
func (r *Run) holds(x GatedFigure) bool {
	return r.Gate != nil && !r.Gate.Accepted &&
		slices.ContainsFunc(r.Gate.Held, func(h HeldFigure) bool { return h.GatedFigure == x })
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
	// Alarm marks one that several nights show, and the night alone does not.
	Alarm bool `json:"alarm,omitempty"`
}

func (x Case) figure() GatedFigure { return GatedFigure{x.Point, x.Class, x.Metric} }

func (f GatedFigure) includes(x GatedFigure) bool {
	is := func(have, want string) bool { return have == "" || have == want }
	return is(f.Point, x.Point) && is(f.Metric, x.Metric) && (f.Metric == "" || f.Class == x.Class)
}

// known is a regression that earlier runs had without a run since in which the figure was measured and passed:
// Since is the first of them, Change that of the first whose record there is. nil: the latest such run passed, or
// none is gated. The latest record is first.
func known(gates []GateRecord, x GatedFigure, alarm bool) (found *Regression) {
	for _, g := range gates {
		i := slices.IndexFunc(g.Regressions, func(r Regression) bool {
			return x.includes(r.GatedFigure) && (alarm || !r.Alarm)
		})
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

// knownSince is the first run of the same regression; empty if it is new, also if it differs from the known one by more
// than the threshold and its own interval: an odd night does not hide a change that begins with it.
func (x Case) knownSince(gates []GateRecord) string {
	r := known(gates, x.figure(), x.Alarm != nil)
	if r == nil || x.Verdict == stats.Fail && r.Change != nil && x.Change != nil && x.of != nil &&
		math.Abs(*x.Change-*r.Change) > x.of.Threshold.Worse && (*r.Change < x.of.CI95.Lo || *r.Change > x.of.CI95.Hi) {
		return ""
	}
	return r.Since
}

// markKnown lets the gate pass if all regressions are known, and nothing else keeps it from it.
func (c *Comparison) markKnown(gates []GateRecord) {
	if c.Gate == nil {
		return
	}
	c.failTwice(gates)
	for i := range c.Gate.Cases {
		if x := &c.Gate.Cases[i]; x.Verdict != stats.Pass {
			x.Since = x.knownSince(gates)
		}
	}
	for i, x := range slices.Clone(c.Gate.Cases) {
		if x.Verdict == stats.Fail && x.Since == "" && known(gates, x.figure(), x.Alarm != nil) == nil {
			c.Gate.Cases[i].Since = c.Gate.partOf(x, gates)
		}
	}
	c.Gate.setPasses()
}

// sameEvent is the largest number of nights between the beginnings of two regressions that one change of the server
// explains.
const sameEvent = 3

// partOf is the first run of a known regression that began at about the same time, of which this one is a part: a
// change of the server reaches its figures on different nights. A figure that fails by a night alone can be a part of a
// larger one of its point and class; an alarm of any. Empty: none.
func (o *Outcome) partOf(x Case, gates []GateRecord) string {
	ago := func(run string) int { return slices.IndexFunc(gates, func(g GateRecord) bool { return g.Run == run }) }
	began := -1
	if x.Alarm != nil {
		began = ago(x.Alarm.Run)
	}
	for _, y := range o.Cases {
		if y.Verdict != stats.Fail || y.Since == "" || ago(y.Since) < 0 ||
			max(ago(y.Since)-began, began-ago(y.Since)) > sameEvent {
			continue
		}
		if x.Alarm != nil || y.Alarm == nil && y.Point == x.Point && y.Class == x.Class && y.excess() >= x.excess() {
			return y.Since
		}
	}
	return ""
}

// excess is the change for the worse over its threshold.
func (x Case) excess() float64 {
	if x.of == nil || x.Change == nil {
		return math.Inf(1)
	}
	return WorseBy(x.Metric, *x.Change) / x.of.Threshold.Worse
}

// failTwice fails what is worse by more than its threshold in this run and in the one before, where neither decides: a
// server that has become slow and unsteady, or a regression that noise hides.
func (c *Comparison) failTwice(gates []GateRecord) {
	if len(gates) == 0 {
		return
	}
	for i := range c.Gate.Cases {
		x := &c.Gate.Cases[i]
		beyond := func(change float64) bool { return WorseBy(x.Metric, change) > x.of.Threshold.Worse }
		if x.Verdict != stats.Undecided || x.Suspected || x.of == nil || x.Change == nil || !beyond(*x.Change) {
			continue
		}
		if slices.ContainsFunc(gates[0].Held, func(h HeldFigure) bool {
			return h.GatedFigure == x.figure() && beyond(h.Change)
		}) {
			x.Verdict, x.of.Gate, c.Gate.Verdict, x.began = stats.Fail, stats.Fail, stats.Fail, gates[0].Run
			x.Why = "worse by more than " + x.of.Threshold.String() + " in two runs in a row: " + x.of.Describe()
		}
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
			g.Regressions = append(g.Regressions, Regression{x.figure(), x.Change, cmp.Or(x.Since, x.began, run),
				x.Alarm != nil})
		case stats.Undecided:
			g.Undecided = append(g.Undecided, x.figure())
		}
		if m := x.of; m != nil && m.Change != nil && math.Abs(*m.Change) > m.Threshold.Worse {
			g.Held = append(g.Held, HeldFigure{x.figure(), *m.Change})
		}
	}
	return g
}

// addHistory adds what no single night shows: a change for the worse over several nights fails the gate, once. It dates
// each regression. The last run is new.
func (c *Comparison) addHistory(runs []Run, gates []GateRecord, g experiment.Gate) {
	if c.Gate == nil {
		return
	}
	var figures []string
	for _, t := range g.Thresholds {
		figures = append(figures, t.Metric)
	}
	nights := make([]Night, len(runs))
	for i := range runs {
		nights[i].fill(&runs[i], figures, true)
	}
	groups := historyOf(nights, figures).Groups
	last := &groups[slices.IndexFunc(groups, func(g Group) bool { return g.GroupKey == nights[len(nights)-1].Group })]
	for i := range c.Gate.Cases {
		x := &c.Gate.Cases[i]
		if x.Verdict == stats.Fail {
			continue
		}
		if a := last.alarmOf(x); a != nil {
			x.fail(a)
			c.Gate.Verdict = stats.Fail
		}
	}
	c.markKnown(gates)
	for i := range c.Gate.Cases {
		if x := &c.Gate.Cases[i]; x.Verdict == stats.Fail {
			last.date(x)
		}
	}
}

// alarmOf is the alarm for the worse of a case's figure, if the last night still has the change, and it is not small
// beside its threshold: half of it, all of it for a drift, which no single event explains. nil: none.
func (g *Group) alarmOf(x *Case) *Alarm {
	if x.of == nil {
		return nil
	}
	for i := range g.Trends {
		t := &g.Trends[i]
		same := t.Metric == x.Metric && (t.Point == x.Where() || strings.HasPrefix(t.Point, x.Where()+" (workload "))
		a := t.Alarm
		if !same || !g.current(t) || a == nil {
			continue
		}
		least := x.of.Threshold.Worse / 2
		if a.PerNight != 0 {
			least = x.of.Threshold.Worse
		}
		if WorseBy(t.Metric, a.Size) < least {
			continue
		}
		if last := t.Nights[len(t.Nights)-1].X; math.Abs(last-a.X) < math.Abs(last-a.Before) {
			return a
		}
	}
	return nil
}

func (x *Case) fail(a *Alarm) {
	x.Verdict, x.of.Gate, x.Change, x.Alarm, x.began = stats.Fail, stats.Fail, &a.Size, a, a.Run
	worse := "worse by " + strings.TrimLeft(x.of.signed(a.Size), "+-")
	if a.PerNight != 0 {
		worse = fmt.Sprintf("drifts by %s a night, %s in all", x.of.signed(a.PerNight), x.of.signed(a.Size))
	}
	x.Why = fmt.Sprintf("%s, for %s since %s; last night alone: %s", worse, unit.Plural(a.Nights, "night"),
		a.Since.UTC().Format(time.DateOnly), x.of.Describe())
	x.Suspected = false
}

// date sets the night in which a regression began, and what else changed then.
func (g *Group) date(x *Case) {
	run := cmp.Or(x.Since, x.began, g.Nights[len(g.Nights)-1].Run)
	if i := slices.IndexFunc(g.Nights, func(n Night) bool { return n.Run == run }); i >= 0 {
		x.SinceAt, x.Changed = g.Nights[i].StartedAt, g.suspects(i)
	}
}

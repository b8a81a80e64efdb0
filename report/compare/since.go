package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"bench/experiment"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

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

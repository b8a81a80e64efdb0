package compare

import (
	"fmt"
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
		nights[i].fill(&runs[i], figures)
	}
	groups := historyOf(nights, figures).Groups
	last := &groups[slices.IndexFunc(groups, func(g Group) bool { return g.GroupKey == nights[len(nights)-1].Group })]
	alarms := make([]*Alarm, len(c.Gate.Cases))
	for i := range c.Gate.Cases {
		x := &c.Gate.Cases[i]
		if alarms[i] = last.alarmOf(x); alarms[i] != nil && x.Verdict != stats.Fail {
			x.fail(alarms[i])
			c.Gate.Verdict = stats.Fail
		}
	}
	c.markKnown(gates)
	for i := range c.Gate.Cases {
		if x := &c.Gate.Cases[i]; x.Verdict == stats.Fail {
			last.date(x, alarms[i])
		}
	}
}

// alarmOf is the alarm for the worse of a case's figure, if the change is not small beside its threshold; nil: none.
func (g *Group) alarmOf(x *Case) *Alarm {
	if x.of == nil || x.Class != "" {
		return nil
	}
	for i := range g.Trends {
		t := &g.Trends[i]
		same := t.Metric == x.Metric && (t.Point == x.Point || strings.HasPrefix(t.Point, x.Point+" (workload "))
		if same && g.current(t) && t.Alarm != nil && t.Alarm.Worse && WorseBy(t.Metric, t.Alarm.Size) >= x.of.Threshold.Worse/2 {
			return t.Alarm
		}
	}
	return nil
}

func (x *Case) fail(a *Alarm) {
	x.Verdict, x.of.Gate, x.Change, x.Alarm = stats.Fail, stats.Fail, &a.Size, a
	worse := "worse by " + strings.TrimLeft(x.of.signed(a.Size), "+-")
	if a.PerNight != 0 {
		worse = fmt.Sprintf("drifts by %s a night, %s in all", x.of.signed(a.PerNight), x.of.signed(a.Size))
	}
	x.Why = fmt.Sprintf("%s, for %s since %s; last night alone: %s", worse, unit.Plural(a.Nights, "night"),
		a.Since.UTC().Format(time.DateOnly), x.of.Describe())
	x.Suspected = false
}

// date sets the night in which a regression began: of a known one its first, of an alarm the alarm's, else the last.
func (g *Group) date(x *Case, a *Alarm) {
	run := g.Nights[len(g.Nights)-1].Run
	switch {
	case x.Since != "":
		run = x.Since
	case a != nil:
		run = a.Run
	}
	if i := slices.IndexFunc(g.Nights, func(n Night) bool { return n.Run == run }); i >= 0 {
		x.SinceAt, x.Changed = g.Nights[i].StartedAt, g.suspects(i)
	}
}

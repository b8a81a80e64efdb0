package page

import (
	"slices"

	"bench/experiment/series"
	"bench/report"
	"bench/report/compare"
)

type overlay struct {
	Curves *curvesView
	Charts []chart
}

func (m multiRun) overlay(table string) (o overlay, err error) {
	set := m.curves()
	all := []func(string) (chart, error){set.interactivityChart, set.latencyChart}
	if slices.ContainsFunc(set.Curves, func(c curve) bool { return c.Axis != "rate" }) {
		all = append(all, set.throughputChart) // in an open loop the curves are one line: the load sets the throughput
	}
	for _, of := range all {
		c, err := of(table)
		if err != nil {
			return o, err
		}
		o.Charts = append(o.Charts, c)
	}
	o.Curves, err = set.view(multiRunID + "-" + curvesID)
	return o, err
}

// sidesOf are both sides of a comparison as runs: rows of one point in several runs are its repeats.
func sidesOf(sides [2]compare.Side) multiRun {
	var m multiRun
	for i, side := range sides {
		run := &report.Run{}
		for _, r := range side.Runs {
			run.Manifest, run.Definitions = r.Manifest, r.Definitions
			run.Rows = append(run.Rows, r.Rows...)
		}
		o := run.Analyze()
		m.runs, m.outcomes, m.names = append(m.runs, run), append(m.outcomes, &o),
			append(m.names, []string{"base", "new"}[i])
	}
	return m
}

func (v *comparisonView) addCurves(sides [2]compare.Side) error {
	if len(sides[0].Runs) == 0 || len(sides[1].Runs) == 0 {
		return nil
	}
	m := sidesOf(sides)
	several := func(s series.Series) bool { return len(s.Points) > 1 }
	if !slices.ContainsFunc(m.outcomes, func(o *report.Analysis) bool { return slices.ContainsFunc(o.Series, several) }) {
		return nil
	}
	o, err := m.overlay("")
	if err != nil {
		return err
	}
	f, err := newFigure(multiRunID, "", o.Charts, nil)
	v.Curves, v.Figures = o.Curves, append(v.Figures, f)
	return err
}

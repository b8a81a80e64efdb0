package page

import (
	"slices"

	"bench/experiment/series"
	"bench/report"
	"bench/report/compare"
)

func (m multiRun) overlay(table string) (*curveSet, []chart) {
	set := m.curves()
	set.ID = multiRunID + "-" + curvesID
	all := []chart{set.interactivityChart(table), set.latencyChart(table)}
	if slices.ContainsFunc(set.Curves, func(c curve) bool { return c.Axis != "rate" }) {
		// in an open loop the curves are one line: the load sets the throughput
		all = append(all, set.throughputChart(table))
	}
	return set, all
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

func (v *comparisonView) addCurves(sides [2]compare.Side) {
	if len(sides[0].Runs) == 0 || len(sides[1].Runs) == 0 {
		return
	}
	m := sidesOf(sides)
	several := func(s series.Series) bool { return len(s.Points) > 1 }
	if !slices.ContainsFunc(m.outcomes, func(o *report.Analysis) bool {
		return slices.ContainsFunc(o.Series, several)
	}) {
		return
	}
	curves, charts := m.overlay("")
	v.Curves, v.Figures = curves, append(v.Figures, newFigure(multiRunID, "", charts, nil))
}

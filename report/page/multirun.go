package page

import (
	"fmt"
	"slices"
	"strings"

	"bench/report"
	"bench/report/compare"
)

type multiRun struct {
	runs     []*report.Run
	outcomes []*report.Analysis
	names    []string // in legends and tables
}

type multiRunView struct {
	Title      string // what differs
	Text, Kind string // which is better; empty: no SLO in common
	Setup      string
	Cautions   []string
	Names, IDs []string
	Curves     *curveSet
	Figures    []figure
}

func (v *multiRunView) add(t report.Table, charts []chart) {
	v.Figures = append(v.Figures, newFigure(multiRunID, t.ID, charts, newTableView(multiRunID, t)))
}

// multiRunID begins the anchors; the anchors of a run begin with r and its number.
const multiRunID = "all"

func newMultiRun(runs []*report.Run, outcomes []*report.Analysis) multiRun {
	return multiRun{runs: runs, outcomes: outcomes, names: report.SystemNames(runs)}
}

func (m multiRun) view(x *report.Systems) (*multiRunView, error) {
	// as the sections
	v := &multiRunView{Names: m.names, Title: strings.Join(m.names[1:], ", ") + " against " + m.names[0]}
	for i := range m.runs {
		v.IDs = append(v.IDs, runID(i))
	}
	if x != nil {
		v.Setup, v.Cautions = x.Setup, x.Cautions
		v.Text, v.Kind = x.Text, string(map[bool]report.Kind{true: report.Passed, false: report.Undecided}[x.Decided])
		v.add(x.Table(), nil)
	}
	curves, charts := m.overlay("runs")
	v.Curves = curves
	v.add(report.RunsTable(m.names, m.runs, m.outcomes), charts)
	for i := range m.runs[1:] {
		c, err := compare.Compare(m.side(0), m.side(i+1), compare.Options{})
		if err != nil {
			return nil, fmt.Errorf("comparing %s with %s: %w", m.names[i+1], m.names[0], err)
		}
		forest := forestFigures(fmt.Sprintf("%s-%d", multiRunID, i+1), report.NewForest(c))
		if len(forest) > 0 {
			t := report.ChangesTable(c)
			t.ID += fmt.Sprintf("-%d", i+1)
			forest[0].Table = newTableView(multiRunID, t)
			forest[0].Table.Folded = true
		}
		v.Figures = append(v.Figures, forest...)
		caption := c.New + " against " + c.Base + ": other differences"
		differences := report.DifferencesTable("differences", caption, c.Differences)
		for _, x := range []report.Table{differences, report.UnmatchedTable(c)} {
			if len(x.Rows) > 0 {
				x.ID += fmt.Sprintf("-%d", i+1)
				v.add(x, nil)
			}
		}
	}
	return v, nil
}

func (m multiRun) side(i int) compare.Side {
	run := m.runs[i].Compared()
	run.Name = m.names[i]
	return compare.Side{Name: run.Name, Runs: []compare.Run{run}}
}

// curves are the workloads of all runs: a colour for each run, and another shape for each in one workload.
func (m multiRun) curves() *curveSet {
	set := &curveSet{Singles: singles, Output: outputUnit(m.outcomes...)}
	var labels []string
	for r, o := range m.outcomes {
		for i := range o.Series {
			s := &o.Series[i]
			if !slices.Contains(labels, s.Label()) {
				labels = append(labels, s.Label())
			}
			set.add(o, i, lookOf(r, r+slices.Index(labels, s.Label())), m.names[r])
		}
	}
	if s, _ := m.outcomes[0].HeadlinePoint(); s != nil {
		set.First = groupOf(s)
	}
	return set.ready()
}

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

package page

import (
	_ "embed"
	"io"
	"slices"
	"strings"

	"bench/experiment/series"
	"bench/experiment/unit"
	"bench/report"
	"bench/report/compare"
	"bench/report/shadow"
)

//go:embed comparison.html
var comparisonHTML string

var comparisonTemplate = derived("comparison", comparisonHTML)

func Comparison(w io.Writer, c *compare.Comparison) error {
	f := report.NewForest(c)
	v := comparisonView{ComparisonAnswer: report.AnswerComparison(c), Sides: report.ComparisonSides(c),
		KPIs: changeKPIs(&f), Figures: forestFigures("s", f), Data: c}
	v.addCurves(c.Sides)
	for _, t := range append(report.ConditionTables(c), report.FiguresTable(c), report.StatisticsTable(c)) {
		if len(t.Rows) > 0 {
			v.Figures = append(v.Figures, tableFigure("s", t, true))
		}
	}
	v.frame = newFrame(slices.ContainsFunc(v.Figures, func(f figure) bool { return len(f.Charts) > 0 }))
	return write(w, comparisonTemplate(), v)
}

const mostKPIs = 4

// changeKPIs are the changes that decide.
func changeKPIs(f *report.Forest) (out []kpi) {
	deciding := f.Deciding()
	for _, l := range deciding.Main[:min(mostKPIs, len(deciding.Main))] {
		out = append(out, kpi{Name: l.Figure + ", " + report.PointWords(l.Point), Value: l.Change.Text,
			Rest: strings.TrimSpace(l.Change.Within + " " + l.Verdict())})
	}
	return out
}

type comparisonView struct {
	report.ComparisonAnswer
	Sides  []string
	KPIs   []kpi
	Curves *curveSet // of the charts; nil: none
	frame
	Data    *compare.Comparison
	Figures []figure
}

const mostMainLines = 30

func forestFigures(prefix string, f report.Forest) (out []figure) {
	f = f.Cut(mostMainLines)
	for _, part := range []struct {
		id, title string
		lines     []report.ForestLine
		fold      string
	}{{prefix + "-forest", "Changes", f.Main, ""}, {prefix + "-forest-rest", "Other changes", f.Rest,
		unit.Plural(len(f.Rest), "more figure")}} {
		c := forestChart(part.id, part.title, part.lines, f.Reach)
		if c.Option == nil {
			continue
		}
		if part.fold == "" && !slices.ContainsFunc(part.lines,
			func(l report.ForestLine) bool { return l.Mark != report.MarkRaw }) {
			part.fold = unit.Plural(len(part.lines), "change") + ", none tested"
		}
		out = append(out, figure{Charts: []chart{c}, Fold: part.fold, Paper: part.fold == ""})
	}
	return out
}

// sidesOf are both sides of a comparison as runs: rows of one point in several runs are its repeats.
func sidesOf(sides [2]compare.Side) multiRun {
	m := multiRun{names: []string{"base", "new"}}
	for _, side := range sides {
		run := &report.Run{}
		for _, r := range side.Runs {
			run.Manifest, run.Definitions = r.Manifest, r.Definitions
			run.Rows = append(run.Rows, r.Rows...)
		}
		o := run.Analyze()
		m.runs, m.outcomes = append(m.runs, run), append(m.outcomes, &o)
	}
	return m
}

func (v *comparisonView) addCurves(sides [2]compare.Side) {
	if len(sides[0].Runs) == 0 || len(sides[1].Runs) == 0 {
		return
	}
	m := sidesOf(sides)
	several := func(s series.Series) bool { return len(s.Points) > 1 }
	if slices.ContainsFunc(m.outcomes,
		func(o *report.Analysis) bool { return slices.ContainsFunc(o.Series, several) }) {
		curves, charts := m.overlay("")
		v.Curves, v.Figures = curves, append(v.Figures, newFigure(multiRunID, "", charts, nil))
	}
}

type shadowView struct {
	report.ShadowView
	KPIs []kpi
}

func newShadowView(c *shadow.Comparison) *shadowView {
	if c == nil {
		return nil
	}
	answer := report.ShadowAnswer(c)
	return &shadowView{answer, kpis(answer.Counts)}
}

func candidateChart(c *shadow.Comparison) chart {
	f := report.ShadowForest(c)
	out := forestChart("candidate-changes", "Change from A to B", f.Main, f.Reach)
	out.Table = report.TabCandidate
	return out
}

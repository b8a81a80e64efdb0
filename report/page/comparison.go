package page

import (
	_ "embed"
	"io"
	"slices"
	"strings"

	"bench/experiment/unit"
	"bench/report"
	"bench/report/compare"
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
		change, within, _ := strings.Cut(l.Change, " [")
		if within != "" {
			within = "[" + within + " "
		}
		out = append(out, kpi{Name: l.Figure + ", " + report.PointWords(l.Point), Value: change,
			Rest: within + l.Verdict()})
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

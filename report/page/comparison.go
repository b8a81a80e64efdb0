package page

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"

	"bench/experiment/unit"
	"bench/report"
	"bench/report/compare"
)

//go:embed comparison.html
var comparisonHTML string

var comparisonTemplate = derived("comparison", comparisonHTML)

func Comparison(w io.Writer, c *compare.Comparison) error {
	f := report.NewForest(c)
	v := comparisonView{Title: report.ComparisonTitle(c), ComparisonAnswer: report.AnswerComparison(c),
		Sides: report.ComparisonSides(c), KPIs: kpis(report.Counts(c, &f))}
	var err error
	if v.Figures, err = forestFigures("s", f); err != nil {
		return err
	}
	if err := v.addCurves(c.Sides); err != nil {
		return err
	}
	for _, t := range append(report.ConditionTables(c), report.FiguresTable(c)) {
		if len(t.Rows) > 0 {
			v.Figures = append(v.Figures, tableFigure("s", t, false))
		}
	}
	if t := report.StatisticsTable(c); len(t.Rows) > 0 {
		view := newTableView("s", t)
		view.Folded = false // it is already within a fold
		v.Figures = append(v.Figures, figure{Table: &view, Fold: "Statistics"})
	}
	v.frame = newFrame(slices.ContainsFunc(v.Figures, func(f figure) bool { return len(f.Charts) > 0 }))
	if v.Data, err = inline(c); err != nil {
		return err
	}
	if err := comparisonTemplate().Execute(w, v); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

type comparisonView struct {
	Title string
	report.ComparisonAnswer
	Sides  []string
	KPIs   []kpi       // how many figures have which verdict
	Curves *curvesView // of the charts; nil: none
	frame
	Data    template.JS
	Figures []figure
}

const mostMainLines = 30

func forestFigures(prefix string, f report.Forest) ([]figure, error) {
	var out []figure
	f = f.Cut(mostMainLines)
	for _, part := range []struct {
		id, title string
		lines     []report.ForestLine
		fold      string
	}{{prefix + "-forest", "Changes", f.Main, ""}, {prefix + "-forest-rest", "Other changes", f.Rest,
		unit.Plural(len(f.Rest), "more figure")}} {
		c, err := forestChart(part.id, part.title, part.lines, f.Reach)
		if err != nil {
			return nil, err
		}
		if c.Option == nil {
			continue
		}
		view, err := c.drawn()
		if err != nil {
			return nil, err
		}
		out = append(out, figure{Charts: []chartView{view}, Fold: part.fold, Paper: part.fold == ""})
	}
	return out, nil
}

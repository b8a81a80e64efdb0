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

//go:embed tables.html
var tablesHTML string

var tablesTemplate = derived("tables", tablesHTML)

func Comparison(w io.Writer, c *compare.Comparison) error {
	f := report.NewForest(c)
	a := newComparedView(c, &f)
	v := tablesPage{Kind: "bench compare", Title: report.ComparisonTitle(c), Answer: &a}
	if err := v.addForest("s", f); err != nil {
		return err
	}
	if err := v.addCurves(c.Sides); err != nil {
		return err
	}
	for _, t := range report.ConditionTables(c) {
		if err := v.add(t, false); err != nil {
			return err
		}
	}
	if err := v.add(report.FiguresTable(c), false); err != nil {
		return err
	}
	if t := report.StatisticsTable(c); len(t.Rows) > 0 {
		view := newTableView("s", t)
		view.Folded = false // it is already within a fold
		v.Figures = append(v.Figures, figure{Table: &view, Fold: "Statistics"})
	}
	return v.write(w, c)
}

type comparedView struct {
	report.ComparisonAnswer
	Sides []string
	KPIs  []kpi // how many figures have which verdict
}

func newComparedView(c *compare.Comparison, f *report.Forest) comparedView {
	v := comparedView{ComparisonAnswer: report.AnswerComparison(c), Sides: report.ComparisonSides(c)}
	for _, x := range report.Counts(c, f) {
		v.KPIs = append(v.KPIs, kpi{Name: x.Name, Value: x.Value})
	}
	return v
}

type tablesPage struct {
	Kind, Title string
	Lead        []string      // paragraphs
	Answer      *comparedView // nil: none
	Curves      *curvesView   // of the charts; nil: none
	frame
	Data    template.JS
	Figures []figure
}

func (v *tablesPage) addForest(prefix string, f report.Forest) error {
	figures, err := forestFigures(prefix, f)
	v.Figures = append(v.Figures, figures...)
	return err
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

// write renders the page under the report's policy. ECharts is in it only with a chart, data only if not nil.
func (v *tablesPage) write(w io.Writer, data any) error {
	v.frame = newFrame(slices.ContainsFunc(v.Figures, func(f figure) bool { return len(f.Charts) > 0 }))
	if data != nil {
		var err error
		if v.Data, err = inline(data); err != nil {
			return err
		}
	}
	if err := tablesTemplate().Execute(w, v); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

func (v *tablesPage) add(t report.Table, folded bool, charts ...chart) error {
	if len(t.Rows) == 0 {
		return nil
	}
	view := newTableView("s", t)
	view.Folded = view.Folded || folded
	f := figure{Table: &view, Paper: true}
	for _, c := range charts {
		view, err := c.drawn()
		if err != nil {
			return err
		}
		f.Charts = append(f.Charts, view)
	}
	v.Figures = append(v.Figures, f)
	return nil
}

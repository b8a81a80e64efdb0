package page

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"

	"bench/report"
	"bench/report/compare"
)

//go:embed tables.html
var tablesHTML string

// tablesTemplate is the template of comparisons and histories.
var tablesTemplate = template.Must(template.Must(runsTemplate.Clone()).New("tables").Parse(tablesHTML))

// Comparison writes a comparison as one self-contained page.
func Comparison(w io.Writer, c *compare.Comparison) error {
	v := tablesPage{Kind: "bench compare", Title: report.ComparisonTitle(c), Lead: append(report.ComparisonLead(c), report.ComparisonLegend)}
	for _, t := range report.ComparisonTables(c, true) {
		if err := v.add(t, false); err != nil {
			return err
		}
	}
	return v.write(w, c)
}

// tablesPage is a page of tables with the charts of each above it.
type tablesPage struct {
	Kind, Title string
	Lead        []string // paragraphs
	frame
	Data    template.JS
	Figures []figure
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
	if err := tablesTemplate.Execute(w, v); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

// add adds a table with its charts, if it has rows.
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

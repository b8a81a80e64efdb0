package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
)

//go:embed comparison.html
var sheetHTML string

// sheet is the template of pages that are not of one run: comparisons and histories.
var sheet = template.Must(template.Must(page.Clone()).New("sheet").Parse(sheetHTML))

// sheetView is such a page: tables, those with charts first drawn.
type sheetView struct {
	Kind, Title     string
	Lead            []string // paragraphs
	Policy          string
	Style           template.CSS
	ECharts, Script template.JS
	Data            template.JS
	Notice          string
	Figures         []figure
}

// write renders a page that, like a report's, can do nothing but run its own scripts; ECharts is in it only where there are charts, and
// the data only where there are any.
func (v *sheetView) write(w io.Writer, data any) error {
	v.Style, v.Script = template.CSS(style), template.JS(script)
	scripts := hash(script)
	for _, f := range v.Figures {
		if len(f.Charts) > 0 {
			v.ECharts, v.Notice = template.JS(echarts), notice
			scripts = hash(echarts) + " " + hash(script)
		}
	}
	v.Policy = fmt.Sprintf("default-src 'none'; script-src %s; style-src %s; img-src data:; base-uri 'none'; form-action 'none'", scripts, hash(style))
	if data != nil {
		var err error
		if v.Data, err = inline(data); err != nil {
			return err
		}
	}
	if err := sheet.Execute(w, v); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

// add puts a table on the page, with its charts, if it has lines.
func (v *sheetView) add(t table, folded bool, charts ...chart) error {
	if len(t.rows) == 0 {
		return nil
	}
	f := figure{Table: newTableView("s", t), Folded: folded}
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

package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"bench/experiment/record"
)

// The common build has all that the page draws, and is two thirds of the whole one.
//
//go:embed assets/echarts.common.min.js
var echarts string

//go:embed assets/NOTICE.echarts
var notice string

//go:embed page.js
var script string

//go:embed page.css
var style string

//go:embed page.html
var pageHTML string

// The template escapes for HTML; what is left to do is to show what would move other text about.
var page = template.Must(template.New("page").Funcs(template.FuncMap{"visible": visibleLines}).Parse(pageHTML))

// HTML writes one page that needs nothing but itself: tables, charts, and the data that is drawn
// as JSON. Several runs follow each other, below what they say together. Nothing in the page can load, send or run anything but
// its own two scripts, which a Content-Security-Policy names by their hashes.
func HTML(w io.Writer, runs ...*Run) error {
	v := pageView{
		Style: template.CSS(style), ECharts: template.JS(echarts), Script: template.JS(script), Notice: notice,
		Policy: fmt.Sprintf("default-src 'none'; script-src %s %s; style-src %s; img-src data:; base-uri 'none'; form-action 'none'",
			hash(echarts), hash(script), hash(style)),
	}
	for _, d := range definitions {
		v.Definitions = append(v.Definitions, definition(d))
	}
	data := newPage()
	var outcomes []*Outcome
	for i, run := range runs {
		o := run.Outcome()
		view, err := newRunView(i, run, &o)
		if err != nil {
			return err
		}
		v.Runs = append(v.Runs, view)
		data.add(run, o)
		outcomes = append(outcomes, &o)
	}
	var err error
	if len(runs) > 1 {
		if v.Together, err = newTogether(runs, outcomes).view(); err != nil {
			return err
		}
	}
	if v.Data, err = inline(data); err != nil {
		return err
	}
	if err := page.Execute(w, v); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

// hash is the source that a Content-Security-Policy allows by its content.
func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// inline is v as JSON for a script element: json.Marshal escapes <, >, & and the line ends of
// JavaScript, so that no string can end the element or begin a comment.
func inline(v any) (template.JS, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encoding the page's data: %w", err)
	}
	return template.JS(b), nil
}

type pageView struct {
	Policy          string
	Style           template.CSS
	ECharts, Script template.JS
	Data            template.JS
	Notice          string
	Together        *togetherView // nil: there is one run
	Runs            []runView
	Definitions     []definition
}

type definition struct{ ID, Word, Text string }

// runView is a run as the page's template takes it.
type runView struct {
	ID        string // prefix of the anchors: several runs share a page
	Manifest  record.Manifest
	Outcome   Outcome
	Tested    string // what was tested, in a line
	Happened  string // what came of it, in a sentence
	Front     []fact
	Simulated bool
	Figures   []figure
	Rest      []tableView
	Notes     string
}

// figure is charts with the table of the same figures.
type figure struct {
	Charts []chartView
	Table  tableView
	Folded bool // the table is folded under the charts
}

type chartView struct {
	chart
	Data template.JS
}

// drawn is a chart for the page: a canvas would turn text around as well as a table would, so what would is shown there too.
func (c chart) drawn() (chartView, error) {
	b, err := json.Marshal(c)
	if err != nil {
		return chartView{}, fmt.Errorf("encoding a chart: %w", err)
	}
	return chartView{c, template.JS(visibleJSON(string(b)))}, nil
}

type tableView struct {
	ID, Caption, Note string
	Columns           []columnView
	Rows              [][]cellView
	Long              bool // folded, as it would bury what follows
}

type columnView struct {
	Head, Unit, Help string
	Num              bool
}

type cellView struct {
	Text, Title, Class, Tag string
	Num                     bool
}

func runID(i int) string { return fmt.Sprintf("r%d", i) }

func newRunView(i int, run *Run, o *Outcome) (runView, error) {
	v := runView{ID: runID(i), Manifest: run.Manifest, Outcome: *o, Notes: run.Notes, Simulated: run.Simulated(),
		Tested: run.tested(o), Happened: o.happened(), Front: run.front(o)}
	charts, err := o.charts()
	if err != nil {
		return runView{}, err
	}
	seen := run.observe(o)
	more, err := o.evidenceCharts(seen)
	if err != nil {
		return runView{}, err
	}
	if len(seen.rows) > 0 { // distributions show all of it, and more
		charts = slices.DeleteFunc(charts, func(c chart) bool { return strings.HasPrefix(c.ID, byPercentile) })
	}
	charts = append(charts, more...)
	for _, f := range []struct {
		t      table
		folded bool
	}{
		{o.seriesTable(), false}, {o.pointsTable(inCell), false},
		{o.percentilesTable("ttft", inCell), true}, {o.percentilesTable("tpot", inCell), true}, {o.percentilesTable("e2e", inCell), true},
		{o.boundsTable(inCell), true}, {o.prefixTable(inCell), false}, {run.interferenceTable(inCell), false}, {run.loadTable(), true},
	} {
		if err := v.figure(charts, f.t, f.folded); err != nil {
			return runView{}, err
		}
	}
	for _, t := range o.heatTables() {
		v.Rest = append(v.Rest, newTableView(v.ID, t))
	}
	for _, t := range []table{run.searchesTable(), o.walkTable(), o.diagnosisTable(), o.rejectedTable(), o.unmeasuredTable(), run.sloTable(), o.findingsTable(), run.readingTable(), o.costsTable(), run.serversTable(o), o.classesTable(inCell),
		run.reuseTable(), run.coldTable(), run.serverTable(), run.gpuTable(), run.clientTable(),
		o.expectTable(), run.missingTable(), seen.unread, run.reproduceTable(), run.metadataTable()} {
		if len(t.rows) > 0 {
			v.Rest = append(v.Rest, newTableView(v.ID, t))
		}
	}
	return v, nil
}

// figure adds a table with its charts, if it has lines.
func (v *runView) figure(charts []chart, t table, folded bool) error {
	if len(t.rows) == 0 {
		return nil
	}
	f, err := newFigure(v.ID, charts, t, folded)
	v.Figures = append(v.Figures, f)
	return err
}

// newFigure puts the charts that name the table before it.
func newFigure(prefix string, charts []chart, t table, folded bool) (figure, error) {
	f := figure{Table: newTableView(prefix, t), Folded: folded}
	for _, c := range charts {
		if c.Table != t.id || c.Option == nil {
			continue
		}
		c.ID = prefix + "-" + c.ID
		view, err := c.drawn()
		if err != nil {
			return f, err
		}
		f.Charts = append(f.Charts, view)
	}
	return f, nil
}

// longTable is where a table that is read for one row only is folded.
const longTable = 40

// proseLength is from where a cell is prose, which wants a width to be read in.
const proseLength = 30

func newTableView(prefix string, t table) tableView {
	v := tableView{ID: prefix + "-" + t.id, Caption: visibleLines(t.caption), Note: t.note, Long: len(t.rows) > longTable}
	for _, c := range t.columns {
		v.Columns = append(v.Columns, columnView{c.head, c.unit, c.help, c.num})
	}
	for _, row := range t.rows {
		cells := make([]cellView, len(row))
		for i, c := range row {
			class := string(c.kind)
			if len(c.text) > proseLength && c.kind != code {
				class += " prose"
			}
			cells[i] = cellView{visibleLines(c.text), visibleLines(c.title), class, visibleLines(c.tag), t.columns[i].num}
		}
		v.Rows = append(v.Rows, cells)
	}
	return v
}

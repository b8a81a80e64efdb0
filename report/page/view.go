package page

import (
	"encoding/json"
	"fmt"
	"html/template"
	"regexp"

	"bench/experiment/record"
	"bench/experiment/safetext"
	"bench/report"
)

// runView is a run for the template.
type runView struct {
	ID        string // prefix of the anchors
	Manifest  record.Manifest
	Outcome   report.Outcome
	Setup     string // what was measured, on one line
	Happened  string // the result in one sentence
	Cards     []report.Card
	Simulated bool
	Evaluated []string // how the outcome differs from the run's files; empty: it does not
	Figures   []figure
	Rest      []tableView
	Notes     string
}

// figure is charts and the table of the same figures.
type figure struct {
	Charts []chartView
	Table  tableView
	Folded bool // the reader opens the table
}

type chartView struct {
	chart
	Data template.JS
}

// drawn is a chart for the page. A canvas obeys bidi characters too, so they are escaped.
func (c chart) drawn() (chartView, error) {
	b, err := json.Marshal(c)
	if err != nil {
		return chartView{}, fmt.Errorf("encoding a chart: %w", err)
	}
	return chartView{c, template.JS(escapeJSON(string(b)))}, nil
}

type tableView struct {
	ID, Caption, Note string
	Columns           []report.Column
	Rows              [][]cellView
	Long              bool // folded
}

type cellView struct {
	Text, Title, Class, Tag string
	Num                     bool
}

func runID(i int) string { return fmt.Sprintf("r%d", i) }

func newRunView(i int, run *report.Run, o *report.Outcome) (runView, error) {
	v := runView{ID: runID(i), Manifest: run.Manifest, Outcome: *o, Notes: run.Notes, Simulated: run.Simulated(), Evaluated: run.Evaluated.Lines(),
		Setup: run.Setup(o), Happened: o.Happened(), Cards: run.Cards(o)}
	seen := observe(run, o)
	charts, err := chartsOf(o, seen)
	if err != nil {
		return runView{}, err
	}
	for _, t := range heatMaps(o) {
		v.Rest = append(v.Rest, newTableView(v.ID, t))
	}
	for _, s := range run.Sections(o) {
		if !s.Charted {
			v.Rest = append(v.Rest, newTableView(v.ID, s.Table))
			continue
		}
		f, err := newFigure(v.ID, charts, s.Table, s.Folded)
		if err != nil {
			return runView{}, err
		}
		v.Figures = append(v.Figures, f)
	}
	if len(seen.unread.Rows) > 0 {
		v.Rest = append(v.Rest, newTableView(v.ID, seen.unread))
	}
	return v, nil
}

// newFigure takes the charts that name the table.
func newFigure(prefix string, charts []chart, t report.Table, folded bool) (figure, error) {
	f := figure{Table: newTableView(prefix, t), Folded: folded}
	for _, c := range charts {
		if c.Table != t.ID || c.Option == nil {
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

const (
	longTable   = 40 // rows from which a table is folded
	proseLength = 30 // bytes from which a cell wraps
)

func newTableView(prefix string, t report.Table) tableView {
	v := tableView{ID: prefix + "-" + t.ID, Caption: safetext.EscapeLines(t.Caption), Note: t.Note, Columns: t.Columns, Long: len(t.Rows) > longTable}
	for _, row := range t.Rows {
		cells := make([]cellView, len(row))
		for i, c := range row {
			class := string(c.Kind)
			if len(c.Text) > proseLength && c.Kind != report.Code {
				class += " prose"
			}
			cells[i] = cellView{safetext.EscapeLines(c.Text), safetext.EscapeLines(c.Title), class, safetext.EscapeLines(c.Tag), t.Columns[i].Num}
		}
		v.Rows = append(v.Rows, cells)
	}
	return v
}

// hidden matches each character that safetext.EscapeLines may change, as JSON writes it: as an escape, or as
// it is.
var hidden = regexp.MustCompile(`\\u[0-9a-f]{4}|\\.|[^\pL\pM\pN\pP\pS\p{Zs}]`)

// escapeJSON escapes every text of JSON as safetext.EscapeLines does.
func escapeJSON(s string) string {
	return hidden.ReplaceAllStringFunc(s, func(found string) string {
		var was string
		if json.Unmarshal([]byte(`"`+found+`"`), &was) != nil || safetext.EscapeLines(was) == was {
			return found
		}
		return `\\` + safetext.EscapeLines(was)[1:] // an escape begins with a backslash
	})
}

package page

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"bench/experiment/diagnosis"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/text"
	"bench/experiment/unit"
	"bench/report"
)

type runView struct {
	ID       string // prefix of the anchors
	Manifest record.Manifest
	Setup    string // what was measured, on one line
	Flags    string // of the server, as it was started or as stated; empty: unknown, or several
	SLO      string // the limits, on one line
	Answers  []answerView
	Shadow   *shadowView // the verdict on a candidate; nil: none
	Result   string      // the verdicts of the workloads in one sentence
	Tag      string      // PREDICTED or SIMULATED; empty: neither
	Notices  []string    // how the outcome differs from the run's files, and which are missing; empty: neither
	Unjudged string      // why the page has no sliders for other limits; empty: it has, or there is no SLO
	Curves   *curveSet   // of the charts; nil: none
	Panels   []panelView
}

type answerView struct {
	report.AnswerView
	Name    string
	Lead    string
	Mark    string     // the verdict as a character, as in the charts
	Group   string     // of the workload in the charts
	First   bool       // the one to read first
	Ruler   *rulerView // nil: see diagnosis.Ruler
	KPIs    []kpiGroup
	Trusted string // id of the tab that explains it
	Share   string // the answer on one line, for a message
}

// kpiGroup is figures of one load.
type kpiGroup struct {
	Of   string // "at ≈ 48/s, estimated"; empty: the headline names the load
	KPIs []kpi
}

// text is the figures of the group on one line: "at 60/s: TTFT p95 32.3 ms, 640 requests".
func (g kpiGroup) text() string {
	var figures []string
	for _, k := range g.KPIs {
		text := k.Value + " " + k.Name
		if k.latency {
			text = k.Name + " " + k.Value
		}
		figures = append(figures, text)
	}
	text := strings.Join(figures, "; ")
	if g.Of != "" {
		text = g.Of + ": " + text
	}
	return text
}

// kpi is a figure in large print: "45.1 ms" of "45.1 ms [43.0, 60.0]".
type kpi struct {
	Name, Value, Rest string
	latency           bool
}

func kpis(counts []diagnosis.Fact) (out []kpi) {
	for _, x := range counts {
		out = append(out, kpi{Name: x.Name, Value: x.Value})
	}
	return out
}

type panelView struct {
	ID, Name string
	Paper    bool // a part of it is printed
	Figures  []figure
	Notes    string // of the user; empty: none
	Matrix   string // text of the file; empty: elsewhere
}

type figure struct {
	Charts []chart
	Marks  string     // what the marks of the charts mean; empty: a legend does
	Table  *tableView // nil: none
	Fold   string     // summary of the fold that the reader opens; empty: not folded
	Paper  bool       // printed
}

type tableView struct {
	ID, Caption, Note string
	Columns           []report.Column
	Rows              []rowView
	Folded            bool // the reader opens the table
}

type rowView struct {
	Cells    []cellView
	Workload string // number of the workload, if the row is a point; empty: it is none
	Point    int    // number of the point in it
	Ship     bool   // the point is the operating point of its workload
}

type cellView struct {
	Text, Title, Class, Tag string
	Within                  string // the interval of the figure; empty: none
	Num                     bool
}

func runID(i int) string { return fmt.Sprintf("r%d", i) }

func newRunView(i int, run *report.Run, o *report.Analysis) runView {
	id := runID(i)
	v := runView{ID: id, Manifest: run.Manifest, Tag: run.Tag(), Notices: run.Notices(),
		Setup: run.Setup(), Flags: unit.ClipBytes(run.ServerFlags(), 160), SLO: o.SLOLine(),
		Answers: answersOf(id, run, o), Result: o.Answer.Text}
	seen := observe(run, o)
	if seen.crowded && len(o.Answer.SLO) > 0 {
		v.Unjudged = fmt.Sprintf("Above %s requests the page has no sliders for another SLO: %s LIMITS",
			unit.Count(mostJudged), text.ShellWords([]string{"bench", "report", run.Named(), "--slo"}))
	}
	set := newCurveSet(o, seen, run)
	charts := chartsOf(o, set, seen)
	if v.Shadow = newShadowView(run.Shadow); v.Shadow != nil {
		charts = append(charts, candidateChart(run.Shadow))
	}
	set.ID, v.Curves = v.ID+"-"+curvesID, set
	for _, tab := range run.Tabs(o, len(seen.rows) > 0) {
		switch tab.ID {
		case report.TabLatency:
			tab.Sections = append(report.Sections(heatMaps(o)...), tab.Sections...)
		case report.TabTrust:
			tab.Sections = append(tab.Sections, report.Sections(seen.unread)...)
		}
		p := newPanel(v.ID, tab, charts)
		switch tab.ID {
		case report.TabSummary:
			markPoints(&p, v.ID, o)
		case report.TabReproduce:
			p.Notes, p.Matrix = run.Notes, run.Manifest.MatrixText
		}
		if len(p.Figures) > 0 {
			v.Panels = append(v.Panels, p)
		}
	}
	return v
}

var verdictMarks = map[stats.Verdict]string{stats.Pass: "★", stats.Fail: "○", stats.Undecided: "◐", "": "●"}

func answersOf(prefix string, run *report.Run, o *report.Analysis) []answerView {
	var out []answerView
	if o.Imported != "" {
		return nil
	}
	for i := range o.Answer.Workloads {
		w := &o.Answer.Workloads[i]
		a := answerView{AnswerView: o.View(w), Name: w.Name, Lead: w.Lead, Mark: verdictMarks[w.Verdict],
			Group: groupOf(&o.Series[w.Series]),
			First: i == *o.Answer.First, Trusted: prefix + "-" + report.TabTrust}
		// nothing of it is to be shipped
		if w.Lead == diagnosis.LeadMet && w.Operating != nil || w.Lead == diagnosis.LeadBaseline {
			a.Mark = "●"
		}
		a.Ruler, a.KPIs = newRulerView(w, &o.Series[w.Series]), kpiGroups(w)
		a.Share = share(run, o, &a)
		out = append(out, a)
	}
	return out
}

// share is the answer with what it rests on and the command that shows it.
func share(run *report.Run, o *report.Analysis, a *answerView) string {
	parts := []string{a.Headline}
	for _, g := range a.KPIs {
		parts = append(parts, g.text())
	}
	return strings.Join(append(parts, "SLO "+o.SLOLine(), run.Setup(), "`"+
		text.ShellWords([]string{"bench", "report", run.Named()})+"`"), " · ")
}

// kpiGroups are what the best load brings, and the latencies at the quoted point; without a ruler all figures of that
// point.
func kpiGroups(w *diagnosis.Workload) []kpiGroup {
	measured := kpiGroup{}
	for _, f := range w.Figures {
		if w.Ruler == nil || f.Name == "n" || f.Latency {
			measured.KPIs = append(measured.KPIs, kpi{cmp.Or(largeNames[f.Name], f.Name), cmp.Or(f.Short, f.Value),
				f.Rest, f.Latency})
		}
	}
	if w.Ruler == nil || len(w.Ruler.Figures) == 0 {
		return []kpiGroup{measured}
	}
	brings := kpiGroup{Of: "at " + w.Ruler.Load, KPIs: kpis(w.Ruler.Figures)}
	if w.Estimate == nil || w.Estimate.Best == nil { // they are of the same load
		return []kpiGroup{{KPIs: append(brings.KPIs, measured.KPIs...)}}
	}
	measured.Of = "measured at " + w.Load
	if w.Predicted {
		measured.Of = "predicted at " + w.Load
	}
	return []kpiGroup{brings, measured}
}

// largeNames are those of figures that have no room for more, or no unit of their own, in large print.
var largeNames = map[string]string{"cost": "USD/M output tokens", "n": "requests"}

// newPanel is a tab with the charts that name it, then its tables, each below the charts that name it.
func newPanel(prefix string, tab report.Tab, charts []chart) panelView {
	p := panelView{ID: prefix + "-" + tab.ID, Name: tab.Name}
	add := func(id string, t *tableView, paper bool) {
		f := newFigure(prefix, id, charts, t)
		if t == nil && len(f.Charts) == 0 {
			return
		}
		f.Paper = paper
		p.Paper = p.Paper || paper
		p.Figures = append(p.Figures, f)
	}
	add(tab.ID, nil, tab.Paper)
	for _, s := range tab.Sections {
		t := newTableView(prefix, s.Table)
		t.Folded = t.Folded || s.Folded
		add(s.Table.ID, t, s.Paper)
	}
	return p
}

func newFigure(prefix, table string, charts []chart, t *tableView) figure {
	f := figure{Table: t, Paper: true}
	for _, c := range charts {
		if c.Table != table || c.Option == nil {
			continue
		}
		c.ID = prefix + "-" + c.ID
		if c.Curves != "" {
			c.Curves, f.Marks = prefix+"-"+c.Curves, cmp.Or(f.Marks, marksOfCurves)
		}
		if c.Published {
			f.Marks += " △ published, beside p50"
		}
		f.Charts = append(f.Charts, c)
	}
	return f
}

// markPoints names the workload of each row of the table of points, which are in the order of the series.
func markPoints(p *panelView, prefix string, o *report.Analysis) {
	i := slices.IndexFunc(p.Figures, func(f figure) bool { return f.Table != nil && f.Table.ID == prefix+"-points" })
	if i < 0 {
		return
	}
	rows := p.Figures[i].Table.Rows
	for k := range o.Answer.Workloads {
		w := &o.Answer.Workloads[k]
		for j, status := range w.Points {
			rows[0].Ship = status.Status == diagnosis.Ship
			for range 1 + len(o.Series[w.Series].Points[j].Classes) {
				rows[0].Workload, rows[0].Point, rows = strconv.Itoa(k), j, rows[1:]
			}
		}
	}
}

const (
	longTable   = 40 // rows from which a table is folded
	proseLength = 30 // bytes from which a cell wraps
)

func newTableView(prefix string, t report.Table) *tableView {
	v := &tableView{ID: prefix + "-" + t.ID, Caption: text.EscapeLines(t.Caption), Note: t.Note, Columns: t.Columns,
		Folded: len(t.Rows) > longTable}
	for _, row := range t.Rows {
		cells := make([]cellView, len(row))
		for i, c := range row {
			class := string(c.Kind)
			if len(c.Full()) > proseLength && c.Kind != report.Code {
				class += " prose"
			}
			cells[i] = cellView{Text: text.EscapeLines(c.Text), Title: text.EscapeLines(c.Title), Class: class,
				Tag: text.EscapeLines(c.Tag), Within: text.EscapeLines(c.Within), Num: t.Columns[i].Num}
		}
		v.Rows = append(v.Rows, rowView{Cells: cells})
	}
	return v
}

// hidden matches what text.EscapeLines may change, as JSON writes it: as an escape, or as it is.
var hidden = text.Lazy(`\\u[0-9a-f]{4}|\\.|[^\pL\pM\pN\pP\pS\p{Zs}]`)

// escaped is v as JSON for a script element. A canvas obeys bidi characters too, so they are escaped.
func escaped(v any) (template.JS, error) {
	b, err := json.Marshal(v)
	return template.JS(escapeJSON(string(b))), err
}

func escapeJSON(s string) string {
	return hidden().ReplaceAllStringFunc(s, func(found string) string {
		var was string
		if json.Unmarshal([]byte(`"`+found+`"`), &was) != nil || text.EscapeLines(was) == was {
			return found
		}
		return `\\` + text.EscapeLines(was)[1:] // an escape begins with a backslash
	})
}

package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"bench/experiment/record"
	"bench/experiment/text"
	"bench/experiment/unit"
)

// A summary must be readable with cat.
const (
	mostLines    = 60
	mostFindings = 6
)

const leastPoints = 3

const elsewhere = ": `bench report RUN --format md`"

func Markdown(w io.Writer, runs ...*Run) error {
	if x := SystemsOf(runs); x != nil {
		m := &markdown{}
		m.line("**" + escapeMarkdown(x.Text) + "**")
		m.line(escapeMarkdown(x.Setup))
		for _, text := range x.Cautions {
			m.line("Caution: " + escapeMarkdown(text))
		}
		m.table(x.Table())
		if err := m.flush(w); err != nil {
			return err
		}
	}
	for _, run := range runs {
		if err := run.markdown(w, 0); err != nil {
			return err
		}
	}
	return nil
}

// Summary is Markdown in at most 60 lines, which name what they leave out. No point that does not PASS is left out
// before one that does.
func Summary(w io.Writer, run *Run) error { return run.markdown(w, mostLines) }

func (r *Run) markdown(w io.Writer, most int) error {
	o := r.Analyze()
	m := &markdown{most: most}
	m.head(r, &o)
	points, findings := o.summaryPoints(), o.summaryFindings()
	after := r.linesAfterPoints(len(findings))
	least := linesAround(points) + min(leastPoints, len(points.Rows)) + after
	workloads := summaryTable{Table: o.workloadsTable(), most: 8}
	if len(workloads.Rows) == 1 { // the head has it
		workloads.Rows = nil
	}
	notPass := len(points.Rows) - passes(points.Rows)
	m.tables(least+notPass+len(workloads.Rows)+linesAround(workloads.Table), r.summaryTables(&o)...)
	if most == 0 { // the head has what the first workload is compared with
		m.table(o.racedTable())
		m.table(o.settingsTable())
	}
	m.tables(least, workloads)
	m.points(points, m.room()-after)
	m.line("Latencies in ms. `★` operating point of its workload, `~` thin, `≥` n too small: the lower end of the 95 % interval.")
	m.list("Findings", findings)
	if len(r.Manifest.Command) > 0 {
		m.line("Reproduce, with the matrix of report.html:")
		m.code(text.ShellWords(r.Manifest.Command), 1)
	}
	if r.Notes != "" {
		m.code(r.Notes, max(1, m.room()-1))
	}
	return m.flush(w)
}

// linesAfterPoints of a summary: the legend, and the parts that the run has.
func (r *Run) linesAfterPoints(findings int) int {
	lines := 2
	if findings > 0 {
		lines += 4 + min(findings, mostFindings)
	}
	if len(r.Manifest.Command) > 0 {
		lines += 4
	}
	if r.Notes != "" {
		lines += 1 + min(strings.Count(r.Notes, "\n")+1, 4)
	}
	return lines
}

type summaryTable struct {
	Table
	most int
}

func (r *Run) summaryTables(o *Analysis) []summaryTable {
	predicted, limits := r.besideTables(o)
	out := []summaryTable{{r.shadowTable(), 16}, {r.shadowLoadTable(), 2}, {r.tilingTable(), 4},
		{r.sessionsTable(), 6}, {r.reasoningTable(), 4}, {r.answersTable(), 4},
		{r.speculationTable(), 4}, {r.workersSummary(), 4}, {limits, 4}, {predicted, 12}}
	if _, p := o.publishedPoint(); p != nil {
		out = append(out, summaryTable{o.publishedTable(p), 6})
	}
	return out
}

func (o *Analysis) summaryPoints() Table {
	t := o.pointsTable()
	var shown []int
	for i, c := range t.Columns {
		if !slices.Contains([]string{"E2E p99", "USD/M out", "J/token", "cautions"}, c.Head) {
			shown = append(shown, i)
		}
	}
	t = t.keep(shown)
	for i := range t.Columns {
		t.Columns[i].Unit = ""
		for _, row := range t.Rows {
			row[i].Tag = ""
		}
	}
	return t
}

func (o *Analysis) summaryFindings() []string {
	var lines, notes []string
	for _, d := range o.Findings {
		if d.Severity == record.Note {
			notes = append(notes, d.Code)
			continue
		}
		lines = append(lines, fmt.Sprintf("%s %s (%s): %s", d.Severity, d.Code, unit.Plural(len(d.Cases), "row"),
			d.Cases[0].Text))
	}
	if len(notes) > 0 {
		lines = append(lines, "notes: "+unit.Some(notes))
	}
	return lines
}

func passes(points [][]Cell) (n int) {
	for _, row := range points {
		if row[verdictColumn].Kind == Passed {
			n++
		}
	}
	return n
}

// points leaves out those that PASS first, of these the operating points last.
func (m *markdown) points(t Table, room int) {
	room -= linesAround(t)
	if room >= len(t.Rows) {
		m.table(t)
		return
	}
	all := t.Rows
	order := make([]int, len(all))
	for i := range all {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, k int) int { return cmp.Compare(dispensable(all[i]), dispensable(all[k])) })
	shown := order[:min(len(all), max(leastPoints, room))]
	out := map[string]int{}
	for _, i := range order[len(shown):] {
		verdict := strings.TrimSuffix(all[i][verdictColumn].Text, " "+operatingMark)
		if verdict == Absent().Text {
			verdict = "without SLO"
		}
		out[verdict]++
	}
	slices.Sort(shown)
	t.Rows = nil
	for _, i := range shown {
		t.Add(all[i]...)
	}
	m.table(t)
	if more := len(order) - len(shown); more > 0 {
		m.line("and " + unit.Plural(more, "more point") + " (" + unit.Counts(out) + ")" + elsewhere)
	}
}

// dispensable ranks a point: what is greater is left out first.
func dispensable(point []Cell) int {
	switch c := point[verdictColumn]; {
	case c.Kind != Passed:
		return 0
	case strings.HasSuffix(c.Text, operatingMark):
		return 1
	}
	return 2
}

// verdictColumn is that of the SLO in the table of the points.
const verdictColumn = 1

func (m *markdown) head(run *Run, o *Analysis) {
	f := run.Manifest
	m.line("# " + escapeMarkdown(fmt.Sprintf("%s, run %s", f.Matrix, f.Run)))
	if run.Tag() == tagSimulated {
		m.line("**SIMULATED: measured against a simulated server.**")
	}
	for _, line := range run.Notices() {
		m.line("**" + escapeMarkdown(line) + "**")
	}
	if run.Shadow != nil {
		v := ShadowAnswer(run.Shadow)
		m.line("**" + escapeMarkdown(v.Lead) + "**: " + escapeMarkdown(v.Text))
		for _, text := range v.Cautions {
			m.write("- caution: " + escapeMarkdown(text))
		}
		m.write("")
	}
	m.line(escapeMarkdown(run.Setup()) + "  \nSLO: " + escapeMarkdown(o.SLOLine()))
	m.lines++
	w, _ := o.First()
	if w == nil || o.Imported != "" {
		m.line("**" + escapeMarkdown(o.Answer.Text) + "**")
		return
	}
	v := o.View(w)
	m.line("**" + escapeMarkdown(v.Headline) + "**: " + escapeMarkdown(v.Text))
	if v.Estimate != "" {
		m.write("- " + escapeMarkdown(v.Estimate))
	}
	if v.Twin != "" {
		m.write("- twin: " + escapeMarkdown(v.Twin))
	}
	m.write("- " + escapeMarkdown(v.FiguresLine()))
	for _, c := range v.Classes {
		m.write("- " + escapeMarkdown(c.Name+": "+c.Text))
	}
	if v.Tenants != "" {
		m.write("- tenants: " + escapeMarkdown(v.Tenants))
	}
	if len(v.Settings) > 0 {
		m.write("- settings: " + escapeMarkdown(strings.Join(v.Settings, "; ")))
	}
	for _, x := range [][2]string{{"next", v.Next}, {"caution", v.Caution}, {"trust", v.Trust},
		{"result", o.Answer.Text}, {"time", o.Time.Line()}} {
		if x[1] != "" {
			m.write("- " + x[0] + ": " + escapeMarkdown(x[1]))
		}
	}
	m.write("")
}

func (m *markdown) room() int {
	if m.most == 0 {
		return math.MaxInt32
	}
	return m.most - m.lines
}

// linesAround are the lines of a table beside its rows: caption, note, heading, and what is left out.
func linesAround(t Table) int {
	if t.Note != "" {
		return 9
	}
	return 7
}

// tables writes the tables as far as their rows leave lines for what follows.
func (m *markdown) tables(following int, tables ...summaryTable) {
	var out []string
	for _, t := range tables {
		if len(t.Rows) == 0 {
			continue
		}
		all := len(t.Rows)
		if m.most > 0 {
			t.Rows = t.Rows[:max(0, min(all, t.most, m.room()-following-linesAround(t.Table)))]
		}
		if len(t.Rows) == 0 {
			out = append(out, t.Caption)
			continue
		}
		m.table(t.Table)
		if more := all - len(t.Rows); more > 0 {
			m.line("and " + unit.Plural(more, "more row") + elsewhere)
		}
	}
	if len(out) > 0 {
		m.line("Left out: " + escapeMarkdown(strings.Join(out, "; ")) + elsewhere)
	}
}

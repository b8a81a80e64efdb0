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
	mostRows     = 8 // of a table beside the points
	mostNotes    = 4 // lines
	leastPoints  = 3
	linesAround  = 7 // of a table beside its rows: caption, heading, and what is left out
)

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
	m, end := &markdown{most: most}, r.markdownEnd(&o, most)
	m.head(r, &o)
	tables := []Table{r.shadowTable(), r.shadowLoadTable(), r.tilingTable(), r.sessionsTable(), r.reasoningTable(),
		r.answersTable(), r.speculationTable(), r.workersTable()}
	predicted, limits := r.besideTables(&o)
	tables = append(tables, limits, predicted)
	if p := o.publishedPoint(); p != nil {
		tables = append(tables, o.publishedTable(p))
	}
	if most == 0 { // the head has what the first workload is compared with
		tables = append(tables, o.racedTable(), o.settingsTable())
	}
	m.tables(end.lines, append(tables, o.workloadsTable())...)
	m.points(o.summaryPoints(), m.room()-end.lines)
	m.b.WriteString(end.b.String())
	return m.flush(w)
}

// markdownEnd is what follows the points.
func (r *Run) markdownEnd(o *Analysis, most int) *markdown {
	m := &markdown{most: most}
	m.line("Latencies in ms. `★` operating point of its workload, `~` thin, `≥` n too small: the lower end of the 95 % interval.")
	m.list("Findings", o.summaryFindings())
	if len(r.Manifest.Command) > 0 {
		m.line("Reproduce, with the matrix of report.html:")
		m.code(text.ShellWords(r.Manifest.Command), 1)
	}
	if r.Notes != "" {
		m.code(r.Notes, min(m.room(), mostNotes))
	}
	return m
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

// points leaves out those that PASS first, of these the operating points last.
func (m *markdown) points(t Table, room int) {
	room -= linesAround
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
			m.item("caution", text)
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
	m.item("", v.Estimate)
	m.item("twin", v.Twin)
	m.item("", v.FiguresLine())
	for _, c := range v.Classes {
		m.item(escapeMarkdown(c.Name), c.Text)
	}
	m.item("tenants", v.Tenants)
	m.item("settings", strings.Join(v.Settings, "; "))
	m.item("next", v.Next)
	m.item("caution", v.Caution)
	m.item("trust", v.Trust)
	m.item("result", o.Answer.Text)
	m.item("time", o.Time.Line())
	m.write("")
}

func (m *markdown) room() int {
	if m.most == 0 {
		return math.MaxInt32
	}
	return m.most - m.lines
}

// tables writes the first rows of the tables, as far as they leave lines for points and what follows.
func (m *markdown) tables(following int, tables ...Table) {
	var out []string
	for _, t := range tables {
		all := len(t.Rows)
		if m.most > 0 {
			t.Rows = t.Rows[:max(0, min(all, mostRows, m.room()-following-2*linesAround-leastPoints))]
		}
		if all > 0 && len(t.Rows) == 0 {
			out = append(out, t.Caption)
		}
		m.table(t)
		if more := all - len(t.Rows); more > 0 && len(t.Rows) > 0 {
			m.line("and " + unit.Plural(more, "more row") + elsewhere)
		}
	}
	if len(out) > 0 {
		m.line("Left out: " + escapeMarkdown(strings.Join(out, "; ")) + elsewhere)
	}
}

package report

import (
	"fmt"
	"io"
	"strings"

	"bench/experiment/record"
	"bench/experiment/text"
)

// Markdown writes runs, before them side by side if they have a workload in common.
func Markdown(w io.Writer, runs ...*Run) error {
	m := &markdown{}
	if x := SystemsOf(runs); x != nil {
		m.line("**" + escapeMarkdown(x.Text) + "**")
		m.line(escapeMarkdown(x.Setup))
		for _, text := range x.Cautions {
			m.line("Caution: " + escapeMarkdown(text))
		}
		m.table(x.Table())
	}
	for _, run := range runs {
		m.run(run)
	}
	return m.flush(w)
}

func (m *markdown) run(r *Run) {
	o := r.Analyze()
	m.head(r, &o)
	predicted, limits := r.besideTables(&o)
	m.tables(r.shadowTable(), r.shadowLoadTable(), r.tilingTable(), r.sessionsTable(), r.reasoningTable(),
		r.answersTable(), r.speculationTable(), r.workersTable(), limits, predicted)
	if p := o.publishedPoint(); p != nil {
		m.table(o.publishedTable(p))
	}
	m.tables(o.racedTable(), o.settingsTable(), o.workloadsTable(), o.pointsTable())
	m.line("`★` operating point of its workload, `~` thin, `≥` n too small: the lower end of the 95 % interval.")
	m.findings(&o)
	if len(r.Manifest.Command) > 0 {
		m.line("Reproduce, with the matrix of report.html:")
		m.code(text.ShellWords(r.Manifest.Command))
	}
	if r.Notes != "" {
		m.code(r.Notes)
	}
}

func (m *markdown) findings(o *Analysis) {
	if len(o.Findings) == 0 {
		return
	}
	m.line("## Findings")
	for _, d := range o.Findings {
		if d.Severity != record.Note {
			m.item("", string(d.Severity)+" "+d.text())
		}
	}
	m.item("notes", o.notes())
	m.write("")
}

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

package report

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"bench/experiment/record"
	"bench/experiment/text"
)

type markdown struct{ b strings.Builder }

func (m *markdown) write(s string) { m.b.WriteString(s + "\n") }

func (m *markdown) line(s string) { m.write(s); m.write("") }

func (m *markdown) flush(w io.Writer) error {
	if _, err := io.WriteString(w, m.b.String()); err != nil {
		return fmt.Errorf("writing Markdown: %w", err)
	}
	return nil
}

func (m *markdown) tables(tables ...Table) {
	for _, t := range tables {
		if len(t.Rows) > 0 {
			m.table(t)
		}
	}
}

func (m *markdown) table(t Table) {
	m.line("## " + escapeMarkdown(t.Caption))
	if t.Note != "" {
		m.line(escapeMarkdown(t.Note))
	}
	texts := [][]string{{}}
	for _, c := range t.Columns {
		texts[0] = append(texts[0], escapeMarkdown(strings.TrimSpace(c.Head+" "+c.Unit)))
	}
	for _, row := range t.Rows {
		var line []string
		for _, c := range row {
			var lines []string
			for part := range strings.SplitSeq(c.Full(), "\n") {
				lines = append(lines, escapeMarkdown(part))
			}
			text := strings.Join(lines, "<br>")
			if c.Tag != "" {
				text += " *(" + escapeMarkdown(c.Tag) + ")*"
			}
			line = append(line, text)
		}
		texts = append(texts, line)
	}
	widths := make([]int, len(t.Columns))
	for i := range widths {
		widths[i] = 4
		for _, line := range texts {
			if w := text.Width(line[i]); i < len(widths)-1 || t.Columns[i].Num {
				widths[i] = max(widths[i], min(w, 60))
			}
		}
	}
	for k, line := range texts {
		for i := range line {
			if t.Columns[i].Num {
				line[i] = text.PadLeft(line[i], widths[i])
			} else {
				line[i] = text.Pad(line[i], widths[i])
			}
		}
		m.write("| " + strings.Join(line, " | ") + " |")
		if k == 0 {
			rules := make([]string, len(widths))
			for i, c := range t.Columns {
				if rules[i] = strings.Repeat("-", widths[i]); c.Num {
					rules[i] = rules[i][1:] + ":"
				}
			}
			m.write("| " + strings.Join(rules, " | ") + " |")
		}
	}
	m.write("")
}

// item is of a list, with a trusted label; without a text it is none.
func (m *markdown) item(label, s string) {
	if label != "" {
		label += ": "
	}
	if s != "" {
		m.write("- " + label + escapeMarkdown(s))
	}
}

// code writes text as indented code, which nothing in it can end.
func (m *markdown) code(s string) {
	for line := range strings.SplitSeq(strings.TrimRight(s, "\r\n"), "\n") {
		m.write("    " + text.Escape(strings.TrimRight(line, "\r")))
	}
	m.write("")
}

// escapeMarkdown keeps untrusted text from becoming a table cell, code, emphasis, a link, a mention or HTML.
// By the rules of CommonMark and GFM most characters do that only in some places, and are left alone
// elsewhere so that the file stays readable: _ within a word, ~ before a word, < before a space, ] that no (
// follows.
func escapeMarkdown(s string) string {
	runes := []rune(text.Escape(s))
	at := func(i int) rune {
		if i < 0 || i >= len(runes) {
			return ' '
		}
		return runes[i]
	}
	word := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	var b strings.Builder
	for i, r := range runes {
		before, after := at(i-1), at(i+1)
		switch {
		case strings.ContainsRune("\\`*|#", r),
			r == '_' && !(word(before) && word(after)),
			r == '~' && !((unicode.IsSpace(before) || strings.ContainsRune("([", before)) && word(after)),
			r == ']' && strings.ContainsRune("([:", after):
			b.WriteString("\\" + string(r))
		case r == '<' && !unicode.IsSpace(after), r == '>' && i == 0, r == '&' && (word(after) || after == '#'),
			r == '@', r == ':' && after == '/' && at(i+2) == '/',
			r == '.' && strings.EqualFold(string(runes[max(0, i-3):i]), "www"):
			fmt.Fprintf(&b, "&#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Markdown writes runs, before them side by side if they have a workload in common.
func Markdown(w io.Writer, runs ...*Run) error {
	m := &markdown{}
	if x := SystemsOf(runs); x != nil {
		m.line("**" + escapeMarkdown(x.Text) + "**")
		m.line(escapeMarkdown(x.Setup))
		for _, text := range x.Cautions {
			m.line("Caution: " + escapeMarkdown(text))
		}
		m.tables(x.Table())
	}
	for _, run := range runs {
		m.run(run)
	}
	return m.flush(w)
}

func (m *markdown) run(r *Run) {
	o := r.Analyze()
	m.head(r, &o)
	predicted, limits := besideTables(r, &o)
	if r.Shadow != nil {
		m.tables(shadowTable(r.Shadow), shadowLoadTable(r.Shadow))
	}
	m.tables(tilingTable(r), sessionsTable(r), reasoningTable(r), answersTable(r), speculationTable(r),
		workersTable(r), limits, predicted)
	if p := publishedPoint(&o); p != nil {
		m.tables(publishedTable(&o, p))
	}
	m.tables(racedTable(&o), settingsTable(&o), workloadsTable(&o), pointsTable(&o))
	m.line("`★` operating point of its workload, `↑` a higher load passes, `(twin)` the fitted model " +
		"decides, `~` thin, `≥` n too small: the lower end of the 95 % interval.")
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
	m.item("", v.figuresLine())
	for _, c := range v.Classes {
		m.item(escapeMarkdown(c.Name), c.Text)
	}
	m.item("tenants", v.Tenants)
	m.item("settings", strings.Join(v.Settings, "; "))
	m.item("next", v.Next)
	m.item("caution", v.Caution)
	m.item("trust", v.Trust)
	m.item("result", o.Answer.Text)
	m.item("time", o.Time.line())
	m.write("")
}

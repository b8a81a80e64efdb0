package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"bench/experiment/columns"
	"bench/experiment/record"
	"bench/experiment/safetext"
	"bench/experiment/unit"
)

// The length of a summary, which must be readable with cat, in lines, and of its list of findings.
const (
	mostLines    = 60
	mostFindings = 6
)

// Markdown writes the summary of a run: the answer, the workloads, the points, the findings, the command, in at
// most 60 lines. The page has the rest.
func Markdown(w io.Writer, run *Run) error {
	o := run.Analyze()
	m := &markdown{}
	m.head(run, &o)
	m.rows(run.tilingTable(InHeading), 4, "report.html")
	m.rows(run.sessionsTable(), 6, "report.html")
	m.rows(run.reasoningTable(), 4, "report.html")
	m.rows(run.answersTable(), 4, "report.html")
	m.rows(run.speculationTable(), 4, "report.html")
	m.rows(run.speculationGainsTable(), 4, "report.html")
	predicted, limits := run.besideTables(&o)
	m.rows(limits, 4, "report.html")
	m.rows(predicted, 12, "report.html")
	if len(o.Answer.Workloads) > 1 {
		m.rows(o.workloadsTable(), 8, "report.html")
	}
	if _, p := o.publishedPoint(); p != nil {
		m.rows(o.publishedTable(InHeading, p), 6, "report.html")
	}
	findings := o.summaryFindings()
	after := 2 // lines after the points: the legend, and the parts that the run has
	if n := len(findings); n > 0 {
		after += 4 + min(n, mostFindings)
	}
	if len(run.Manifest.Command) > 0 {
		after += 4
	}
	if run.Notes != "" {
		after += 1 + min(strings.Count(run.Notes, "\n")+1, 4)
	}
	const overhead = 7 // of a table: caption, heading, where the other rows are
	m.rows(o.summaryPoints(), max(3, mostLines-m.lines-after-overhead), "report.html")
	m.line("Latencies in ms. `★` operating point of its workload, `~` thin, `≥` n too small: the lower end of the 95 % interval.")
	m.list("Findings", findings, mostFindings)
	if len(run.Manifest.Command) > 0 {
		words := make([]string, len(run.Manifest.Command))
		for i, word := range run.Manifest.Command {
			words[i] = safetext.ShellWord(word)
		}
		m.line("Reproduce, with the matrix of report.html:")
		m.code(strings.Join(words, " "), 1)
	}
	if run.Notes != "" {
		m.code(run.Notes, max(1, mostLines-m.lines-1))
	}
	return m.flush(w)
}

// summaryPoints is the columns of all points that fit a summary.
func (o *Analysis) summaryPoints() Table {
	t := o.pointsTable(InHeading)
	t.Caption = "Points"
	var shown []int
	for i, c := range t.Columns {
		if !slices.Contains([]string{"E2E p99", "USD/M out", "cautions"}, c.Head) {
			shown = append(shown, i)
		}
	}
	pick := func(row []Cell) []Cell {
		out := make([]Cell, len(shown))
		for i, k := range shown {
			out[i] = row[k]
			out[i].Tag = ""
		}
		return out
	}
	out := Table{ID: t.ID, Caption: t.Caption}
	for _, k := range shown {
		out.Columns = append(out.Columns, t.Columns[k])
		out.Columns[len(out.Columns)-1].Unit = ""
	}
	for _, row := range t.Rows {
		out.Add(pick(row)...)
	}
	return out
}

// summaryFindings is one line for each code; notes share one.
func (o *Analysis) summaryFindings() []string {
	var lines, notes []string
	for _, d := range o.Findings {
		if d.Severity == record.Note {
			notes = append(notes, d.Code)
			continue
		}
		lines = append(lines, fmt.Sprintf("%s %s (%s): %s", d.Severity, d.Code, unit.Plural(len(d.Cases), "row"), d.Cases[0].Text))
	}
	if len(notes) > 0 {
		lines = append(lines, "notes: "+unit.Some(notes))
	}
	return lines
}

type markdown struct {
	b     strings.Builder
	lines int
}

func (m *markdown) write(s string) {
	m.b.WriteString(s + "\n")
	m.lines++
}

// line writes a block of trusted Markdown.
func (m *markdown) line(s string) { m.write(s); m.write("") }

func (m *markdown) flush(w io.Writer) error {
	if _, err := io.WriteString(w, m.b.String()); err != nil {
		return fmt.Errorf("writing Markdown: %w", err)
	}
	return nil
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
	m.line(escapeMarkdown(run.Setup()) + "  \nSLO: " + escapeMarkdown(o.SLOLine()))
	m.lines++
	w, _ := o.First()
	if w == nil {
		m.line("**" + escapeMarkdown(o.Answer.Text) + "**")
		return
	}
	v := o.View(w)
	m.line("**" + escapeMarkdown(v.Headline) + "**: " + escapeMarkdown(v.Text))
	m.write("- " + escapeMarkdown(v.FiguresLine()))
	for _, x := range [][2]string{{"next", v.Next}, {"caution", v.Caution}, {"trust", v.Trust}, {"result", o.Answer.Text}, {"time", o.Time.Line()}} {
		if x[1] != "" {
			m.write("- " + x[0] + ": " + escapeMarkdown(x[1]))
		}
	}
	m.write("")
}

// table writes a table with its note.
func (m *markdown) table(t Table) { m.rows(t, len(t.Rows), "") }

// rows writes a table of at most so many rows, with aligned columns, and where the others are.
func (m *markdown) rows(t Table, most int, elsewhere string) {
	if len(t.Rows) == 0 {
		return
	}
	m.line("## " + escapeMarkdown(t.Caption))
	if t.Note != "" {
		m.line(escapeMarkdown(t.Note))
	}
	texts := [][]string{{}}
	for _, c := range t.Columns {
		texts[0] = append(texts[0], escapeMarkdown(strings.TrimSpace(c.Head+" "+c.Unit)))
	}
	for _, row := range t.Rows[:min(most, len(t.Rows))] {
		var line []string
		for _, c := range row {
			lines := strings.Split(c.Text, "\n")
			for i := range lines {
				lines[i] = escapeMarkdown(lines[i])
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
			if w := columns.Width(line[i]); i < len(widths)-1 || t.Columns[i].Num {
				widths[i] = max(widths[i], min(w, 60))
			}
		}
	}
	for k, line := range texts {
		for i := range line {
			if t.Columns[i].Num {
				line[i] = columns.PadLeft(line[i], widths[i])
			} else {
				line[i] = columns.Pad(line[i], widths[i])
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
	if more := len(t.Rows) - most; more > 0 {
		m.line("and " + unit.Plural(more, "more row") + ": " + elsewhere)
	}
}

// list writes at most so many lines.
func (m *markdown) list(caption string, lines []string, most int) {
	if len(lines) == 0 {
		return
	}
	m.line("## " + caption)
	for _, line := range lines[:min(most, len(lines))] {
		m.write("- " + escapeMarkdown(line))
	}
	if more := len(lines) - most; more > 0 {
		m.write("- " + unit.Plural(more, "more code") + ": report.html")
	}
	m.write("")
}

// code writes text as indented code, which nothing in it can end.
func (m *markdown) code(text string, most int) {
	lines := strings.Split(strings.TrimRight(text, "\r\n"), "\n")
	for i, line := range lines {
		if i == most-1 && len(lines) > most {
			m.write(fmt.Sprintf("    … %s more: notes.md", unit.Plural(len(lines)-i, "line")))
			break
		}
		m.write("    " + safetext.Escape(strings.TrimRight(line, "\r")))
	}
	m.write("")
}

// escapeMarkdown keeps untrusted text from becoming a table cell, code, emphasis, a link, a mention or HTML.
// By the rules of CommonMark and GFM most characters do that only in some places, and are left alone
// elsewhere so that the file stays readable: _ within a word, ~ before a word, < before a space, ] that no (
// follows.
func escapeMarkdown(s string) string {
	runes := []rune(safetext.Escape(s))
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
		case r == '<' && !unicode.IsSpace(after),
			r == '>' && i == 0,
			r == '&' && (word(after) || after == '#'),
			r == '@',
			r == ':' && after == '/' && at(i+2) == '/',
			r == '.' && strings.EqualFold(string(runes[max(0, i-3):i]), "www"):
			fmt.Fprintf(&b, "&#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// folded writes blocks that a reader opens, below a trusted heading. GitHub and GitLab fold them.
func (m *markdown) folded(summary string, blocks func()) {
	m.line("<details><summary>" + summary + "</summary>")
	blocks()
	m.line("</details>")
}

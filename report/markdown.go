package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"bench/experiment/safetext"
)

// Markdown writes the decision record of a run.
func Markdown(w io.Writer, run *Run) error {
	o := run.Outcome()
	m := &markdown{}
	m.head(run, &o)
	m.table(o.operatingTable())
	m.table(o.pointsTable(InHeading))
	m.line("Latencies in ms. `~`: thin, few independent requests beyond it. `≥`: n too small, the lower end of the 95 % interval. *" + closedLoop +
		"*: latencies count from the moment a worker is free.")
	for _, t := range []Table{o.seriesTable(), run.searchesTable(), o.stagesTable(), o.rejectedTable(), o.diagnosisTable(), o.unmeasuredTable(), o.expectTable(),
		o.classesTable(InHeading), run.sloTable(), o.rooflineTable(InHeading), o.prefixTable(InHeading), run.interferenceTable(InHeading), o.costsTable(),
		run.variantsTable(&o), run.reuseTable(), run.coldTable(), o.findingsTable(), run.clientTable(), run.missingTable(), run.reproduceTable(), run.metadataTable()} {
		m.table(t)
	}
	if run.Notes != "" {
		m.line("## Notes")
		for line := range strings.Lines(run.Notes) {
			m.b.WriteString("    " + safetext.Escape(strings.TrimRight(line, "\r\n")) + "\n")
		}
	}
	return m.flush(w)
}

type markdown struct{ b strings.Builder }

// line writes a block of trusted Markdown.
func (m *markdown) line(s string) { m.b.WriteString(s + "\n\n") }

func (m *markdown) flush(w io.Writer) error {
	if _, err := io.WriteString(w, m.b.String()); err != nil {
		return fmt.Errorf("writing Markdown: %w", err)
	}
	return nil
}

func (m *markdown) head(run *Run, o *Outcome) {
	f := run.Manifest
	m.line("# " + escapeMarkdown(fmt.Sprintf("%s, run %s", f.Matrix, f.Run)))
	if run.Simulated() {
		m.line("**SIMULATED: measured against a simulated server.**")
	}
	for _, line := range run.Evaluated.Lines() {
		m.line("**" + escapeMarkdown(line) + "**")
	}
	if f.Hypothesis != "" {
		m.line("Hypothesis: " + escapeMarkdown(f.Hypothesis))
	}
	if happened := o.Happened(); happened != "" {
		m.line("Outcome: " + escapeMarkdown(happened))
	}
	m.line(escapeMarkdown(run.Setup(o)))
	for _, x := range run.Cards(o) {
		lines := slices.Concat([]string{x.Lead}, x.Lines)
		for i := range lines {
			lines[i] = escapeMarkdown(lines[i])
		}
		m.b.WriteString("- **" + escapeMarkdown(x.Head) + "**: " + strings.Join(lines, "  \n  ") + "\n")
	}
	m.b.WriteString("\n")
}

func (m *markdown) table(t Table) {
	if len(t.Rows) == 0 {
		return
	}
	m.line("## " + escapeMarkdown(t.Caption))
	if t.Note != "" {
		m.line(escapeMarkdown(t.Note))
	}
	heads, rules := make([]string, len(t.Columns)), make([]string, len(t.Columns))
	for i, c := range t.Columns {
		heads[i] = escapeMarkdown(strings.TrimSpace(c.Head + " " + c.Unit))
		rules[i] = "---"
		if c.Num {
			rules[i] = "---:"
		}
	}
	m.row(heads)
	m.row(rules)
	for _, row := range t.Rows {
		texts := make([]string, len(row))
		for i, c := range row {
			texts[i] = escapeMarkdown(c.Text)
			if c.Tag != "" {
				texts[i] += " *(" + escapeMarkdown(c.Tag) + ")*"
			}
		}
		m.row(texts)
	}
	m.b.WriteString("\n")
}

func (m *markdown) row(cells []string) { m.b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }

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

package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Markdown writes the decision record: what was asked, what came out, what may be doubted.
func Markdown(w io.Writer, run *Run) error {
	o := run.Outcome()
	m := &markdown{}
	m.head(run, &o)
	m.table(o.operatingTable())
	m.table(run.searchesTable())
	m.table(o.walkTable())
	m.table(o.rejectedTable())
	m.table(o.diagnosisTable())
	m.table(o.unmeasuredTable())
	m.table(o.seriesTable())
	m.table(o.expectTable())
	m.table(o.pointsTable(inHeading))
	m.line("Latencies in ms. `~`: thin, few requests lie beyond it. `≥`: too few requests for an upper bound, the lower end of the 95 % interval is shown. *from slot*: a closed loop, latencies count from the moment the slot became free.")
	m.table(o.classesTable(inHeading))
	m.table(run.sloTable())
	m.table(o.boundsTable(inHeading))
	m.table(o.prefixTable(inHeading))
	m.table(run.interferenceTable(inHeading))
	m.table(o.costsTable())
	m.table(run.serversTable(&o))
	m.table(run.reuseTable())
	m.table(run.coldTable())
	m.table(o.findingsTable())
	m.table(run.readingTable())
	m.table(run.missingTable())
	m.table(run.reproduceTable())
	m.table(run.metadataTable())
	if run.Notes != "" {
		m.line("## Notes")
		for line := range strings.Lines(run.Notes) {
			m.b.WriteString("    " + visible(strings.TrimRight(line, "\r\n")) + "\n")
		}
	}
	if _, err := io.WriteString(w, m.b.String()); err != nil {
		return fmt.Errorf("writing Markdown: %w", err)
	}
	return nil
}

type markdown struct{ b strings.Builder }

// line writes a block of Markdown of our own.
func (m *markdown) line(s string) { m.b.WriteString(s + "\n\n") }

func (m *markdown) head(run *Run, o *Outcome) {
	f := run.Manifest
	m.line("# " + escapeMarkdown(fmt.Sprintf("%s, run %s", f.Matrix, f.Run)))
	if run.Simulated() {
		m.line("**SIMULATED: measured against a simulated server, not a real one.**")
	}
	if f.Hypothesis != "" {
		m.line("Hypothesis: " + escapeMarkdown(f.Hypothesis))
	}
	if happened := o.happened(); happened != "" {
		m.line("Outcome: " + escapeMarkdown(happened))
	}
	m.line(escapeMarkdown(run.tested(o)))
	for _, x := range run.front(o) {
		lines := slices.Concat([]string{x.Lead}, x.Lines)
		for i := range lines {
			lines[i] = escapeMarkdown(lines[i])
		}
		m.b.WriteString("- **" + escapeMarkdown(x.Head) + "**: " + strings.Join(lines, "  \n  ") + "\n")
	}
	m.b.WriteString("\n")
}

func (m *markdown) table(t table) {
	if len(t.rows) == 0 {
		return
	}
	m.line("## " + escapeMarkdown(t.caption))
	if t.note != "" {
		m.line(t.note)
	}
	heads, rules := make([]string, len(t.columns)), make([]string, len(t.columns))
	for i, c := range t.columns {
		heads[i] = escapeMarkdown(strings.TrimSpace(c.head + " " + c.unit))
		rules[i] = "---"
		if c.num {
			rules[i] = "---:"
		}
	}
	m.row(heads)
	m.row(rules)
	for _, row := range t.rows {
		texts := make([]string, len(row))
		for i, c := range row {
			texts[i] = escapeMarkdown(c.text)
			if c.tag != "" {
				texts[i] += " *(" + escapeMarkdown(c.tag) + ")*"
			}
		}
		m.row(texts)
	}
	m.b.WriteString("\n")
}

func (m *markdown) row(cells []string) { m.b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }

// escapeMarkdown makes untrusted text stay text: no table cell, code, emphasis, link or HTML comes
// of it. A URL gets a break after its scheme, as renderers link bare ones by themselves.
func escapeMarkdown(s string) string {
	return markdownEscapes.Replace(visible(s))
}

var markdownEscapes = func() *strings.Replacer {
	pairs := []string{"&", "&amp;", "<", "&lt;", ">", "&gt;", "://", "&#58;//", "www.", "www&#46;", "@", "&#64;"}
	for _, c := range "\\`*_[]|#~" {
		pairs = append(pairs, string(c), "\\"+string(c))
	}
	return strings.NewReplacer(pairs...)
}()

package report

import (
	"io"
	"strings"

	"bench/experiment/columns"
	"bench/experiment/safetext"
)

// Widths of the first column, in columns of the terminal.
const (
	nameWidth    = 26 // the last column is narrowed before the first one gets narrower than this
	narrowestOne = 12
)

// WriteTable writes a table for a terminal of 100 columns.
func WriteTable(w io.Writer, t Table, color bool) error {
	p := &printer{color: color}
	p.table(t)
	return p.flush(w)
}

// table draws columns two spaces apart under two heading lines, name and unit. If the table is wider than the
// screen, the last column and then the first one wrap.
func (p *printer) table(t Table) {
	widths := t.widths()
	var over, under []string
	for i, c := range t.Columns {
		over, under = append(over, pad(c.Head, widths[i], c.Num)), append(under, pad(c.Unit, widths[i], c.Num))
	}
	p.line(strings.Join(over, "  "))
	p.line(strings.Join(under, "  "))
	for _, row := range t.Rows {
		p.row(&t, row, widths)
	}
}

// widths are the widths of the columns; together they fit the screen if that is possible.
func (t *Table) widths() []int {
	widths := make([]int, len(t.Columns))
	rest := -2
	for i, c := range t.Columns {
		widths[i] = max(columns.Width(c.Head), columns.Width(c.Unit))
		for _, row := range t.Rows {
			if i < len(row) && len(row) > 1 { // a row of one cell spans the table
				widths[i] = max(widths[i], columns.Width(safetext.Escape(row[i].Text)))
			}
		}
		rest += 2 + widths[i]
	}
	last := len(widths) - 1
	if rest <= screen || last < 1 {
		return widths
	}
	rest -= widths[0] + widths[last]
	heading := max(columns.Width(t.Columns[last].Head), columns.Width(t.Columns[last].Unit))
	widths[last] = min(widths[last], max(heading, screen-rest-min(widths[0], nameWidth)))
	widths[0] = min(widths[0], max(narrowestOne, screen-rest-widths[last]))
	return widths
}

// row draws a row on the lines that its first and last cells need.
func (p *printer) row(t *Table, row []Cell, widths []int) {
	name := safetext.Escape(row[0].Text)
	if len(row) == 1 {
		for _, part := range fold(name, screen) {
			p.line(part)
		}
		return
	}
	last := len(row) - 1
	names, notes := fold(name, widths[0]), words(safetext.Escape(row[last].Text), widths[last])
	line := columns.Pad(names[0], widths[0])
	for i := 1; i < last; i++ {
		line += "  " + p.cell(row[i].Kind, safetext.Escape(row[i].Text), widths[i], t.Columns[i].Num)
	}
	before := columns.Width(line)
	for i := range max(len(names), len(notes)) {
		if i > 0 {
			line = ""
			if i < len(names) {
				line = names[i]
			}
			line = columns.Pad(line, before)
		}
		if i < len(notes) {
			line += "  " + p.cell(row[last].Kind, notes[i], widths[last], t.Columns[last].Num)
		}
		p.line(line)
	}
}

// cell is a painted text, padded.
func (p *printer) cell(k Kind, s string, width int, right bool) string {
	space := strings.Repeat(" ", max(0, width-columns.Width(s)))
	if right {
		return space + p.paint(k, s)
	}
	return p.paint(k, s) + space
}

// fold breaks a name into lines, after a separator if possible, and indents all but the first.
func fold(s string, width int) []string {
	const indent = "    "
	head := clipNonEmpty(s, width)
	lines := []string{}
	for lead := ""; ; lead = indent {
		if len(head) < len(s) {
			if at := strings.LastIndexAny(head, " -,=/") + 1; at > len(head)/3 {
				head = head[:at]
			}
		}
		lines = append(lines, lead+head)
		if s = s[len(head):]; s == "" {
			return lines
		}
		head = clipNonEmpty(s, width-len(indent))
	}
}

// words breaks a text into lines; a word longer than the width has its own line.
func words(s string, width int) []string {
	var lines []string
	for _, word := range strings.Fields(s) {
		if n := len(lines); n > 0 && columns.Width(lines[n-1])+1+columns.Width(word) <= width {
			lines[n-1] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

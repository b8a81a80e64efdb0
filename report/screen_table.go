package report

import "strings"

// What the first column of a table may take before the last one, and at the least.
const (
	nameWidth    = 26
	narrowestOne = 12
)

// table draws columns two spaces apart, headings in two lines: the name above, the unit below. Where the screen is too narrow
// the last column and then the first one give way: what does not fit goes on in the next line.
func (p *printer) table(t table) {
	widths := t.widths()
	var over, under []string
	for i, c := range t.columns {
		over, under = append(over, pad(c.head, widths[i], c.num)), append(under, pad(c.unit, widths[i], c.num))
	}
	p.line(strings.Join(over, "  "))
	p.line(strings.Join(under, "  "))
	for _, row := range t.rows {
		p.row(&t, row, widths)
	}
}

// widths are those of the columns, so that together they fit the screen if there is any way.
func (t *table) widths() []int {
	widths := make([]int, len(t.columns))
	rest := -2
	for i, c := range t.columns {
		widths[i] = max(cells(c.head), cells(c.unit))
		for _, row := range t.rows {
			if i < len(row) && len(row) > 1 { // a row of one cell has the line to itself
				widths[i] = max(widths[i], cells(visible(row[i].text)))
			}
		}
		rest += 2 + widths[i]
	}
	last := len(widths) - 1
	if rest <= screen || last < 1 {
		return widths
	}
	rest -= widths[0] + widths[last]
	heading := max(cells(t.columns[last].head), cells(t.columns[last].unit))
	widths[last] = min(widths[last], max(heading, screen-rest-min(widths[0], nameWidth)))
	widths[0] = min(widths[0], max(narrowestOne, screen-rest-widths[last]))
	return widths
}

// row draws a row in as many lines as its first and last cells need.
func (p *printer) row(t *table, row []cell, widths []int) {
	name := visible(row[0].text)
	if len(row) == 1 {
		for _, part := range fold(name, screen) {
			p.line(part)
		}
		return
	}
	last := len(row) - 1
	names, notes := fold(name, widths[0]), words(visible(row[last].text), widths[last])
	line := pad(names[0], widths[0], false)
	for i := 1; i < last; i++ {
		line += "  " + p.cell(row[i].kind, visible(row[i].text), widths[i], t.columns[i].num)
	}
	before := cells(line)
	for i := range max(len(names), len(notes)) {
		if i > 0 {
			line = ""
			if i < len(names) {
				line = names[i]
			}
			line = pad(line, before, false)
		}
		if i < len(notes) {
			line += "  " + p.cell(row[last].kind, notes[i], widths[last], t.columns[last].num)
		}
		p.line(line)
	}
}

// cell is a painted text with its space.
func (p *printer) cell(k kind, s string, width int, right bool) string {
	space := strings.Repeat(" ", max(0, width-cells(s)))
	if right {
		return space + p.paint(k, s)
	}
	return p.paint(k, s) + space
}

// fold cuts a name into lines, if it can behind a mark that parts its words; all but the first are indented.
func fold(s string, width int) []string {
	const indent = "    "
	head := clip(s, width)
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
		head = clip(s, width-len(indent))
	}
}

// words lays a text out in lines of a width; a word that is longer has a line of its own.
func words(s string, width int) []string {
	var lines []string
	for _, word := range strings.Fields(s) {
		if n := len(lines); n > 0 && cells(lines[n-1])+1+cells(word) <= width {
			lines[n-1] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

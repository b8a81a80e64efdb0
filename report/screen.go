package report

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"bench/experiment/text"
)

// Screen is what text is laid out for. The zero value is no terminal: a file or a pipe.
type Screen struct {
	Width int  // in columns; 0: 100
	Color bool // colour repeats what the words say
}

const (
	usualWidth     = 100
	narrowestWidth = 40 // a narrower terminal breaks the lines itself
)

// printer lays out text for a terminal. It escapes every text but the lead of wrap.
type printer struct {
	b     strings.Builder
	width int // every line fits it
	color bool
}

func newPrinter(s Screen) *printer { return &printer{width: s.Columns(), color: s.Color} }

func (s Screen) Columns() int { return max(narrowestWidth, cmp.Or(s.Width, usualWidth)) }

func (p *printer) flush(w io.Writer) error {
	if _, err := io.WriteString(w, p.b.String()); err != nil {
		return fmt.Errorf("writing text: %w", err)
	}
	return nil
}

func (p *printer) line(s string) { p.b.WriteString(strings.TrimRight(s, " ") + "\n") }

func (p *printer) wrap(lead, s string) {
	indent := strings.Repeat(" ", len(lead)-len(strings.TrimLeft(lead, " "))+3)
	for _, line := range text.Wrap(lead, text.Escape(s), indent, p.width) {
		p.line(line)
	}
}

// wraps writes each text that is not empty.
func (p *printer) wraps(lead string, texts ...string) {
	for _, s := range texts {
		if s != "" {
			p.wrap(lead, s)
		}
	}
}

// clip writes lead and a text in one line; what does not fit is left out.
func (p *printer) clip(lead, s string) {
	p.line(lead + text.Ellipsis(text.Escape(s), p.width-text.Width(lead)))
}

func (p *printer) paint(k Kind, s string) string {
	code := map[Kind]string{Passed: "32", Failed: "31", Undecided: "33", NoBound: "2", Faint: "2"}[k]
	if !p.color || code == "" || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

const (
	narrowestName = 12 // of the first column
	widestWord    = 24 // a longer word may break
)

const separators = " -,=/"

// usualName is the width of the first column that the others leave it.
func usualName(width int) int { return max(18, width/4) }

func WriteTable(w io.Writer, t Table, s Screen) error {
	p := newPrinter(s)
	p.table(t)
	return p.flush(w)
}

// table draws columns two spaces apart under heading lines, name and unit. In a table wider than the screen the
// cells without figures wrap; if that is not enough, each row is a paragraph.
func (p *printer) table(t Table) {
	widths := t.widths(p.width)
	if widthOf(widths) > p.width {
		p.list(t)
		return
	}
	heads, units := make([]Cell, len(t.Columns)), make([]Cell, len(t.Columns))
	for i, c := range t.Columns {
		heads[i], units[i] = TextCell(c.Head), TextCell(c.Unit)
	}
	p.row(&t, heads, widths)
	if slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Unit != "" }) {
		p.row(&t, units, widths)
	}
	for _, row := range t.Rows {
		p.row(&t, row, widths)
	}
}

func widthOf(widths []int) int {
	n := 2 * (len(widths) - 1)
	for _, w := range widths {
		n += w
	}
	return n
}

func (t *Table) widths(screen int) []int {
	widths := t.naturalWidths()
	least := slices.Clone(widths) // figures never wrap
	for i, c := range t.Columns {
		if !c.Num {
			least[i] = max(text.LongestWord(c.Head), text.LongestWord(c.Unit))
			for cell := range t.column(i) {
				least[i] = max(least[i], min(text.LongestWord(cell), widestWord))
			}
		}
	}
	room := screen - 2*(len(widths)-1)
	// The name gives way first, but not below its usual width; then the other texts; then the name again.
	name := usualName(screen)
	for cell := range t.column(0) {
		for part := range strings.FieldsFuncSeq(cell,
			func(r rune) bool { return strings.ContainsRune(separators, r) }) {
			name = max(name, min(text.Width(part), widestWord))
		}
	}
	whole := append([]int{min(widths[0], name)}, widths[1:]...)
	text.Narrow(widths, whole, room)
	least[0] = widths[0]
	text.Narrow(widths, least, room)
	least[0] = min(widths[0], narrowestName)
	text.Narrow(widths, least, room)
	return widths
}

func (t *Table) naturalWidths() []int {
	widths := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		widths[i] = max(text.Width(c.Head), text.Width(c.Unit))
		for cell := range t.column(i) {
			widths[i] = max(widths[i], text.Width(cell))
		}
	}
	return widths
}

// column yields the escaped cells of a column, without rows of one cell: they span the table.
func (t *Table) column(i int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, row := range t.Rows {
			if i < len(row) && len(row) > 1 && !yield(text.Escape(row[i].Full())) {
				return
			}
		}
	}
}

func (p *printer) row(t *Table, row []Cell, widths []int) {
	name := text.Escape(row[0].Text)
	if len(row) == 1 {
		for _, part := range fold(name, p.width) {
			p.line(part)
		}
		return
	}
	parts, height := make([][]string, len(row)), 0
	for i, c := range row {
		switch s := text.Escape(c.Full()); {
		case i == 0:
			parts[i] = fold(name, widths[0])
		case text.Width(s) <= widths[i]:
			parts[i] = []string{s}
		default:
			parts[i] = text.Wrap("", s, "", widths[i])
		}
		height = max(height, len(parts[i]))
	}
	for n := range height {
		cells := make([]string, len(row))
		for i, c := range row {
			part := ""
			if n < len(parts[i]) {
				part = parts[i][n]
			}
			cells[i] = p.paint(c.Kind, part)
			if space := strings.Repeat(" ", max(0, widths[i]-text.Width(part))); t.Columns[i].Num {
				cells[i] = space + cells[i]
			} else {
				cells[i] += space
			}
		}
		p.line(strings.Join(cells, "  "))
	}
}

// fold breaks a name into lines, after a separator if possible, and indents all but the first.
func fold(s string, width int) []string {
	lines, lead := []string{}, ""
	for {
		head := text.AtLeastOne(s, width-len(lead))
		if len(head) < len(s) {
			if at := strings.LastIndexAny(head, separators) + 1; at > len(head)/3 {
				head = head[:at]
			}
		}
		lines = append(lines, lead+head)
		if s = s[len(head):]; s == "" {
			return lines
		}
		lead = "    "
	}
}

package strict

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"bench/experiment/safetext"
)

// Problem is one mistake in a file.
type Problem struct {
	File      string // as the user named it
	Line, Col int    // from 1, Col in runes; 0: unknown. Line is 0 with a Col in an argument of --set
	Len       int    // runes that are underlined, at least 1
	Key       string // the path, such as row[2].prefix.tokens; empty: the file
	Text      string // what is wrong
	Hint      string // what the user can type or do; empty: none
	Source    string // the whole line of the file or argument; shown if Col is known
}

// Problems are the mistakes in one or several files.
type Problems []Problem

// Error renders all problems in the order of files and lines, without duplicates:
//
//	error: chat.toml:14:1: row "B-long": unknown key "ratee"
//	   14 | ratee = 3
//	      | ^^^^^
//	hint: did you mean "rate"?
func (p Problems) Error() string {
	sorted := slices.Clone(p)
	slices.SortStableFunc(sorted, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	var parts []string
	for _, problem := range slices.Compact(sorted) {
		parts = append(parts, problem.String())
	}
	return strings.Join(parts, "\n\n")
}

// String renders one problem, without a line end.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString("error: " + visible(p.place()+p.Text))
	if p.Col > 0 {
		source, caret := underline(p.Source, p.Col, p.Len)
		number := ""
		if p.Line > 0 {
			number = strconv.Itoa(p.Line)
		}
		fmt.Fprintf(&b, "\n%5s | %s\n%5s | %s", number, source, "", caret)
	}
	for i, line := range strings.Split(p.Hint, "\n") {
		switch {
		case i > 0:
			b.WriteString("\n      " + visible(line))
		case line != "":
			b.WriteString("\nhint: " + visible(line))
		}
	}
	return b.String()
}

func (p Problem) place() string {
	switch {
	case p.Line > 0:
		return fmt.Sprintf("%s:%d:%d: ", p.File, p.Line, p.Col)
	case p.File != "":
		return p.File + ": "
	}
	return ""
}

const (
	wholeLine = 160 // longest line in runes that is shown without cutting
	lead      = 60  // runes shown before the mistake if the line is cut
)

// underline returns a line that is safe for a terminal, and the carets for the line below it. Tabs stay in
// both, so that they line up at any tab width.
func underline(line string, col, length int) (source, caret string) {
	characters, before, after := window(split(line), &col)
	var s, c strings.Builder
	if before {
		s.WriteString("…")
		c.WriteString(" ")
	}
	for i, character := range characters {
		text, width := show(character)
		s.WriteString(text)
		switch {
		case i+1 >= col && i+1 < col+length:
			c.WriteString(strings.Repeat("^", width))
		case i+1 < col && text == "\t":
			c.WriteString("\t")
		case i+1 < col:
			c.WriteString(strings.Repeat(" ", width))
		}
	}
	if col > len(characters) { // something is missing at the end of the line
		c.WriteString("^")
	}
	if after {
		s.WriteString("…")
	}
	return s.String(), c.String()
}

// window cuts a line that is too long to the part around a column, and makes the column relative to that
// part. before and after report whether something was cut.
func window(line []string, col *int) (shown []string, before, after bool) {
	from := max(0, min(*col-1-lead, len(line)-wholeLine))
	to := min(len(line), from+wholeLine)
	*col -= from
	return line[from:to], from > 0, to < len(line)
}

// split returns the runes of s; each byte that is not UTF-8 stands alone.
func split(s string) []string {
	var parts []string
	for len(s) > 0 {
		_, size := utf8.DecodeRuneInString(s)
		parts = append(parts, s[:size])
		s = s[size:]
	}
	return parts
}

// show returns how a character of a source line is written on a terminal, and how many columns that takes. A
// space that is not ASCII's is written as an escape: in TOML it is often the mistake.
func show(character string) (text string, width int) {
	r, _ := utf8.DecodeRuneInString(character)
	switch text = safetext.Escape(character); {
	case r == '\t':
		return character, 1
	case text == character && r > ' ' && unicode.Is(unicode.Zs, r):
		text = fmt.Sprintf(`\u%04x`, r)
	case text == character:
		return text, columnsOf(r)
	}
	return text, len(text)
}

// visible is show for a text outside the source lines.
func visible(s string) string {
	var b strings.Builder
	for _, character := range split(s) {
		text, _ := show(character)
		b.WriteString(strings.ReplaceAll(text, "\t", `\t`))
	}
	return b.String()
}

// wide are the blocks whose characters mostly take two columns on a terminal (Unicode TR 11, "W" and "F").
// They may contain unassigned code points, since those are escaped.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x1100, 0x115f, 1}, {0x231a, 0x231b, 1}, {0x23e9, 0x23ec, 1}, {0x2614, 0x2615, 1}, {0x2648, 0x2653, 1}, {0x26a1, 0x26a1, 1},
		{0x26bd, 0x26be, 1}, {0x26d4, 0x26d4, 1}, {0x2705, 0x2705, 1}, {0x274c, 0x274c, 1}, {0x2753, 0x2755, 1}, {0x2757, 0x2757, 1},
		{0x2b50, 0x2b50, 1}, {0x2e80, 0x303e, 1}, {0x3041, 0x4dbf, 1}, {0x4e00, 0xa4cf, 1}, {0xa960, 0xa97f, 1}, {0xac00, 0xd7a3, 1},
		{0xf900, 0xfaff, 1}, {0xfe30, 0xfe6f, 1}, {0xff01, 0xff60, 1}, {0xffe0, 0xffe6, 1},
	},
	R32: []unicode.Range32{
		{0x17000, 0x18cff, 1}, {0x1b000, 0x1b2ff, 1}, {0x1f18e, 0x1f18e, 1}, {0x1f191, 0x1f19a, 1}, {0x1f200, 0x1f320, 1},
		{0x1f32d, 0x1f335, 1}, {0x1f337, 0x1f37c, 1}, {0x1f37e, 0x1f393, 1}, {0x1f3a0, 0x1f3ca, 1}, {0x1f3cf, 0x1f3d3, 1},
		{0x1f3e0, 0x1f3f0, 1}, {0x1f3f4, 0x1f3f4, 1}, {0x1f3f8, 0x1f43e, 1}, {0x1f440, 0x1f440, 1}, {0x1f442, 0x1f4fc, 1},
		{0x1f4ff, 0x1f53d, 1}, {0x1f54b, 0x1f567, 1}, {0x1f5fb, 0x1f64f, 1}, {0x1f680, 0x1f6c5, 1}, {0x1f6eb, 0x1f6ec, 1},
		{0x1f6f4, 0x1f6fc, 1}, {0x1f7e0, 0x1f7eb, 1}, {0x1f90c, 0x1f9ff, 1}, {0x1fa70, 0x1faff, 1}, {0x20000, 0x3fffd, 1},
	},
}

func columnsOf(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

package strict

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"bench/experiment/text"
)

type Problem struct {
	File      string // as the user named it
	Line, Col int    // from 1, Col in runes; 0: unknown. Line is 0 with a Col in an argument of --set
	Len       int    // runes that are underlined, at least 1
	Key       string // the path, such as row[2].prefix.tokens; empty: the file
	Text      string // what is wrong
	Hint      string // what the user can type or do; empty: none
	Source    string // the whole line of the file or argument; shown if Col is known
}

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
func show(character string) (s string, width int) {
	r, _ := utf8.DecodeRuneInString(character)
	switch s = text.Escape(character); {
	case r == '\t':
		return character, 1
	case s == character && r > ' ' && unicode.Is(unicode.Zs, r):
		s = fmt.Sprintf(`\u%04x`, r)
	case s == character:
		return s, text.Width(s)
	}
	return s, len(s)
}

func visible(s string) string {
	var b strings.Builder
	for _, character := range split(s) {
		text, _ := show(character)
		b.WriteString(strings.ReplaceAll(text, "\t", `\t`))
	}
	return b.String()
}

func shorten(s string) string {
	const most = 40
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

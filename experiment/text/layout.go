// Package text makes text safe and gives it its place: untrusted text is escaped (Escape), so that a reader sees a
// character that would move a cursor, set a title or reverse a line; lines are laid out in columns of the screen, where
// a wide character takes two (Width, Pad, Wrap); a mistyped word gets the known one that was meant (Nearest).
//
// Escape hides and deletes nothing. Layout takes text that is safe already, but for colours.
package text

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Wrap breaks text at its spaces into lines of at most width columns. The first line begins with lead and a space
// (empty: with the text), the others with indent. A word breaks only if it is wider than a whole line.
func Wrap(lead, text, indent string, width int) []string {
	var lines []string
	line, empty := lead, lead == "" // empty: the line needs no space before its next word
	for _, word := range strings.Fields(text) {
		space := " "
		if empty {
			space = ""
		}
		if !empty && Width(line)+1+Width(word) > width && strings.TrimSpace(line) != "" {
			lines = append(lines, line)
			line, space = indent, ""
		}
		for word != "" && Width(line)+Width(space)+Width(word) > width {
			head := AtLeastOne(word, width-Width(line)-Width(space))
			lines = append(lines, line+space+head)
			word, line, space = word[len(head):], indent, ""
		}
		line, empty = line+space+word, false
	}
	return append(lines, line)
}

// Lines are lines with text of others, each wrapped to a width.
func Lines(lines []string, indent string, width int) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(strings.Join(Wrap("", Escape(line), indent, width), "\n") + "\n")
	}
	return b.String()
}

// AtLeastOne returns the longest beginning of s that fits n columns, at least one rune.
func AtLeastOne(s string, n int) string {
	if head := Clip(s, n); head != "" || s == "" {
		return head
	}
	_, size := utf8.DecodeRuneInString(s)
	return s[:size]
}

// Narrow narrows the widest columns, one step after the other, until their sum is at most room or each has its
// least width. It changes widths.
func Narrow(widths, least []int, room int) {
	sum := 0
	for _, w := range widths {
		sum += w
	}
	for ; sum > room; sum-- {
		widest := -1
		for i, w := range widths {
			if w > least[i] && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}

func LongestWord(s string) int {
	n := 0
	for word := range strings.FieldsSeq(s) {
		n = max(n, Width(word))
	}
	return n
}

// Table lays out rows, two spaces apart, in width columns. The listed columns hold figures: they are aligned to
// the right and never wrap; they count from 0. The cells of the others wrap at spaces if the table is wider than
// width. The result has no line feed at its end.
func Table(rows [][]string, width int, right ...int) string {
	var widths, least []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths, least = append(widths, 0), append(least, 0)
			}
			widths[i], least[i] = max(widths[i], Width(cell)), max(least[i], indentOf(cell)+LongestWord(cell))
		}
	}
	for _, i := range right {
		least[i] = widths[i]
	}
	Narrow(widths, least, width-1-2*(len(widths)-1))
	var lines []string
	for _, row := range rows {
		lines = append(lines, tableRow(row, widths, right)...)
	}
	return strings.Join(lines, "\n")
}

func indentOf(s string) int { return len(s) - len(strings.TrimLeft(s, " ")) }

func tableRow(row []string, widths, right []int) []string {
	var lines []string
	before := 1
	for i, cell := range row {
		parts := []string{cell}
		if Width(cell) > widths[i] {
			indent := indentOf(cell)
			parts = Wrap("", cell, "", widths[i]-indent)
			for k := range parts {
				parts[k] = strings.Repeat(" ", indent) + parts[k]
			}
		}
		for n, part := range parts {
			if n == len(lines) {
				lines = append(lines, "")
			}
			if slices.Contains(right, i) {
				part = PadLeft(part, widths[i])
			}
			lines[n] = Pad(lines[n], before) + part
		}
		before += widths[i] + 2
	}
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

// Width returns the columns that s takes. Colour escapes take none.
func Width(s string) int {
	n := 0
	for len(s) > 0 {
		if strings.HasPrefix(s, "\x1b[") {
			s = s[strings.IndexByte(s, 'm')+1:]
			continue
		}
		r, size := utf8.DecodeRuneInString(s)
		s = s[size:]
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	switch kind := width.LookupRune(r).Kind(); {
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Clip returns the longest beginning of s that fits n columns. s has no colour.
func Clip(s string, n int) string {
	for i, r := range s {
		if n -= runeWidth(r); n < 0 {
			return s[:i]
		}
	}
	return s
}

// Ellipsis cuts s at its end, so that it takes at most n columns, and marks the cut with "…". s has no colour.
func Ellipsis(s string, n int) string {
	if Width(s) <= n {
		return s
	}
	return strings.TrimRight(Clip(s, n-1), " ") + Clip("…", n)
}

// Shorten cuts s in its middle, so that it takes at most n columns: the end of a row's name distinguishes
// points.
func Shorten(s string, n int) string {
	if Width(s) <= n || n < 3 {
		return s
	}
	head := Clip(s, n/3)
	r := []rune(s)
	tail := len(r)
	for room := n - 1 - Width(head); tail > 0 && runeWidth(r[tail-1]) <= room; tail-- {
		room -= runeWidth(r[tail-1])
	}
	return head + "…" + string(r[tail:])
}

// Pad appends spaces to s, up to n columns.
func Pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-Width(s))) }

// PadLeft puts spaces before s, up to n columns.
func PadLeft(s string, n int) string { return strings.Repeat(" ", max(0, n-Width(s))) + s }

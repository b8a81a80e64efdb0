// Package text makes text safe and gives it its place: untrusted text is escaped (Escape), so that a reader sees a
// character that would move a cursor, set a title or reverse a line; lines are laid out in columns of the screen, where
// a wide character takes two (Width, Pad, Wrap); a mistyped word gets the known one that was meant (Nearest).
//
// Escape hides and deletes nothing. Layout takes text that is safe already, but for colours.
package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

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

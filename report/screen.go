package report

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"

	"bench/experiment/safetext"
)

// screen is the width that text for a terminal fits, in columns.
const screen = 100

// printer lays out text for a terminal. It escapes every text but the lead of wrap.
type printer struct {
	b     strings.Builder
	color bool
}

func (p *printer) flush(w io.Writer) error {
	if _, err := io.WriteString(w, p.b.String()); err != nil {
		return fmt.Errorf("writing text: %w", err)
	}
	return nil
}

func (p *printer) line(s string) { p.b.WriteString(strings.TrimRight(s, " ") + "\n") }

// wrap writes lead and a paragraph within the screen, with its further lines indented.
func (p *printer) wrap(lead, s string) {
	indent := strings.Repeat(" ", len(lead)-len(strings.TrimLeft(lead, " "))+3)
	line := lead
	for _, word := range strings.Fields(safetext.Escape(s)) {
		if line != indent && line != "" && Width(line)+1+Width(word) > screen {
			p.line(line)
			line = indent
		} else if line != indent && line != "" {
			line += " "
		}
		for Width(line)+Width(word) > screen {
			head := Clip(word, screen-Width(line))
			p.line(line + head)
			word, line = word[len(head):], indent
		}
		line += word
	}
	p.line(line)
}

// paint colours escaped text.
func (p *printer) paint(k Kind, s string) string {
	code := map[Kind]string{Passed: "32", Failed: "31", Undecided: "33", NoBound: "2", Faint: "2"}[k]
	if !p.color || code == "" || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// Pad adds spaces up to n columns, before s if right.
func Pad(s string, n int, right bool) string {
	space := strings.Repeat(" ", max(0, n-Width(s)))
	if right {
		return space + s
	}
	return s + space
}

// Clip is the longest beginning of s that fits n columns of a terminal, at least one rune.
func Clip(s string, n int) string {
	used := 0
	for i, r := range s {
		if used += Width(string(r)); used > n && i > 0 {
			return s[:i]
		}
	}
	return s
}

// Width is the number of columns that s takes on a terminal. Colour escapes take none.
func Width(s string) int {
	n := 0
	for len(s) > 0 {
		if strings.HasPrefix(s, "\x1b[") {
			s = s[strings.IndexByte(s, 'm')+1:]
			continue
		}
		r, size := utf8.DecodeRuneInString(s)
		s = s[size:]
		switch k := width.LookupRune(r).Kind(); {
		case unicode.In(r, unicode.Mn, unicode.Me):
		case k == width.EastAsianWide || k == width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}

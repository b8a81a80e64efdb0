package report

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// printer lays text out on a screen. What it is given is untrusted, but for the lead of wrap.
type printer struct {
	b     strings.Builder
	color bool
}

func (p *printer) line(s string) { p.b.WriteString(strings.TrimRight(s, " ") + "\n") }

// wrap writes lead and a paragraph within the screen; further lines are indented below it.
func (p *printer) wrap(lead, s string) {
	indent := strings.Repeat(" ", len(lead)-len(strings.TrimLeft(lead, " "))+3)
	line := lead
	for _, word := range strings.Fields(visible(s)) {
		if line != indent && line != "" && cells(line)+1+cells(word) > screen {
			p.line(line)
			line = indent
		} else if line != indent && line != "" {
			line += " "
		}
		for cells(line)+cells(word) > screen {
			head := clip(word, screen-cells(line))
			p.line(line + head)
			word, line = word[len(head):], indent
		}
		line += word
	}
	p.line(line)
}

// paint colours text that is safe already.
func (p *printer) paint(k kind, s string) string {
	code := map[kind]string{passed: "32", failed: "31", undecided: "33", noBound: "2", faint: "2"}[k]
	if !p.color || code == "" || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func pad(s string, n int, right bool) string {
	space := strings.Repeat(" ", max(0, n-cells(s)))
	if right {
		return space + s
	}
	return s + space
}

// clip is the longest beginning of s that fits n columns, one rune at least.
func clip(s string, n int) string {
	used := 0
	for i, r := range s {
		if used += cells(string(r)); used > n && i > 0 {
			return s[:i]
		}
	}
	return s
}

// cells is the number of columns that s takes on a screen, escapes of paint not counted.
func cells(s string) int {
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

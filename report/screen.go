package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"bench/experiment/columns"
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
		if line != indent && line != "" && columns.Width(line)+1+columns.Width(word) > screen {
			p.line(line)
			line = indent
		} else if line != indent && line != "" {
			line += " "
		}
		for columns.Width(line)+columns.Width(word) > screen {
			head := clipNonEmpty(word, screen-columns.Width(line))
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

// pad adds spaces up to n columns, before s if right.
func pad(s string, n int, right bool) string {
	if right {
		return columns.PadLeft(s, n)
	}
	return columns.Pad(s, n)
}

// clipNonEmpty is the longest beginning of s that fits n columns, at least one rune.
func clipNonEmpty(s string, n int) string {
	if head := columns.Clip(s, n); head != "" || s == "" {
		return head
	}
	_, size := utf8.DecodeRuneInString(s)
	return s[:size]
}

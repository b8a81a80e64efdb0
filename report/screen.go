package report

import (
	"cmp"
	"fmt"
	"io"
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

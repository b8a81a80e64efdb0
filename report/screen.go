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

// nameWidth is what the first column may take; longer names go on in the next line.
const nameWidth = 26

// table draws columns two spaces apart, headings in two lines: the name above, the unit below.
func (p *printer) table(t table) {
	widths := make([]int, len(t.columns))
	for i, c := range t.columns {
		widths[i] = max(cells(c.head), cells(c.unit))
		for _, row := range t.rows {
			if i < len(row) { // a row that is cut short has no more
				widths[i] = max(widths[i], cells(visible(row[i].text)))
			}
		}
	}
	widths[0] = min(widths[0], nameWidth)
	var over, under []string
	for i, c := range t.columns {
		over, under = append(over, pad(c.head, widths[i], c.num)), append(under, pad(c.unit, widths[i], c.num))
	}
	p.line(strings.Join(over, "  "))
	p.line(strings.Join(under, "  "))
	for _, row := range t.rows {
		name := visible(row[0].text)
		first := clip(name, widths[0])
		line := pad(first, widths[0], false)
		for i := 1; i < len(row); i++ {
			s := visible(row[i].text)
			padded := pad(s, widths[i], t.columns[i].num)
			before, after, _ := strings.Cut(padded, s)
			line += "  " + before + p.paint(row[i].kind, s) + after
		}
		p.line(line)
		for rest := name[len(first):]; rest != ""; {
			head := clip(rest, widths[0]-4)
			p.line("    " + head)
			rest = rest[len(head):]
		}
	}
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

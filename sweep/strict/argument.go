package strict

import (
	"fmt"
	"strings"
)

type argument struct {
	*source
	path     []part
	from, to int    // the value
	value    any    // as the parser reads it
	written  string // the value as TOML
}

// every is the part of a path that stands for all tables of a list.
const every = "*"

const pathHint = `write path=value, such as row.chat.rate=10; quote an odd name: 'row."a b".rate=10'`

func parseArgument(text string) (*argument, *Problem) {
	a := &argument{source: newSource("--set", text, true)}
	if at := strayBytes(text); at >= 0 {
		return nil, a.bad(at, 1, "not UTF-8", "write text")
	}
	l := &locator{located: located{root: &node{}, tooDeep: -1}, s: text}
	for {
		l.space()
		if from := l.i; l.accept(every[0]) {
			a.path = append(a.path, part{every, int32(from), 1})
		} else if p, ok := l.keyPart(); ok && l.withinDepth(len(a.path)+1) {
			a.path = append(a.path, p)
		} else {
			return nil, a.bad(from, 1, "expected a key", pathHint)
		}
		if l.space(); !l.accept('.') {
			break
		}
	}
	if !l.accept('=') {
		return nil, a.bad(l.i, 1, `expected "=" and a value`, pathHint)
	}
	a.from = len(text) - len(strings.TrimLeft(text[l.i:], " \t\r\n"))
	a.to = max(a.from, len(strings.TrimRight(text, " \t\r\n")))
	return a, a.readValue(l)
}

// readValue reads the value as TOML, else as a string. What begins as a list, a table or a quoted string is meant to
// be TOML.
func (a *argument) readValue(l *locator) *Problem {
	text := a.text[a.from:a.to]
	if text == "" {
		return a.badPart(len(a.path)-1, "the value is missing", `write path=value; an empty text is '""'`)
	}
	const lead = "v = "
	l.i = a.from
	whole := l.value(&node{}, len(a.path)) && l.i == a.to // without a comment, or a second key
	d, err := Parse("", []byte(lead+text))
	if whole && err == nil && len(d.Root) == 1 {
		a.value, a.written = d.Root["v"], text
		return nil
	}
	if strings.IndexByte(`[{"'`, text[0]) < 0 {
		a.value, a.written = text, basicString(text)
		return nil
	}
	p := a.bad(a.from, a.to-a.from, "not a value of TOML", "write one value; quote the argument for the shell")
	if problems, ok := err.(Problems); ok {
		s := newSource("", lead+text, false)
		at := a.from + s.offset(problems[0].Line, problems[0].Col) - len(lead)
		p = a.bad(at, problems[0].Len, problems[0].Text, problems[0].Hint)
	}
	return p
}

// offset is the inverse of position.
func (s *source) offset(line, col int) int {
	if line < 1 || line > len(s.lines) {
		return 0
	}
	runes := []rune(s.line(line))
	return s.lines[line-1] + len(string(runes[:min(max(0, col-1), len(runes))]))
}

func (a *argument) bad(at, size int, text, hint string) *Problem {
	p := a.problem(at, size, "", text, hint)
	return &p
}

func (a *argument) upTo(i int) string {
	last := a.path[i-1]
	return strings.TrimSpace(a.text[:last.at+last.size])
}

func (a *argument) badPart(i int, text, hint string) *Problem {
	return a.bad(int(a.path[i].at), int(a.path[i].size), text, hint)
}

func (a *argument) tail(from int) []piece {
	first, last := a.path[from], a.path[len(a.path)-1]
	key, size := a.text[first.at:last.at+last.size], int(last.size)
	value := piece{text: a.written, from: a.source, at: a.from}
	if a.written != a.text[a.from:a.to] {
		value.made, value.size = true, a.to-a.from
	}
	return []piece{{text: key, from: a.source, at: int(first.at)}, a.made(" = ", int(last.at), size), value}
}

// made is a text that stands for a span of the argument.
func (a *argument) made(text string, at, size int) piece {
	return piece{text: text, from: a.source, at: at, made: true, size: size}
}

func basicString(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	return `"` + b.String() + `"`
}

package strict

import (
	"sort"
	"strings"
	"unicode/utf8"
)

// source is a text that a person wrote: the file, or an argument of --set.
type source struct {
	name     string
	text     string
	lines    []int // offsets of the first byte of each line
	argument bool
}

func newSource(name, text string, argument bool) *source {
	return &source{name, text, lineStarts(text), argument}
}

// piece is a part of a document's text, and where it was written: as it stands from an offset on or, if made, from a
// span of size bytes that reads otherwise.
type piece struct {
	text string
	from *source
	at   int
	made bool
	size int
}

// origin is where a byte of the text was written; size is that of the span it was made from, -1 if it stands as
// written.
func (d *Document) origin(at int) (s *source, from, size int) {
	for i, p := range d.pieces {
		if at >= len(p.text) && i < len(d.pieces)-1 {
			at -= len(p.text)
			continue
		}
		if p.made {
			return p.from, p.at, p.size
		}
		return p.from, p.at + max(0, min(at, len(p.text))), -1
	}
	return newSource(d.file, d.Text, false), at, -1
}

// problemAt makes a problem that underlines size bytes from an offset of the text, where they were written.
func (d *Document) problemAt(at, size int, key, text, hint string) Problem {
	s, from, made := d.origin(at)
	if made >= 0 {
		size = made
	}
	return s.problem(from, size, key, text, hint)
}

// problem makes a problem that underlines size bytes from an offset. Of an argument there is no line number.
func (s *source) problem(at, size int, key, text, hint string) Problem {
	line, col := s.position(at)
	p := Problem{
		File: s.name, Line: line, Col: col, Len: s.columns(at, size), Key: key, Text: text, Hint: hint,
		Source: s.line(line),
	}
	if s.argument {
		p.Line = 0
	}
	return p
}

func (s *source) position(at int) (line, col int) {
	at = max(0, min(at, len(s.text)))
	for at > 0 && at < len(s.text) && !utf8.RuneStart(s.text[at]) {
		at--
	}
	line = sort.SearchInts(s.lines, at+1)
	return line, utf8.RuneCountInString(s.text[s.lines[line-1]:at]) + 1
}

// columns counts the runes of a span, up to the end of its line.
func (s *source) columns(at, size int) int {
	at = max(0, min(at, len(s.text)))
	span := s.text[at:min(at+max(size, 0), len(s.text))]
	if end := strings.IndexAny(span, "\r\n"); end >= 0 {
		span = span[:end]
	}
	return max(1, utf8.RuneCountInString(span))
}

func (s *source) line(n int) string {
	text, _, _ := strings.Cut(s.text[s.lines[n-1]:], "\n")
	return strings.TrimSuffix(text, "\r")
}

func lineStarts(text string) []int {
	starts := []int{0}
	for i := range len(text) {
		if text[i] == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

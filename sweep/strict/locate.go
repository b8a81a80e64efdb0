package strict

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

type part struct {
	key      string
	at, size int32
}

// located is the result of the locator: the places, the offset where the nesting is too deep (-1: nowhere),
// and the first duplicate key with the place of its first occurrence (again 0: none).
type located struct {
	root               *node
	tooDeep            int
	again, first, size int
}

// locator finds the places of keys in a TOML text. It runs before the parser, so the text may be invalid: it
// accepts everything that the parser accepts, and stops no later than the parser does.
type locator struct {
	located
	s string
	i int
}

func locate(text string) located {
	l := &locator{located: located{root: &node{}, tooDeep: -1}, s: text}
	for table, ok := l.root, true; ok; {
		if l.blank(); l.i >= len(l.s) {
			break
		}
		if l.s[l.i] == '[' {
			table, ok = l.header()
		} else {
			ok = l.keyValue(table, 0)
		}
		if ok {
			table.end = int32(l.i)
		}
		ok = ok && l.lineEnd()
	}
	return l.located
}

func (l *locator) header() (*node, bool) {
	l.i++
	list := l.accept('[')
	parts, ok := l.key(0)
	if !ok || !l.accept(']') || list && !l.accept(']') {
		return nil, false
	}
	table := l.root
	for _, p := range parts[:len(parts)-1] {
		table = table.child(p, true).latest()
	}
	last := parts[len(parts)-1]
	if !list {
		l.noteDuplicate(table, last)
		return table.child(last, false).latest(), true
	}
	array, item := table.child(last, false), &node{at: last.at, size: last.size}
	array.items = append(array.items, item)
	return item, true
}

func (l *locator) noteDuplicate(table *node, p part) {
	if k := table.children[p.key]; k != nil && !k.implicit && l.again == 0 {
		l.again, l.first, l.size = int(p.at), int(k.at), int(p.size)
	}
}

func (l *locator) keyValue(table *node, depth int) bool {
	parts, ok := l.key(depth)
	if !ok || !l.accept('=') {
		return false
	}
	for _, p := range parts[:len(parts)-1] {
		table = table.child(p, true)
	}
	last := parts[len(parts)-1]
	l.noteDuplicate(table, last)
	l.space()
	own := table.child(last, false)
	ok = l.value(own, depth+len(parts))
	own.value = int32(l.i)
	return ok
}

func (l *locator) key(depth int) (parts []part, ok bool) {
	for {
		l.space()
		p, ok := l.keyPart()
		if !ok || !l.withinDepth(depth+len(parts)+1) {
			return nil, false
		}
		parts = append(parts, p)
		if l.space(); !l.accept('.') {
			return parts, true
		}
	}
}

func (l *locator) keyPart() (part, bool) {
	from := l.i
	quoted := l.i < len(l.s) && (l.s[l.i] == '"' || l.s[l.i] == '\'')
	if quoted {
		if !l.line() {
			return part{}, false
		}
	} else {
		for l.i < len(l.s) && isBare(l.s[l.i]) {
			l.i++
		}
	}
	p := part{key: l.s[from:l.i], at: int32(from), size: int32(l.i - from)}
	if !quoted {
		return p, p.size > 0
	}
	inner := p.key[1 : len(p.key)-1]
	if p.key[0] == '"' {
		inner = unescape(inner)
	}
	p.key = inner
	return p, true
}

func (l *locator) value(n *node, depth int) bool {
	if l.i >= len(l.s) || !l.withinDepth(depth) {
		return false
	}
	switch l.s[l.i] {
	case '"', '\'':
		if delimiter := strings.Repeat(l.s[l.i:l.i+1], 3); strings.HasPrefix(l.s[l.i:], delimiter) {
			return l.lines(l.s[l.i])
		}
		return l.line()
	case '[':
		return l.list(n, depth)
	case '{':
		return l.inline(n, depth)
	}
	return l.scalar()
}

func (l *locator) list(n *node, depth int) bool {
	return l.between(']', func() bool {
		item := &node{at: int32(l.i)}
		n.items = append(n.items, item)
		ok := l.value(item, depth+1)
		item.size = int32(l.i) - item.at
		return ok
	})
}

func (l *locator) inline(n *node, depth int) bool {
	n.inline, n.end = true, int32(l.i+1)
	return l.between('}', func() bool {
		ok := l.keyValue(n, depth+1)
		n.end = int32(l.i)
		return ok
	})
}

// between reads comma-separated items up to a closing bracket.
func (l *locator) between(end byte, each func() bool) bool {
	l.i++
	for {
		if l.blank(); l.accept(end) {
			return true
		}
		if !each() {
			return false
		}
		if l.blank(); !l.accept(',') {
			return l.accept(end)
		}
	}
}

// scalar reads a number, a date, true or false. A date may contain a space.
func (l *locator) scalar() bool {
	from := l.i
	end := strings.IndexAny(l.s[from:], ",]}#\r\n")
	if end < 0 {
		end = len(l.s) - from
	}
	l.i += len(strings.TrimRight(l.s[from:from+end], " \t"))
	return l.i > from
}

func (l *locator) line() bool {
	quote := l.s[l.i]
	for l.i++; l.i < len(l.s) && l.s[l.i] != '\n'; l.i++ {
		switch c := l.s[l.i]; {
		case c == quote:
			l.i++
			return true
		case c == '\\' && quote == '"':
			l.i++
		}
	}
	return false
}

// lines reads a triple-quoted string. Up to two more quotes before its end belong to it, so it ends with the
// run of quotes.
func (l *locator) lines(quote byte) bool {
	for l.i += 3; l.i < len(l.s); l.i++ {
		switch c := l.s[l.i]; {
		case c == quote:
			run := len(l.s[l.i:]) - len(strings.TrimLeft(l.s[l.i:], string(rune(quote))))
			if l.i += run - 1; run >= 3 {
				l.i++
				return true
			}
		case c == '\\' && quote == '"':
			l.i++
		}
	}
	return false
}

func (l *locator) withinDepth(depth int) bool {
	if depth > maxDepth && l.tooDeep < 0 {
		l.tooDeep = l.i
	}
	return depth <= maxDepth
}

// blank skips spaces, line ends and comments.
func (l *locator) blank() {
	for l.i < len(l.s) {
		switch l.s[l.i] {
		case ' ', '\t', '\r', '\n':
			l.i++
		case '#':
			l.comment()
		default:
			return
		}
	}
}

func (l *locator) comment() {
	end := strings.IndexByte(l.s[l.i:], '\n')
	if end < 0 {
		end = len(l.s) - l.i
	}
	l.i += end
}

func (l *locator) lineEnd() bool {
	l.space()
	return l.i >= len(l.s) || strings.IndexByte("#\r\n", l.s[l.i]) >= 0
}

func (l *locator) space() {
	for l.i < len(l.s) && (l.s[l.i] == ' ' || l.s[l.i] == '\t') {
		l.i++
	}
}

func (l *locator) accept(c byte) bool {
	if l.i < len(l.s) && l.s[l.i] == c {
		l.i++
		return true
	}
	return false
}

func isBare(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// unescape decodes the escapes of a basic string. An invalid escape loses its backslash.
func unescape(s string) string {
	var b strings.Builder
	for {
		plain, rest, more := strings.Cut(s, `\`)
		b.WriteString(plain)
		if !more || rest == "" {
			return b.String()
		}
		r, size := escape(rest)
		b.WriteRune(r)
		s = rest[size:]
	}
}

func escape(s string) (r rune, size int) {
	if at := strings.IndexByte(`btnfre"\`, s[0]); at >= 0 {
		return rune("\b\t\n\f\r\x1b\"\\"[at]), 1
	}
	if digits, ok := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[0]]; ok && len(s) > digits {
		if code, err := strconv.ParseUint(s[1:1+digits], 16, 32); err == nil {
			return rune(code), 1 + digits
		}
	}
	return utf8.DecodeRuneInString(s)
}

// node is the place of one key of the file, or of one element of a list. It is small because a list may have
// a million.
type node struct {
	at, size int32 // in bytes: the key's last part, or the element's value
	implicit bool  // so far only part of other keys, so its place is where the first of those is
	inline   bool  // { … }
	value    int32 // end of the value of a key = value; 0: none
	end      int32 // of a table, behind its last key = value, else behind its header or {; 0: it has neither
	keys     []string
	children map[string]*node
	items    []*node
}

// find follows a path as far as possible. exact reports whether that was to its end.
func (n *node) find(path string) (found *node, exact bool) {
	for path != "" {
		s, rest, ok := cutStep(path)
		next := n.children[s.key]
		if s.index >= 0 {
			next = nil
			if s.index < len(n.items) {
				next = n.items[s.index]
			}
		}
		if !ok || next == nil {
			return n, false
		}
		n, path = next, rest
	}
	return n, true
}

func (n *node) child(p part, implicit bool) *node {
	k := n.children[p.key]
	switch {
	case k == nil:
		k = &node{at: p.at, size: p.size, implicit: implicit}
		if n.children == nil {
			n.children = map[string]*node{}
		}
		n.children[p.key], n.keys = k, append(n.keys, p.key)
	case k.implicit && !implicit:
		k.at, k.size, k.implicit = p.at, p.size, false
	}
	return k
}

// latest is the table that a in [a.b] refers to: the last one of [[a]].
func (n *node) latest() *node {
	if len(n.items) > 0 {
		return n.items[len(n.items)-1]
	}
	return n
}

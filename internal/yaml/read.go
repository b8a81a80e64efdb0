// Package yaml reads and writes the part of YAML that configuration files and reports use: mappings, lists, quoted and
// plain scalars, lists and mappings in brackets, comments. Anchors, tags and block texts are errors: a YAML library
// would add 350 kB to the program.
package yaml

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Texts reads a mapping whose scalars are all texts, as they are written.
func Texts(text string) (map[string]any, error) {
	return read(text, func(s string) any { return unquoted(s) })
}

// JSON reads a mapping as JSON, its scalars by their types: .inf becomes "inf", .nan null.
func JSON(text string) ([]byte, error) {
	tree, err := read(text, typed)
	if err != nil {
		return nil, err
	}
	return json.Marshal(tree)
}

func read(text string, scalar func(string) any) (map[string]any, error) {
	r := &reader{scalar: scalar}
	for i, raw := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		content := strings.TrimRight(uncommented(raw), " \t")
		trimmed := strings.TrimLeft(content, " ")
		if trimmed == "" || content == "---" {
			continue
		}
		if strings.HasPrefix(trimmed, "\t") {
			return nil, fmt.Errorf("line %d: YAML has no tabs before a key\nhint: indent by blanks", i+1)
		}
		r.lines = append(r.lines, line{i + 1, len(content) - len(trimmed), trimmed})
	}
	v, err := r.block(0, 0)
	if err == nil && len(r.lines) > 0 {
		err = r.bad("a line is indented less than the first one")
	}
	tree, isMap := v.(map[string]any)
	if err == nil && !isMap {
		err = fmt.Errorf("the file is no mapping of YAML\nhint: it begins with a key and its value")
	}
	return tree, err
}

type line struct {
	number, indent int
	text           string
}

type reader struct {
	lines  []line
	scalar func(text string) any
}

// deepest bounds the nesting, and with it the stack.
const deepest = 50

func (r *reader) bad(what string) error {
	return fmt.Errorf("line %d: %s\nhint: bench reads mappings, lists and plain values of YAML",
		r.lines[0].number, what)
}

// block reads the lines from an indentation on.
func (r *reader) block(indent, depth int) (any, error) {
	if len(r.lines) == 0 || r.lines[0].indent < indent {
		return "", nil
	}
	if depth > deepest {
		return nil, r.bad("too many levels")
	}
	indent = r.lines[0].indent
	if isItem(r.lines[0].text) {
		return r.list(indent, depth)
	}
	return r.mapping(indent, depth)
}

func isItem(text string) bool { return text == "-" || strings.HasPrefix(text, "- ") }

func (r *reader) list(indent, depth int) (any, error) {
	items := []any{}
	for len(r.lines) > 0 && r.lines[0].indent == indent && isItem(r.lines[0].text) {
		rest := strings.TrimLeft(strings.TrimPrefix(r.lines[0].text, "-"), " ")
		var item any
		var err error
		if _, _, isKey := cutKey(rest); rest == "" || isKey || isItem(rest) {
			r.lines[0].indent += len(r.lines[0].text) - len(rest) // the item's first key stands behind the dash
			r.lines[0].text = rest
			if rest == "" {
				r.lines = r.lines[1:]
			}
			item, err = r.block(indent+1, depth+1)
		} else {
			item, err = r.value(r.whole(rest, indent))
			r.lines = r.lines[1:]
		}
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

func (r *reader) mapping(indent, depth int) (any, error) {
	m := map[string]any{}
	for len(r.lines) > 0 && r.lines[0].indent == indent {
		key, rest, ok := cutKey(r.lines[0].text)
		if !ok {
			return nil, r.bad("the line has no key")
		}
		var err error
		if rest != "" {
			m[key], err = r.value(r.whole(rest, indent))
			r.lines = r.lines[1:]
		} else {
			r.lines = r.lines[1:]
			least := indent + 1
			if len(r.lines) > 0 && isItem(r.lines[0].text) {
				least = indent // a list may stand as far left as its key
			}
			m[key], err = r.block(least, depth+1)
		}
		if err != nil {
			return nil, err
		}
	}
	return m, nil
}

// whole adds the lines that continue a text: writers fold long ones. The last of them stays, in place of the first.
func (r *reader) whole(text string, indent int) string {
	const most = 1 << 16 // bytes: each line is looked at again with the next
	for len(text) < most && len(r.lines) > 1 && r.lines[1].indent > indent && text[0] != '{' && text[0] != '[' {
		next := r.lines[1].text
		open := (text[0] == '"' || text[0] == '\'') && closing(text) < 0
		if _, _, isKey := cutKey(next); isKey && !open {
			break
		}
		if folded, ok := strings.CutSuffix(text, `\`); ok && open && text[0] == '"' {
			text = folded + strings.TrimPrefix(next, `\`)
		} else {
			text += " " + next
		}
		r.lines = r.lines[1:]
	}
	return text
}

// cutKey splits key: value.
func cutKey(text string) (key, rest string, ok bool) {
	end := strings.Index(text+" ", ": ")
	if text != "" && (text[0] == '"' || text[0] == '\'') {
		if end = closing(text) + 1; end > 0 && !strings.HasPrefix(text[end:]+" ", ": ") {
			return "", "", false
		}
	}
	if end <= 0 || text[0] == '{' || text[0] == '[' {
		return "", "", false
	}
	return quotedOr(strings.TrimSpace(text[:end])), strings.TrimSpace(text[end+1:]), true
}

// closing is the index of the quote that ends the one at the begin; -1: none.
func closing(text string) int {
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && text[0] == '"':
			i++
		case text[i] == text[0] && text[0] == '\'' && strings.HasPrefix(text[i+1:], "'"): // '' is one quote
			i++
		case text[i] == text[0]:
			return i
		}
	}
	return -1
}

func (r *reader) value(text string) (any, error) {
	if strings.ContainsRune("|>&*!", rune(text[0])) {
		return nil, r.bad("block texts, anchors and tags are not read")
	}
	if text[0] != '{' && text[0] != '[' {
		return r.scalar(text), nil
	}
	f := &flow{rest: text, text: r.scalar}
	v, ok := f.value(0)
	if !ok || strings.TrimSpace(f.rest) != "" {
		return nil, r.bad("a bracket is not closed in its line")
	}
	return v, nil
}

// flow reads {a: 1, b: [2, 3]}.
type flow struct {
	rest string
	text func(string) any
}

func (f *flow) value(depth int) (v any, ok bool) {
	f.rest = strings.TrimLeft(f.rest, " ")
	switch {
	case f.rest == "" || depth > deepest:
		return nil, false
	case f.rest[0] == '[':
		items := []any{}
		ok = f.each("]", depth, func(_ string, item any) { items = append(items, item) })
		return items, ok
	case f.rest[0] == '{':
		pairs := map[string]any{}
		ok = f.each("}", depth, func(key string, item any) { pairs[key] = item })
		return pairs, ok
	}
	return f.text(f.scalar(",]}")), true
}

// each reads the items up to the closing bracket, in braces each with a key.
func (f *flow) each(end string, depth int, add func(key string, item any)) bool {
	for f.rest = f.rest[1:]; ; f.skip(",") {
		if f.skip(end) {
			return true
		}
		key, before := "", len(f.rest)
		if end == "}" {
			key = unquoted(f.scalar(":"))
			if !f.skip(":") {
				return false
			}
		}
		item, ok := f.value(depth + 1)
		if !ok || f.rest == "" || len(f.rest) == before && f.rest[0] != ',' {
			return false
		}
		add(key, item)
	}
}

func (f *flow) skip(text string) bool {
	f.rest = strings.TrimLeft(f.rest, " ")
	rest, found := strings.CutPrefix(f.rest, text)
	f.rest = rest
	return found
}

// scalar reads up to one of the ends, which quotes hide.
func (f *flow) scalar(ends string) string {
	f.rest = strings.TrimLeft(f.rest, " ")
	n := 0
	if f.rest != "" && (f.rest[0] == '"' || f.rest[0] == '\'') {
		n = max(0, closing(f.rest))
	}
	end := strings.IndexAny(f.rest[n:], ends)
	if end < 0 {
		end = len(f.rest) - n
	}
	text := f.rest[:n+end]
	f.rest = f.rest[n+end:]
	return strings.TrimSpace(text)
}

func isQuoted(s string) bool {
	return len(s) > 1 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0]
}

func unquoted(s string) string {
	if isQuoted(s) {
		return s[1 : len(s)-1]
	}
	return s
}

// quotedOr is a quoted text with its escapes read; else the text.
func quotedOr(s string) string {
	var text string
	switch {
	case !isQuoted(s):
		return s
	case s[0] == '\'':
		return strings.ReplaceAll(unquoted(s), "''", "'")
	case json.Unmarshal([]byte(s), &text) == nil:
		return text
	}
	return unquoted(s) // with an escape that JSON lacks
}

func typed(s string) any {
	switch s {
	case "", "~", "null", ".nan", "-.inf":
		return nil
	case "true", "false":
		return s == "true"
	case ".inf":
		return "inf"
	}
	x, err := strconv.ParseFloat(s, 64)
	switch {
	case err != nil || math.IsInf(x, 0) || math.IsNaN(x):
		return quotedOr(s)
	case json.Valid([]byte(s)):
		return json.Number(s)
	}
	return x // like +1 or 1.
}

// uncommented cuts a comment: a # at the begin or behind a blank, outside of quotes.
func uncommented(line string) string {
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case (c == '"' || c == '\'') && (i == 0 || strings.IndexByte(" [{,:", line[i-1]) >= 0):
			end := closing(line[i:])
			if end < 0 {
				return line
			}
			i += end
		case c == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t'):
			return line[:i]
		}
	}
	return line
}

package peers

import (
	"fmt"
	"strings"
)

// readYAML reads the part of YAML that configuration files use: mappings, lists, quoted and plain scalars, lists and
// mappings in brackets, comments. All scalars are texts. Anchors, tags and block texts are errors: a YAML library
// would add 350 kB to the program.
func readYAML(text string) (map[string]any, error) {
	r := &yamlReader{}
	for i, line := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		content := strings.TrimRight(uncommented(line), " \t")
		trimmed := strings.TrimLeft(content, " ")
		if trimmed == "" || content == "---" {
			continue
		}
		if strings.HasPrefix(trimmed, "\t") {
			return nil, fmt.Errorf("line %d: YAML has no tabs before a key\nhint: indent by blanks", i+1)
		}
		r.lines = append(r.lines, yamlLine{i + 1, len(content) - len(trimmed), trimmed})
	}
	v, err := r.block(0, 0)
	if err == nil && len(r.lines) > 0 {
		err = r.bad("a line is indented less than the first one")
	}
	tree, isMap := v.(map[string]any)
	if err == nil && !isMap {
		err = fmt.Errorf("the file is no mapping of YAML\nhint: bench import reads the configuration of inference-perf")
	}
	return tree, err
}

type yamlLine struct {
	number, indent int
	text           string
}

type yamlReader struct{ lines []yamlLine }

// deepest bounds the nesting, and with it the stack.
const deepest = 50

func (r *yamlReader) bad(what string) error {
	return fmt.Errorf("line %d: %s\nhint: bench import reads mappings, lists and plain values of YAML",
		r.lines[0].number, what)
}

// block reads the lines from an indentation on.
func (r *yamlReader) block(indent, depth int) (any, error) {
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

func (r *yamlReader) list(indent, depth int) (any, error) {
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
			item, err = r.value(rest)
			r.lines = r.lines[1:]
		}
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

func (r *yamlReader) mapping(indent, depth int) (any, error) {
	m := map[string]any{}
	for len(r.lines) > 0 && r.lines[0].indent == indent {
		key, rest, ok := cutKey(r.lines[0].text)
		if !ok {
			return nil, r.bad("the line has no key")
		}
		var err error
		if rest != "" {
			m[key], err = r.value(rest)
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

// cutKey splits key: value.
func cutKey(text string) (key, rest string, ok bool) {
	key, rest, ok = strings.Cut(text, ":")
	if !ok || rest != "" && rest[0] != ' ' || strings.ContainsAny(key, "{[\"'") && !isQuoted(key) {
		return "", "", false
	}
	return unquoted(strings.TrimSpace(key)), strings.TrimSpace(rest), true
}

func (r *yamlReader) value(text string) (any, error) {
	if strings.ContainsRune("|>&*!", rune(text[0])) {
		return nil, r.bad("block texts, anchors and tags are not read")
	}
	if text[0] != '{' && text[0] != '[' {
		return unquoted(text), nil
	}
	f := &flow{rest: text}
	v, ok := f.value(0)
	if !ok || strings.TrimSpace(f.rest) != "" {
		return nil, r.bad("a bracket is not closed in its line")
	}
	return v, nil
}

// flow reads {a: 1, b: [2, 3]}.
type flow struct{ rest string }

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
	return unquoted(f.scalar(",]}")), true
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
		n = 1 + strings.IndexByte(f.rest[1:], f.rest[0])
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

// uncommented cuts a comment: a # at the begin or behind a blank, outside of quotes.
func uncommented(line string) string {
	quote := byte(0)
	for i := range len(line) {
		switch c := line[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '"' || c == '\'') && (i == 0 || strings.IndexByte(" [{,:", line[i-1]) >= 0):
			quote = c
		case c == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t'):
			return line[:i]
		}
	}
	return line
}

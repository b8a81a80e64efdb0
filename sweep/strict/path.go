package strict

import (
	"strconv"
	"strings"
)

// quote writes a key as in a path: bare if it has only letters, digits, _ and -, else in double quotes.
func quote(key string) string {
	if key == "" || strings.IndexFunc(key, func(r rune) bool { return r > 127 || !isBare(byte(r)) }) >= 0 {
		return strconv.Quote(key)
	}
	return key
}

// Join appends a relative path to base: Join("row[2]", "prefix.tokens"), Join("concurrency", "[3]").
func Join(base, rel string) string {
	if base == "" || rel == "" || rel[0] == '[' {
		return base + rel
	}
	return base + "." + rel
}

func indexed(base string, i int) string { return base + "[" + strconv.Itoa(i) + "]" }

// step is one part of a path: a key, or an index if index is not negative.
type step struct {
	key   string
	index int
}

// cutStep splits the first step from a path.
func cutStep(path string) (s step, rest string, ok bool) {
	path = strings.TrimPrefix(path, ".")
	if inner, is := strings.CutPrefix(path, "["); is {
		digits, rest, closed := strings.Cut(inner, "]")
		i, err := strconv.Atoi(digits)
		return step{index: i}, rest, closed && err == nil && i >= 0
	}
	if quoted, err := strconv.QuotedPrefix(path); err == nil && path[0] == '"' {
		key, err := strconv.Unquote(quoted)
		return step{key, -1}, path[len(quoted):], err == nil
	}
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		end = len(path)
	}
	return step{path[:end], -1}, path[end:], end > 0
}

// into follows a step in a tree of values; nil if there is nothing.
func (s step) into(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if s.index < 0 {
			return v[s.key]
		}
	case []any:
		if s.index >= 0 && s.index < len(v) {
			return v[s.index]
		}
	case []map[string]any:
		if s.index >= 0 && s.index < len(v) {
			return v[s.index]
		}
	}
	return nil
}

func tail(path string) (key, indices string) {
	for path != "" {
		s, rest, ok := cutStep(path)
		if !ok {
			break
		}
		if path = rest; s.index < 0 {
			key, indices = s.key, ""
		} else {
			indices = indexed(indices, s.index)
		}
	}
	return key, indices
}

// subject is the part of a path that messages name: its last key, and the indices after it.
func subject(path string) string {
	key, indices := tail(path)
	return quote(shorten(key)) + indices
}

// header is the path as in a table header: without indices.
func header(path string) string {
	var head string
	for path != "" {
		s, rest, ok := cutStep(path)
		if !ok {
			break
		}
		if path = rest; s.index < 0 {
			head = Join(head, quote(s.key))
		}
	}
	return head
}

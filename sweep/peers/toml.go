package peers

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"bench/experiment/text"
)

// table is a TOML table whose keys keep their order.
type table []entry

type entry struct {
	key   string
	value any // string, int, float64, bool, json.Number, table, map, []any, or a list of these
}

// set writes a key, over an earlier value.
func (t *table) set(key string, value any) {
	if i := slices.IndexFunc(*t, func(e entry) bool { return e.key == key }); i >= 0 {
		(*t)[i].value = value
		return
	}
	*t = append(*t, entry{key, value})
}

// setIn writes a key of the table that is the value of a key.
func (t *table) setIn(outer, key string, value any) {
	inner, _ := t.get(outer).(table)
	inner.set(key, value)
	t.set(outer, inner)
}

// time writes a duration above 0.
func (t *table) time(key string, seconds float64) {
	if seconds > 0 {
		t.set(key, span(seconds))
	}
}

func (t table) get(key string) any {
	for _, e := range t {
		if e.key == key {
			return e.value
		}
	}
	return nil
}

// lines writes one key a line, with the = of all below each other.
func (t table) lines(b *strings.Builder) {
	width := 0
	for _, e := range t {
		width = max(width, len(keyText(e.key)))
	}
	for _, e := range t {
		fmt.Fprintf(b, "%-*s = %s\n", width, keyText(e.key), valueText(e.value))
	}
}

var bareKey = text.Lazy(`^[A-Za-z0-9_-]+$`)

func keyText(key string) string {
	if bareKey().MatchString(key) {
		return key
	}
	return quoted(key)
}

// quoted is a basic string of TOML. JSON's escapes are TOML's; it leaves DEL, which TOML forbids.
func quoted(s string) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s) // a string can always be written
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\x7f", `\u007f`)
}

func valueText(v any) string {
	switch v := v.(type) {
	case string:
		return quoted(v)
	case json.Number:
		return numberText(v)
	case float64:
		return floatText(v)
	case table:
		return inline(v)
	case map[string]any:
		var t table
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if v[key] != nil { // TOML has no null
				t.set(key, v[key])
			}
		}
		return inline(t)
	case []float64:
		return list(v, floatText)
	case []string:
		return list(v, quoted)
	case []any:
		return list(slices.DeleteFunc(slices.Clone(v), func(x any) bool { return x == nil }), valueText)
	}
	return fmt.Sprint(v) // int, bool
}

func inline(t table) string {
	var parts []string
	for _, e := range t {
		parts = append(parts, keyText(e.key)+" = "+valueText(e.value))
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}

func list[T any](items []T, text func(T) string) string {
	var parts []string
	for _, item := range items {
		parts = append(parts, text(item))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func floatText(x float64) string {
	if math.IsInf(x, 1) {
		return `"inf"`
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// numberText keeps the kind of a JSON number: 1.0 is no integer.
func numberText(n json.Number) string {
	if _, err := n.Int64(); err == nil {
		return n.String()
	}
	x, err := n.Float64()
	if err != nil {
		return quoted(n.String())
	}
	text := strconv.FormatFloat(x, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

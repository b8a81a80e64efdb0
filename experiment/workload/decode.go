package workload

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// mistakes takes what is wrong in a table.
type mistakes func(key, problem, hint string)

// unless reports a problem if something is not as it must be.
func (bad mistakes) unless(ok bool, key, hint, problem string, values ...any) {
	if !ok {
		bad(key, fmt.Sprintf(problem, values...), hint)
	}
}

type keyList struct{ must, may []string }

func (k keyList) String() string {
	s := strings.Join(k.must, " and ")
	if len(k.may) == 0 {
		return s
	}
	if s != "" {
		s += ", optionally "
	}
	return s + strings.Join(k.may, " and ")
}

func (k keyList) has(key string) bool {
	return slices.Contains(k.must, key) || slices.Contains(k.may, key)
}

// fields reads the values of a table. It ignores keys that are not in its list; done reports those, and missing ones.
type fields struct {
	t     map[string]any
	of    string // what the table describes, for messages
	keys  keyList
	bad   func(key, problem, hint string)
	wrong bool
}

func (f *fields) report(key, problem, hint string) {
	f.wrong = true
	f.bad(key, problem, hint)
}

func (f *fields) get(key string) (any, bool) {
	v, ok := f.t[key]
	return v, ok && f.keys.has(key)
}

func (f *fields) seconds(key string, into *Seconds) {
	if v, ok := f.get(key); ok {
		into.DecodeTOML(v, func(_, problem, hint string) { f.report(key, problem, hint) })
	}
}

func (f *fields) number(key string, into *float64, least, most float64, hint string) {
	v, ok := f.get(key)
	if !ok {
		return
	}
	x, ok := Number(v)
	if !ok || !(x >= least && x <= most) {
		f.report(key, fmt.Sprintf("%s must be a number between %s and %s, not %s", key, plain(least), plain(most),
			Found(v)), hint)
		return
	}
	*into = x
}

func (f *fields) whole(key string, into *int, least, most int, hint string) {
	x := float64(*into)
	f.number(key, &x, float64(least), float64(most), hint)
	if x != math.Trunc(x) {
		f.report(key, fmt.Sprintf("%s must be an integer, not %s", key, Found(x)), hint)
		return
	}
	*into = int(x)
}

func (f *fields) text(key string, into *string, words ...string) {
	v, ok := f.get(key)
	if !ok {
		return
	}
	s, _ := v.(string)
	if !slices.Contains(words, s) {
		f.report(key, fmt.Sprintf("unknown %s %q", key, fmt.Sprint(v)), "use "+strings.Join(words, " or "))
		return
	}
	*into = s
}

// maxTables bounds a list of tables, which every draw scans.
const maxTables = 1000

// tables reads a list of tables, each with these keys.
func (f *fields) tables(key, of, hint string, keys []string, read func(*fields)) {
	v, ok := f.get(key)
	if !ok {
		return
	}
	list, ok := tablesOf(v)
	if !ok || len(list) == 0 || len(list) > maxTables {
		f.report(key, fmt.Sprintf("%s must be a list of 1 to %d tables", key, maxTables), hint)
		return
	}
	for i, t := range list {
		read(&fields{t: t, of: of, keys: keyList{must: keys}, bad: func(inner, problem, hint string) {
			f.report(strings.TrimSuffix(fmt.Sprintf("%s[%d].%s", key, i, inner), "."), problem, hint)
		}})
	}
}

func (f *fields) flag(key string, into *bool) {
	v, ok := f.get(key)
	if !ok {
		return
	}
	if *into, ok = v.(bool); !ok {
		f.report(key, fmt.Sprintf("%s must be true or false, not %s", key, Found(v)), "write "+key+" = true")
	}
}

// done reports unknown and missing keys, and returns whether the table has no error. kind is the key that
// selects the kind of the table; it is known.
func (f *fields) done(kind string) bool {
	for _, k := range slices.Sorted(maps.Keys(f.t)) {
		if k != kind && !f.keys.has(k) {
			hint := "its keys are " + f.keys.String()
			if len(f.keys.must)+len(f.keys.may) == 0 {
				hint = "remove " + k
			}
			f.report(k, fmt.Sprintf("%s has no key %q", f.of, k), hint)
		}
	}
	for _, k := range f.keys.must {
		if _, ok := f.t[k]; !ok {
			f.report("", fmt.Sprintf("%s needs %s", f.of, k), "its keys are "+f.keys.String())
		}
	}
	return !f.wrong
}

// tablesOf returns the tables of a list of tables, which the parser returns in either of two forms.
func tablesOf(v any) ([]map[string]any, bool) {
	if tables, ok := v.([]map[string]any); ok {
		return tables, true
	}
	list, ok := v.([]any)
	var out []map[string]any
	for _, e := range list {
		t, isTable := e.(map[string]any)
		out = append(out, t)
		ok = ok && isTable
	}
	return out, ok
}

func plain(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// Found is a value of a TOML file as a message shows it: a string in quotes, a number as such, "a table".
func Found(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(v)
	case map[string]any:
		return "a table"
	case []any:
		parts := make([]string, len(v))
		for i, x := range v {
			parts[i] = Found(x)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case []map[string]any:
		return "a list of tables"
	case float64:
		return plain(v)
	}
	return fmt.Sprint(v)
}

func Number(v any) (float64, bool) {
	switch x := v.(type) {
	case int64:
		return float64(x), true
	case float64:
		return x, true
	}
	return 0, false
}

package strict

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

func (d decoder) wrong(path string, v any, want reflect.Type) {
	text := fmt.Sprintf("%s must be %s, not %s", subject(path), wanted(want), found(v))
	d.bad(path, text, remedy(path, v, want))
}

func wanted(t reflect.Type) string {
	switch kindOf(t) {
	case aWhole:
		return "an integer"
	case aNumber:
		return "a number"
	case aBool:
		return "true or false"
	case aDuration:
		return "a duration"
	case aTable:
		return "a table"
	case aTables:
		return "a list of tables"
	case aList:
		return "a list"
	}
	return "a string"
}

func found(v any) string {
	switch v := v.(type) {
	case string:
		return "the string " + strconv.Quote(shorten(v))
	case int64:
		return fmt.Sprintf("the number %d", v)
	case float64:
		return "the number " + floatText(v)
	case bool:
		return strconv.FormatBool(v)
	case time.Time:
		return "the date " + dateText(v)
	case map[string]any:
		return "a table"
	case []map[string]any:
		return "a list of tables"
	case []any:
		return "a list"
	}
	return fmt.Sprintf("a Go %T", v)
}

// remedy is the hint: the present value, repaired if the intention is clear, else an example.
func remedy(path string, v any, want reflect.Type) string {
	_, isTable := v.(map[string]any)
	_, isTables := v.([]map[string]any)
	switch kind := kindOf(want); {
	case kind == aTable && isTables:
		return fmt.Sprintf("write [%[1]s], not [[%[1]s]]", header(path))
	case kind == aTables && isTable:
		return fmt.Sprintf("write [[%[1]s]], not [%[1]s]", header(path))
	case kind == aTable || kind == aTables:
		return "write " + assign(path, example(want, 0)) + tableKeys(want)
	}
	if repaired, ok := repair(v, want); ok {
		return "write " + assign(path, repaired)
	}
	if l, ok := v.([]any); ok && len(l) > 0 {
		if first, ok := literal(l[0], want); ok {
			return "write one value: " + assign(path, first)
		}
	}
	return "write for example " + assign(path, example(want, 0))
}

func assign(path, value string) string {
	if path == "" || strings.HasSuffix(path, "]") {
		return value
	}
	return subject(path) + " = " + value
}

func tableKeys(t reflect.Type) string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return ""
	}
	if known := names(fields(t)); len(known) > 1 {
		return "; its keys are " + strings.Join(known, ", ")
	}
	return ""
}

// repair converts a value to the wanted kind if the intention is clear: quotes too many or too few, a missing
// unit, one element.
func repair(v any, want reflect.Type) (string, bool) {
	kind := kindOf(want)
	if kind == aList {
		inner, ok := literal(v, deref(want).Elem())
		return "[" + inner + "]", ok
	}
	if l, ok := v.([]any); ok && len(l) == 1 {
		return literal(l[0], want)
	}
	return literal(v, want)
}

// literal writes a scalar as TOML of the wanted kind.
func literal(v any, want reflect.Type) (string, bool) {
	kind := kindOf(want)
	var s string
	switch v := v.(type) {
	case string:
		s = strings.TrimSpace(v)
	case int64:
		s = strconv.FormatInt(v, 10)
	case bool:
		s = strconv.FormatBool(v)
	case float64:
		s = floatText(v)
	case time.Time:
		s = dateText(v)
	default:
		return "", false
	}
	if length, err := time.ParseDuration(s); kind == aDuration && err == nil {
		return strconv.Quote(s), length >= 0
	}
	f, err := strconv.ParseFloat(s, 64)
	isNumber := err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
	switch {
	case kind == aText:
		return strconv.Quote(shorten(s)), true
	case kind == aBool:
		return s, s == "true" || s == "false"
	case kind == aNumber && isNumber && !strings.ContainsAny(s, "xX_"):
		return strconv.FormatFloat(f, 'f', -1, 64), true
	case kind == aWhole && isNumber && f == math.Trunc(f) && math.Abs(f) < 1<<53:
		return strconv.FormatFloat(f, 'f', 0, 64), true
	case kind == aDuration && isNumber && f >= 0:
		return strconv.Quote(strconv.FormatFloat(f, 'f', -1, 64) + "s"), true
	}
	return "", false
}

type kind int

const (
	aText kind = iota
	aWhole
	aNumber
	aBool
	aDuration
	aTable
	aTables
	aList
)

func kindOf(t reflect.Type) kind {
	t = deref(t)
	switch k := t.Kind(); {
	case t == durationType:
		return aDuration
	case k >= reflect.Int && k <= reflect.Uint64:
		return aWhole
	case k == reflect.Float32 || k == reflect.Float64:
		return aNumber
	case k == reflect.Bool:
		return aBool
	case k == reflect.Struct || k == reflect.Map:
		return aTable
	case k == reflect.Slice && kindOf(t.Elem()) == aTable:
		return aTables
	case k == reflect.Slice:
		return aList
	}
	return aText
}

func deref(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// example writes a value that a type accepts. Tables nested deeper than two levels, and types that decode
// themselves, are shown as "…".
func example(t reflect.Type, depth int) string {
	t = deref(t)
	if reflect.PointerTo(t).Implements(reflect.TypeFor[selfDecoder]()) || depth > 2 {
		return "…"
	}
	switch kindOf(t) {
	case aWhole:
		return "4"
	case aNumber:
		return "0.5"
	case aBool:
		return "true"
	case aDuration:
		return `"10s"`
	case aList, aTables:
		return "[" + example(t.Elem(), depth+1) + "]"
	case aTable:
		if t.Kind() == reflect.Map {
			return "{ key = " + example(t.Elem(), depth+1) + " }"
		}
		for _, f := range fields(t) {
			return fmt.Sprintf("{ %s = %s }", quote(f.name), example(t.FieldByIndex(f.index).Type, depth+1))
		}
		return "{ }"
	}
	return `"text"`
}

// floatText formats a float so that it does not look like an integer.
func floatText(f float64) string {
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if strings.ContainsAny(s, ".eInN") {
		return strings.ToLower(strings.TrimPrefix(s, "+"))
	}
	return s + ".0"
}

// dateText formats a date as TOML does; the parser names the time zone after what the file left out.
func dateText(t time.Time) string {
	switch t.Location().String() {
	case "datetime-local":
		return t.Format("2006-01-02T15:04:05.999999999")
	case "date-local":
		return t.Format("2006-01-02")
	case "time-local":
		return t.Format("15:04:05.999999999")
	}
	return t.Format(time.RFC3339Nano)
}

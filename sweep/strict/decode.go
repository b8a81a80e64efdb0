package strict

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"bench/experiment/text"
)

// Decode fills into, a pointer to a struct, from a table of a [Document] or one assembled from several. It
// reports every mistake to bad with its path inside the table. Fields without a key in the table stay as they
// are.
//
// A field needs a tag `toml:"name"`; a field without one, or with "-", is ignored. The fields of an embedded
// struct without a tag count as fields of the outer struct. Types are string, bool, integers, floats (from an
// integer too; never nan, and inf only with `toml:"name,inf"`), time.Duration ("10s", not negative), any
// (what JSON can represent), maps from string to any of these, structs, and pointers to and slices of these.
// Any other type panics.
//
// A type with a method
//
//	DecodeTOML(v any, bad func(key, problem, hint string))
//
// on its pointer decodes itself from the parser's value, and reports keys relative to itself. Decode does not
// call that method of into, so that the method can pass its table to Decode.
//
// elsewhere are keys of the table that the caller decodes itself: hints list them.
func Decode(v map[string]any, into any, bad func(path, text, hint string), elsewhere ...string) {
	rv := reflect.ValueOf(into)
	if rv.Kind() != reflect.Pointer || rv.IsNil() || rv.Elem().Kind() != reflect.Struct {
		panic(fmt.Sprintf("strict: decoding into %T, which is no pointer to a struct", into))
	}
	decoder{bad, elsewhere}.table("", v, rv.Elem())
}

type decoder struct {
	bad       func(path, text, hint string)
	elsewhere []string // keys of the outermost table that are not in its struct
}

type selfDecoder interface {
	DecodeTOML(v any, bad func(key, problem, hint string))
}

var durationType = reflect.TypeFor[time.Duration]()

type field struct {
	name  string
	inf   bool
	index []int
}

// fields returns the keys of a struct in its order. Of two with one name the outer one counts, as in Go.
func fields(t reflect.Type) []field {
	var own, inner []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("toml"), ",")
		switch {
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			for _, sub := range fields(f.Type) {
				sub.index = append([]int{i}, sub.index...)
				inner = append(inner, sub)
			}
		case name != "" && name != "-" && f.IsExported():
			own = append(own, field{name, options == "inf", []int{i}})
		}
	}
	for _, f := range inner {
		if !slices.ContainsFunc(own, func(o field) bool { return o.name == f.name }) {
			own = append(own, f)
		}
	}
	return own
}

func names(fs []field) []string {
	out := make([]string, len(fs))
	for i, f := range fs {
		out[i] = f.name
	}
	return out
}

func (d decoder) table(path string, v map[string]any, into reflect.Value) {
	known := fields(into.Type())
	for _, key := range slices.Sorted(maps.Keys(v)) {
		at := slices.IndexFunc(known, func(f field) bool { return f.name == key })
		if at < 0 {
			all := names(known)
			if path == "" {
				all = append(all, d.elsewhere...)
			}
			d.unknown(path, key, all)
			continue
		}
		d.value(Join(path, quote(key)), v[key], into.FieldByIndex(known[at].index), known[at].inf)
	}
}

func (d decoder) unknown(path, key string, known []string) {
	s := "unknown key " + strconv.Quote(shorten(key))
	if path != "" && !strings.HasSuffix(path, "]") {
		s += " in " + subject(path)
	}
	hint := "the keys of this table are " + strings.Join(known, ", ")
	if len(known) == 0 {
		hint = "remove it; this table has no keys"
	}
	if near, ok := text.Nearest(key, known); ok {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	if meant, ok := otherName(key, known); ok {
		hint = meant
	}
	d.bad(Join(path, quote(key)), s, hint)
}

// value fills one value of any type. inf allows it to be infinite.
func (d decoder) value(path string, v any, into reflect.Value, inf bool) {
	if own, ok := into.Addr().Interface().(selfDecoder); ok {
		own.DecodeTOML(v, func(key, problem, hint string) { d.bad(Join(path, key), problem, hint) })
		return
	}
	switch into.Kind() {
	case reflect.Pointer:
		p := reflect.New(into.Type().Elem())
		d.value(path, v, p.Elem(), inf)
		into.Set(p)
	case reflect.Slice:
		d.slice(path, v, into, inf)
	case reflect.Map:
		d.mapping(path, v, into, inf)
	case reflect.Struct:
		if table, ok := v.(map[string]any); ok {
			d.table(path, table, into)
		} else {
			d.wrong(path, v, into.Type())
		}
	default:
		d.scalar(path, v, into, inf)
	}
}

// list returns the elements of a list of either shape; false if v is not a list.
func list(v any) ([]any, bool) {
	switch v := v.(type) {
	case []any:
		return v, true
	case []map[string]any:
		out := make([]any, len(v))
		for i, table := range v {
			out[i] = table
		}
		return out, true
	}
	return nil, false
}

func (d decoder) slice(path string, v any, into reflect.Value, inf bool) {
	from, ok := list(v)
	if !ok {
		d.wrong(path, v, into.Type())
		return
	}
	out := reflect.MakeSlice(into.Type(), len(from), len(from))
	for i, element := range from {
		d.value(indexed(path, i), element, out.Index(i), inf)
	}
	into.Set(out)
}

func (d decoder) mapping(path string, v any, into reflect.Value, inf bool) {
	t := into.Type()
	if t.Key().Kind() != reflect.String {
		panic(fmt.Sprintf("strict: %s is a %s, but TOML's keys are strings", path, t))
	}
	from, ok := v.(map[string]any)
	if !ok {
		d.wrong(path, v, t)
		return
	}
	out := reflect.MakeMapWithSize(t, len(from))
	for _, key := range slices.Sorted(maps.Keys(from)) {
		element := reflect.New(t.Elem()).Elem()
		d.value(Join(path, quote(key)), from[key], element, inf)
		out.SetMapIndex(reflect.ValueOf(key).Convert(t.Key()), element)
	}
	into.Set(out)
}

// plain copies a value for JSON, with every list as []any. It reports dates, which it returns as strings, and
// nan and inf, for which it returns nil.
func (d decoder) plain(path string, v any) any {
	if from, ok := list(v); ok {
		out := make([]any, len(from))
		for i := range from {
			out[i] = d.plain(indexed(path, i), from[i])
		}
		return out
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out[key] = d.plain(Join(path, quote(key)), v[key])
		}
		return out
	case time.Time:
		text := dateText(v)
		d.bad(path, fmt.Sprintf("%s is the date %s, which JSON cannot represent", subject(path), text), "write "+
			assign(path, strconv.Quote(text)))
		return text
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			d.bad(path, fmt.Sprintf("%s is %s, which JSON cannot represent", subject(path), floatText(v)),
				"write a finite number")
			return nil
		}
	}
	return v
}

func (d decoder) scalar(path string, v any, into reflect.Value, inf bool) {
	switch k := into.Kind(); {
	case into.Type() == durationType:
		d.duration(path, v, into)
	case k == reflect.String || k == reflect.Bool:
		if rv := reflect.ValueOf(v); rv.IsValid() && rv.Kind() == k {
			into.Set(rv.Convert(into.Type()))
		} else {
			d.wrong(path, v, into.Type())
		}
	case into.CanInt() || into.CanUint():
		d.whole(path, v, into)
	case into.CanFloat():
		d.number(path, v, into, inf)
	case k == reflect.Interface && into.NumMethod() == 0:
		if kept := d.plain(path, v); kept != nil {
			into.Set(reflect.ValueOf(kept))
		}
	default:
		panic(fmt.Sprintf("strict: %s is a %s, which TOML can't fill", path, into.Type()))
	}
}

func (d decoder) whole(path string, v any, into reflect.Value) {
	n, ok := v.(int64)
	switch {
	case !ok:
		d.wrong(path, v, into.Type())
	case into.CanUint() && n < 0:
		d.bad(path, fmt.Sprintf("%s must be 0 or more, not %d", subject(path), n), "write "+
			assign(path, strconv.FormatInt(n, 10)[1:]))
	case into.CanInt() && into.OverflowInt(n) || into.CanUint() && into.OverflowUint(uint64(n)):
		least, most := limits(into)
		d.bad(path, fmt.Sprintf("%s must be between %s and %s, not %d", subject(path), least, most, n), "write "+
			assign(path, most)+" or less")
	case into.CanInt():
		into.SetInt(n)
	default:
		into.SetUint(uint64(n))
	}
}

func limits(v reflect.Value) (least, most string) {
	bits := v.Type().Bits()
	if v.CanUint() {
		return "0", strconv.FormatUint(math.MaxUint64>>(64-bits), 10)
	}
	return strconv.FormatInt(math.MinInt64>>(64-bits), 10), strconv.FormatInt(math.MaxInt64>>(64-bits), 10)
}

const exact = 1 << 53 // above, not every integer is a float64

func (d decoder) number(path string, v any, into reflect.Value, inf bool) {
	f, ok := v.(float64)
	n, isWhole := v.(int64)
	if isWhole {
		f, ok = float64(n), true
	}
	switch {
	case isWhole && (n >= exact || n <= -exact):
		d.bad(path, fmt.Sprintf("%s is %d, too large for an exact number", subject(path), n),
			"write it with a decimal point if rounding is acceptable")
	case !ok:
		d.wrong(path, v, into.Type())
	case math.IsNaN(f) || math.IsInf(f, 0) && !inf:
		d.bad(path, fmt.Sprintf("%s must be a finite number, not %s", subject(path), floatText(f)), "write "+
			assign(path, "0.5"))
	case into.OverflowFloat(f):
		d.bad(path, fmt.Sprintf("%s is %s, which is too large", subject(path), floatText(f)), "write a smaller number")
	default:
		into.SetFloat(f)
	}
}

func (d decoder) duration(path string, v any, into reflect.Value) {
	s, ok := v.(string)
	if !ok {
		d.wrong(path, v, into.Type())
		return
	}
	length, err := time.ParseDuration(s)
	switch {
	case err != nil:
		d.bad(path, fmt.Sprintf("%s must be a duration, not %q", subject(path), shorten(s)), durationHint(path, s))
	case length < 0:
		d.bad(path, fmt.Sprintf("%s must be 0 or more, not %q", subject(path), shorten(s)), "write "+
			assign(path, strconv.Quote(shorten(s[1:]))))
	default:
		into.SetInt(int64(length))
	}
}

// durationHint repairs common mistakes in durations: a space, or a missing unit.
func durationHint(path, s string) string {
	for _, try := range []string{strings.ReplaceAll(s, " ", ""), s + "s"} {
		if length, err := time.ParseDuration(try); err == nil && length >= 0 {
			return "write " + assign(path, strconv.Quote(shorten(try)))
		}
	}
	return `write a number and its unit (ns, us, ms, s, m, h), such as "250ms", "10s" or "1h30m"`
}

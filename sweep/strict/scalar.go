package strict

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

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

package trace

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

var units = map[string]time.Duration{"s": time.Second, "ms": time.Millisecond, "us": time.Microsecond, "ns": 1}

type clock struct {
	unit   time.Duration // 0 = detected from the first timestamp, which must be a date
	stated bool          // the unit comes from the user or the file, and is not checked for plausibility
	begun  bool
}

func (o Options) clock(unit time.Duration) clock {
	if o.TimeUnit != "" {
		return clock{unit: units[o.TimeUnit], stated: true}
	}
	return clock{unit: unit}
}

func (c *clock) parse(text string) (time.Duration, error) {
	if !c.begun {
		if err := c.begin(text); err != nil {
			return 0, unreadable{err} // a unit is the whole file's
		}
		c.begun = true
	}
	if _, frac, _ := strings.Cut(text, "."); c.unit == time.Millisecond && !c.stated && strings.Trim(frac, "0") != "" {
		return 0, unreadable{fmt.Errorf("the time %s has a fraction, but this format has integer milliseconds\nhint: set time_unit = \"s\", or time_unit = \"ms\" to confirm milliseconds", text)}
	}
	return parseTime(text, c.unit)
}

// begin detects or checks the unit with the first timestamp.
func (c *clock) begin(text string) (err error) {
	switch {
	case c.unit == 0:
		c.unit, err = guessUnit(text)
		c.stated = true
	case !c.stated:
		err = checkUnit(text, c.unit)
	}
	return err
}

// parseTime parses a decimal number of units, exactly to the nanosecond: a float64 would lose digits of a
// date.
func parseTime(text string, unit time.Duration) (time.Duration, error) {
	if strings.HasPrefix(text, "-") {
		return 0, fmt.Errorf("the time %.40q is negative", text)
	}
	if strings.ContainsAny(text, "eE") {
		return parseScientific(text, unit)
	}
	whole, frac, _ := strings.Cut(text, ".")
	n, err := strconv.ParseUint(whole, 10, 63)
	if err != nil || frac != "" && strings.Trim(frac, "0123456789") != "" {
		return 0, fmt.Errorf("%q is not a time", text)
	}
	if n > math.MaxInt64/2/uint64(unit) {
		return 0, errTooLate(text, unit)
	}
	return time.Duration(n)*unit + fraction(frac, unit), nil
}

// fraction is 0.digits of a unit, rounded down to a nanosecond.
func fraction(digits string, unit time.Duration) time.Duration {
	digits = digits[:min(len(digits), 9)]
	if digits == "" {
		return 0
	}
	n, _ := strconv.ParseInt(digits, 10, 64) // at most nine digits, so no overflow
	return time.Duration(n) * unit / time.Duration(math.Pow10(len(digits)))
}

func parseScientific(text string, unit time.Duration) (time.Duration, error) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%q is not a time", text)
	}
	if x *= float64(unit); !(x < math.MaxInt64/2) {
		return 0, errTooLate(text, unit)
	}
	return time.Duration(x), nil
}

func errTooLate(text string, unit time.Duration) error {
	return fmt.Errorf("the time %s in units of %v is too large\nhint: set time_unit = \"ms\", \"us\" or \"ns\"", text,
		unit)
}

// Bounds in seconds since 1970 of a timestamp that is taken for a date.
const (
	calendarFrom = 1e9  // 2001
	calendarTo   = 1e11 // the year 5138
)

// checkUnit rejects a format's unit if the first timestamp is a date in another unit.
func checkUnit(text string, unit time.Duration) error {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil // parseTime reports it
	}
	for name, u := range units { // a number is a date in at most one of them
		if seconds := x * u.Seconds(); u != unit && seconds >= calendarFrom && seconds < calendarTo {
			return fmt.Errorf("the first time %s is not a date in units of %v, but in %s it is %s\n"+
				"hint: set time_unit = %q, or confirm the format's unit by time_unit",
				text, unit, name, time.Unix(int64(seconds), 0).UTC().Format(time.DateOnly), name)
		}
	}
	return nil
}

// guessUnit is the unit in which the first timestamp is a date.
func guessUnit(text string) (time.Duration, error) {
	if x, err := strconv.ParseFloat(text, 64); err == nil {
		for _, u := range units {
			if s := x * u.Seconds(); s >= calendarFrom && s < calendarTo {
				return u, nil
			}
		}
	}
	return 0, fmt.Errorf("the unit of the time %s is unknown\nhint: set time_unit = \"s\" or \"ms\"", text)
}

// layouts are the accepted date formats; a fraction of a second may follow in each.
var layouts = []string{"2006-01-02 15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05Z07:00",
	"2006-01-02T15:04:05"}

// parseDate parses a date with a time (UTC if it has no zone) as the time since 1970.
func parseDate(text string) (time.Duration, error) {
	for _, layout := range layouts {
		t, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		if year := t.Year(); year < 1970 || year > 2200 {
			return 0, fmt.Errorf("the date %s is not between 1970 and 2200", text)
		}
		return time.Duration(t.UnixNano()), nil
	}
	return 0, fmt.Errorf("%q is not a date with a time", text)
}

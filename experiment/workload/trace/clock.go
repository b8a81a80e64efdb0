package trace

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// units of numeric times.
var units = map[string]time.Duration{"s": time.Second, "ms": time.Millisecond, "us": time.Microsecond, "ns": 1}

// clock reads the times of a file.
type clock struct {
	unit   time.Duration // 0 = told by the first time, which is one of the calendar
	stated bool          // somebody said the unit: nothing is guessed against it
	begun  bool
}

// clock is the one of a format's unit, unless the options state another.
func (o Options) clock(unit time.Duration) clock {
	if o.TimeUnit != "" {
		return clock{unit: units[o.TimeUnit], stated: true}
	}
	return clock{unit: unit}
}

func (c *clock) parse(text string) (time.Duration, error) {
	if !c.begun {
		if err := c.begin(text); err != nil {
			return 0, err
		}
		c.begun = true
	}
	if _, frac, _ := strings.Cut(text, "."); c.unit == time.Millisecond && !c.stated && strings.Trim(frac, "0") != "" {
		return 0, fmt.Errorf("the time %s has a fraction, but this format counts whole milliseconds\nhint: say what it is: time_unit = \"s\", or \"ms\" if it is right as it is", text)
	}
	return parseTime(text, c.unit)
}

// begin judges the unit by the first time.
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

// parseTime reads a decimal number of units, exactly to the nanosecond: a float64 would lose digits of a time of the calendar.
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
	n, _ := strconv.ParseInt(digits, 10, 64) // nine digits at most
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
	return fmt.Errorf("the time %s in units of %v is beyond every calendar\nhint: say what the numbers are, time_unit = \"ms\" or \"us\" or \"ns\"", text, unit)
}

// Times of the calendar, in seconds: of the first row they tell which unit can't be right.
const (
	calendarFrom = 1e9  // 2001
	calendarTo   = 1e11 // the year 5138
)

// checkUnit refuses a unit that nobody stated when the first time shows that it is another.
func checkUnit(text string, unit time.Duration) error {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil // parseTime says it
	}
	for name, u := range units { // no number is a date in two of them
		if seconds := x * u.Seconds(); u != unit && seconds >= calendarFrom && seconds < calendarTo {
			return fmt.Errorf("the first time is %s: no date in units of %v, but in %s it is %s\nhint: write time_unit = %q, or %q if it is right as it is",
				text, unit, name, time.Unix(int64(seconds), 0).UTC().Format(time.DateOnly), name, unitName(unit))
		}
	}
	return nil
}

func unitName(unit time.Duration) string {
	for name, u := range units {
		if u == unit {
			return name
		}
	}
	return unit.String()
}

// guessUnit is the unit in which the first time is one of the calendar.
func guessUnit(text string) (time.Duration, error) {
	if x, err := strconv.ParseFloat(text, 64); err == nil {
		for _, u := range units {
			if s := x * u.Seconds(); s >= calendarFrom && s < calendarTo {
				return u, nil
			}
		}
	}
	return 0, fmt.Errorf("the unit of the time %s can't be told\nhint: say what the numbers are, time_unit = \"s\" or \"ms\"", text)
}

// layouts of dates with a time; a fraction of the second may follow in each.
var layouts = []string{"2006-01-02 15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05"}

// parseDate reads a moment of the calendar, without a zone in UTC, as the time since 1970.
func parseDate(text string) (time.Duration, error) {
	for _, layout := range layouts {
		t, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		if year := t.Year(); year < 1970 || year > 2200 {
			return 0, fmt.Errorf("the date %s is not of this time", text)
		}
		return time.Duration(t.UnixNano()), nil
	}
	return 0, fmt.Errorf("%q is not a date with a time", text)
}

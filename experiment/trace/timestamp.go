package trace

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
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
		return 0, unreadable{fmt.Errorf("the time %s has a fraction, but this format has integer milliseconds\n"+
			"hint: set time_unit = \"s\", or time_unit = \"ms\" to confirm milliseconds", text)}
	}
	return parseTime(text, c.unit)
}

// begin detects or checks the unit with the first timestamp.
func (c *clock) begin(text string) error {
	name, seconds := unitOfDate(text)
	switch {
	case c.unit == 0 && name == "":
		return fmt.Errorf("the unit of the time %s is unknown\nhint: set time_unit = \"s\" or \"ms\"", text)
	case c.unit == 0:
		c.unit, c.stated = units[name], true
	case !c.stated && name != "" && units[name] != c.unit:
		return fmt.Errorf("the first time %s is not a date in units of %v, but in %s it is %s\n"+
			"hint: set time_unit = %q, or confirm the format's unit by time_unit",
			text, c.unit, name, time.Unix(int64(seconds), 0).UTC().Format(time.DateOnly), name)
	}
	return nil
}

// parseTime parses a decimal number of units, exactly to the nanosecond: a float64 would lose digits of a date.
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

// unitOfDate is the unit in which a number is a date, of which there is at most one; empty = none.
func unitOfDate(text string) (name string, seconds float64) {
	x, _ := strconv.ParseFloat(text, 64) // parseTime reports what is no number
	for name, unit := range units {
		if seconds := x * unit.Seconds(); seconds >= calendarFrom && seconds < calendarTo {
			return name, seconds
		}
	}
	return "", 0
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

// spread spreads what has one timestamp uniformly over the step of the timestamps, in order, but not beyond
// the next timestamp, since the steps of real files are not all equal.
type spread[T any] struct {
	group []T // remaining ones with the current timestamp
	ahead *T  // the first one with the next timestamp
}

// maxGroup bounds the number of requests with one timestamp under jitter, which are kept in memory.
const maxGroup = 1 << 16

// read returns the next one, with its time changed. next reads them without jitter.
func (s *spread[T]) read(r *Reader, next func() (T, error), at func(*T) *time.Duration) (one T, err error) {
	if len(s.group) == 0 {
		if err := s.gather(r, next, at); err != nil {
			return one, err
		}
	}
	one = s.group[0]
	s.group = s.group[1:]
	return one, nil
}

func (s *spread[T]) gather(r *Reader, next func() (T, error), at func(*T) *time.Duration) error {
	s.group = s.group[:0]
	if s.ahead != nil {
		s.group = append(s.group, *s.ahead)
		s.ahead = nil
	}
	step := r.o.scaled(r.o.Jitter)
	for {
		one, err := next()
		if err != nil && (err != io.EOF || len(s.group) == 0) {
			return err
		}
		if err == io.EOF {
			break
		}
		if len(s.group) > 0 && *at(&one) != *at(&s.group[0]) {
			s.ahead = &one
			step = min(step, *at(&one)-*at(&s.group[0]))
			break
		}
		if s.group = append(s.group, one); len(s.group) > maxGroup {
			r.err = fmt.Errorf("%s: more than %d requests with one timestamp\nhint: remove jitter", r.name, maxGroup)
			return r.err
		}
	}
	offsets := make([]time.Duration, len(s.group))
	for i := range offsets {
		offsets[i] = time.Duration(r.rand.Float64() * float64(step))
	}
	slices.Sort(offsets)
	for i := range s.group {
		*at(&s.group[i]) += offsets[i]
	}
	return nil
}

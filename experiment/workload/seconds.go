package workload

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

type Seconds float64

// maxSeconds bounds any stated duration: about three years, and safe from overflow.
const maxSeconds Seconds = 1e8

func (s *Seconds) DecodeTOML(v any, bad func(key, problem, hint string)) {
	if d, ok := DecodeDuration(v, time.Duration(maxSeconds)*time.Second, bad); ok {
		*s = Seconds(d.Seconds())
	}
}

func DecodeDuration(v any, most time.Duration, bad func(key, problem, hint string)) (d time.Duration, ok bool) {
	const hint = `write "10s", "500ms" or "2m"`
	text, ok := v.(string)
	if !ok {
		bad("", fmt.Sprintf("a duration must be a string with a unit, not %s", Found(v)), hint)
		return 0, false
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil || d < 0:
		bad("", fmt.Sprintf("%q is not a duration", text), hint)
		return 0, false
	case d > most:
		bad("", fmt.Sprintf("%q is longer than %v hours", text, math.Round(most.Hours())), hint)
		return 0, false
	}
	return d, true
}

func (s Seconds) Duration() time.Duration {
	return time.Duration(math.Round(float64(s) * float64(time.Second)))
}

func (s Seconds) String() string {
	if s < 60 {
		return strconv.FormatFloat(float64(s), 'g', -1, 64) + "s"
	}
	return s.Duration().String()
}

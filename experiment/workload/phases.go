package workload

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"time"
)

// Load is a row's part of the table: its phases and its workers.
type Load struct {
	// workers of the closed loop, or the cap of an open one; 0 = no cap
	Concurrency int    `toml:"concurrency" json:"concurrency,omitempty"`
	Warmup      Extent `toml:"warmup" json:"warmup,omitzero" compare:"size"`        // never counted; zero = none
	Duration    Span   `toml:"duration" json:"duration_s,omitempty" compare:"size"` // of the window; 0 = until requests
	// of the window; 0 = until duration; both: whichever comes first
	Requests int `toml:"requests" json:"requests,omitempty" compare:"size"`
	// for the window's last requests, after its end; 0 = defaultGrace
	Grace Span `toml:"grace" json:"grace_s,omitempty" compare:"size"`
	// of the whole row; then requests in flight are unfinished; 0 = no bound
	MaxDuration Span `toml:"max_duration" json:"max_duration_s,omitempty"`
	// longest wait for an idle server before the row; 0 = defaultSettle
	Settle Span `toml:"settle" json:"settle_s,omitempty" compare:"size"`
	// pause of a worker before each request; 0 = none
	Idle Span `toml:"idle" json:"idle_s,omitempty"`
}

// defaultGrace is long enough for a long answer, and bounds what a stalled server can cost.
const defaultGrace = Span(2 * time.Minute)

// defaultSettle is longer than servers need to drop or finish what a client has cancelled, and bounds what another
// client's load can cost.
const defaultSettle = Span(time.Minute)

type Span time.Duration

// maxSpan is six weeks, longer than any test of endurance: a longer one is a slip.
const maxSpan = 1000 * time.Hour

func (s *Span) DecodeTOML(v any, bad func(key, problem, hint string)) {
	if d, ok := decodeDuration(v, maxSpan, bad); ok {
		*s = Span(d)
	}
}

func (s Span) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, time.Duration(s).Seconds(), 'g', -1, 64), nil
}

func (s *Span) UnmarshalJSON(b []byte) error {
	x, err := strconv.ParseFloat(string(b), 64)
	if err != nil {
		return fmt.Errorf("reading a number of seconds: %w", err)
	}
	*s = Span(math.Round(x * float64(time.Second)))
	return nil
}

// Extent is an amount of load, by time or by requests; both: whichever ends later. Zero is none.
type Extent struct {
	Time     Span `json:"s,omitempty"`
	Requests int  `json:"requests,omitempty"`
}

// DecodeTOML takes a duration in quotes or a whole number of requests.
func (e *Extent) DecodeTOML(v any, bad func(key, problem, hint string)) {
	switch x := v.(type) {
	case int64:
		if x < 0 || x > 1<<30 {
			bad("", fmt.Sprintf("%d is not a number of requests", x), "write warmup = 50")
			return
		}
		*e = Extent{Requests: int(x)}
	case string:
		*e = Extent{}
		e.Time.DecodeTOML(v, bad)
	default:
		bad("", fmt.Sprintf("a warm-up is a duration or a number of requests, not %s", Found(v)),
			`write warmup = "10s" or warmup = 50`)
	}
}

// maxConcurrency is the number of TCP ports: connections from one address to another.
const maxConcurrency = 1<<16 - 1

func (l Load) Check(open, all bool, report func(key, problem, hint string)) {
	bad := mistakes(report)
	bad.unless(open || l.Concurrency != 0, "", "write rate = 4 (open loop) or concurrency = 8 (closed loop)",
		"neither rate nor concurrency")
	bad.unless(l.Concurrency >= 0 && l.Concurrency <= maxConcurrency, "concurrency", "write concurrency = 8",
		"concurrency %d is not between 1 and %d", l.Concurrency, maxConcurrency)
	bad.unless(l.Requests >= 0, "requests", "write requests = 1000", "requests is negative")
	bad.unless(l.Duration != 0 || l.Requests != 0, "", `write duration = "60s" or requests = 1000`,
		"neither duration nor requests")
	if least := l.Warmup.Time + l.Duration; l.MaxDuration > 0 && l.MaxDuration < least {
		bad("max_duration", fmt.Sprintf("max_duration %v ends the row before its warm-up and window of %v",
			time.Duration(l.MaxDuration), time.Duration(least)),
			fmt.Sprintf("write max_duration = %q, or leave it out", time.Duration(2*least)))
	}
	if !all {
		return
	}
	bad.unless(l.Requests != 0, "rate", "write requests = 1000",
		`rate = "inf" sends all requests at once, and needs their number`)
	bad.unless(l.Warmup == Extent{}, "warmup",
		`write warmup = 0 in this row; or leave out rate and write concurrency = 64, a closed loop that warms up`,
		`with rate = "inf" every request arrives at the start: no warm-up comes before the window`)
}

func (l Load) GraceTime() time.Duration { return time.Duration(cmp.Or(l.Grace, defaultGrace)) }

func (l Load) SettleTime() time.Duration { return time.Duration(cmp.Or(l.Settle, defaultSettle)) }

// Expected is how long warm-up and window take by the table and the rate (requests per second, 0 = closed
// loop). known is false if that depends on how fast the server answers; d is then the part that does not.
func (l Load) Expected(rate float64) (d time.Duration, known bool) {
	d, known = l.expected(rate)
	if l.MaxDuration > 0 {
		d = min(d, time.Duration(l.MaxDuration))
	}
	return d, known
}

func (l Load) expected(rate float64) (d time.Duration, known bool) {
	if l.Idle > 0 {
		return time.Duration(l.Warmup.Requests+l.Requests) * time.Duration(l.Idle), l.Requests > 0
	}
	window := time.Duration(l.Duration)
	unknown := rate == 0 || math.IsInf(rate, 1)
	if l.Requests > 0 {
		if unknown {
			return time.Duration(l.Warmup.Time) + window, false
		}
		byCount := time.Duration(float64(l.Requests) / rate * float64(time.Second))
		if window == 0 || byCount < window {
			window = byCount
		}
	}
	warmup := time.Duration(l.Warmup.Time)
	if l.Warmup.Requests > 0 {
		if unknown {
			return window, false
		}
		warmup = max(warmup, time.Duration(float64(l.Warmup.Requests)/rate*float64(time.Second)))
	}
	return warmup + window, true
}

type Seconds float64

// maxSeconds bounds any stated duration: about three years, and safe from overflow.
const maxSeconds Seconds = 1e8

func (s *Seconds) DecodeTOML(v any, bad func(key, problem, hint string)) {
	if d, ok := decodeDuration(v, time.Duration(maxSeconds)*time.Second, bad); ok {
		*s = Seconds(d.Seconds())
	}
}

func decodeDuration(v any, most time.Duration, bad func(key, problem, hint string)) (d time.Duration, ok bool) {
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

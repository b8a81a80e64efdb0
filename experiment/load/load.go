// Package load decides who sends when, never what. One driver serves the open loop (intended arrivals, no
// bound), the closed loop (no arrivals, N workers) and arrivals with a cap. A late client never drops, merges
// or moves an arrival: it only shows lag.
//
// The states of a run. The contexts in brackets end at the arrow. Load goes on until the run is over:
//
//	warm-up ─▶ window ─[windowCtx]─▶ cool-down ─[dispatchCtx, requestCtx: ErrUnfinished]─▶ over
//	any of these ─ MaxDuration ─[dispatchCtx, requestCtx: ErrUnfinished]─▶ over, cut
//	any of these ─ Run's ctx ends ─[dispatchCtx]─▶ draining ─ all ended, or Drain ─[requestCtx: Canceled]─▶ over
//
// The window closes with the first arrival behind it, by its duration, with its last request (Requests,
// Enough), at the end of the plan, or with Config.Ends. The cool-down ends when nothing is pending (the
// window is closed, and its requests have ended; with conversations, those of the warm-up too), or with the
// grace period.
//
// The states of a request:
//
//	encoded ─▶ arrived: has a phase ─▶ ready: has a worker ─▶ sent ─▶ ended ─▶ Config.Each
//	               │ dispatchCtx            │ dispatchCtx      ▲        │
//	               ▼                        ▼                  └────────┘ next turn, after the think time
//	            not sent: of the window, Unfinished; else not counted     on the same worker
//
// Under a concurrency a worker is free, or has one request or conversation from ready to ended. encodeCtx
// ends the encoding; its child dispatchCtx the sending of new requests; its child windowCtx the waits that
// only an open window needs. requestCtx ends the requests in flight; it is no child, since Drain outlives
// Run's ctx.
package load

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"bench/experiment/openai"
	"bench/experiment/workload"
)

// Load is a row's part of the table: its phases and its workers.
type Load struct {
	Concurrency int    `toml:"concurrency" json:"concurrency,omitempty"`     // workers of the closed loop, or the cap of an open one; 0 = no cap
	Warmup      Extent `toml:"warmup" json:"warmup,omitzero"`                // never counted; zero = none
	Duration    Span   `toml:"duration" json:"duration_s,omitempty"`         // of the window; 0 = until requests
	Requests    int    `toml:"requests" json:"requests,omitempty"`           // of the window; 0 = until duration; both: whichever comes first
	Grace       Span   `toml:"grace" json:"grace_s,omitempty"`               // for the window's last requests, after its end; 0 = defaultGrace
	MaxDuration Span   `toml:"max_duration" json:"max_duration_s,omitempty"` // of the whole row; then requests in flight are unfinished; 0 = no bound
	Idle        Span   `toml:"idle" json:"idle_s,omitempty"`                 // pause of a worker before each request; 0 = none
}

// defaultGrace is long enough for a long answer, and bounds what a stalled server can cost.
const defaultGrace = Span(2 * time.Minute)

// Span is a length of time: "10s" in a matrix, seconds in JSON.
type Span time.Duration

// DecodeTOML takes a duration in quotes.
func (s *Span) DecodeTOML(v any, bad func(key, problem, hint string)) {
	if d, ok := workload.DecodeDuration(v, math.MaxInt64, bad); ok {
		*s = Span(d)
	}
}

// MarshalJSON writes seconds.
func (s Span) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, time.Duration(s).Seconds(), 'g', -1, 64), nil
}

// UnmarshalJSON reads seconds.
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
		bad("", fmt.Sprintf("a warm-up is a duration or a number of requests, not %v", v), `write warmup = "10s" or warmup = 50`)
	}
}

// maxConcurrency is the number of TCP ports: connections from one address to another.
const maxConcurrency = 1<<16 - 1

// Check reports what is wrong or impossible. open: the row has a rate; all: that rate is "inf".
func (l Load) Check(open, all bool, bad func(key, problem, hint string)) {
	if !open && l.Concurrency == 0 {
		bad("", "neither rate nor concurrency", "write rate = 4 (open loop) or concurrency = 8 (closed loop)")
	}
	if l.Concurrency < 0 || l.Concurrency > maxConcurrency {
		bad("concurrency", fmt.Sprintf("concurrency %d is not between 1 and %d", l.Concurrency, maxConcurrency), "write concurrency = 8")
	}
	if l.Requests < 0 {
		bad("requests", "requests is negative", "write requests = 1000")
	}
	if l.Duration == 0 && l.Requests == 0 {
		bad("", "neither duration nor requests", `write duration = "60s" or requests = 1000`)
	}
	if least := l.Warmup.Time + l.Duration; l.MaxDuration > 0 && l.MaxDuration < least {
		bad("max_duration", fmt.Sprintf("max_duration %v ends the row before its warm-up and window of %v", time.Duration(l.MaxDuration), time.Duration(least)),
			fmt.Sprintf("write max_duration = %q, or leave it out", time.Duration(2*least)))
	}
	if !all {
		return
	}
	if l.Requests == 0 {
		bad("rate", `rate = "inf" sends all requests at once, and needs their number`, "write requests = 1000")
	}
	if l.Warmup != (Extent{}) {
		bad("warmup", `with rate = "inf" every request arrives at the start: no warm-up comes before the window`,
			`write warmup = 0 in this row; or leave out rate and write concurrency = 64, a closed loop that warms up`)
	}
}

// GraceTime is the grace period in force.
func (l Load) GraceTime() time.Duration {
	if l.Grace == 0 {
		return time.Duration(defaultGrace)
	}
	return time.Duration(l.Grace)
}

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

// Phase of a request, by its intended arrival.
type Phase int

// The phases, in their order.
const (
	Warmup Phase = iota
	Window
	Cooldown
)

// Job is one request. Times are offsets from Run's start.
type Job struct {
	Request workload.Request
	Phase   Phase
	// At is the intended arrival. Open loop: by the schedule. Closed loop: when the worker became free. A
	// later turn of a conversation: the end of the turn before plus the think time.
	At     time.Duration
	Ready  time.Duration // At, or later when no worker was free under the cap
	Input  int           // prompt tokens of a later turn, counting the answers that came; 0 = the request's
	Result openai.Result
}

// Config is one row's load.
type Config struct {
	Load
	Rate workload.Rate  // of arrivals: requests, or conversations; 0 = closed loop
	Plan *workload.Plan // used from one goroutine; when it ends, so does the window
	// Encode makes the request's body, ahead of its time. Calls do not overlap. A request that waits long for
	// a worker is encoded a second time.
	Encode func(*workload.Request) []byte
	// Send starts the request without waiting; finish does the rest and fills job.Result, whose times count
	// from epoch. ctx ends with the cause openai.ErrUnfinished when the row is over.
	Send func(ctx context.Context, job *Job, body []byte, epoch time.Time) (finish func())
	// Follow makes the next turn of a conversation (Request and Input) and its body from a turn that
	// succeeded and was not the last, and from that turn's body. It runs when the turn has ended, on any
	// goroutine. nil = no conversations.
	Follow func(job *Job, body []byte) (next *Job, nextBody []byte)
	// Each receives every request when it has ended, from one goroutine. Its error ends the run.
	Each func(*Job) error
	// Enough reports that the window needs no further request: the next one is behind it. It is called for
	// each request, on any goroutine; nil = the load itself decides.
	Enough func() bool
	// Ends closes the window when it ends, as if Duration were over: the window's requests go on, for the
	// grace period at most. nil = the load itself decides.
	Ends context.Context
	// Drain is how long requests in flight may go on after ctx has ended.
	Drain time.Duration
	// Wait sleeps until t or the end of ctx; nil = as precisely as the machine can.
	Wait func(ctx context.Context, t time.Time)
}

// Measured is the window that a run had, as offsets from its start.
type Measured struct {
	Epoch      time.Time
	Start, End time.Duration
	Cut        bool // MaxDuration ended the row
}

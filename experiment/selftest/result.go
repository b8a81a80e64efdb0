package selftest

import (
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// Result is what the self-test found, as it is saved.
type Result struct {
	Schema    string     `json:"schema"`
	StartedAt time.Time  `json:"started_at"`
	EndedAt   time.Time  `json:"ended_at"`
	Machine   Machine    `json:"machine"`
	TTFTMs    float64    `json:"server_ttft_ms"`
	ITLMs     float64    `json:"server_itl_ms"`
	LimitUs   float64    `json:"limit_us"` // an error or a lag whose p99 is below it is believed
	Steps     []Measured `json:"steps"`
	Verdict   Verdict    `json:"verdict"`
}

// Machine is what a result is true of; one that differs in anything has to be tested itself.
type Machine struct {
	CPU      string `json:"cpu"` // model
	Cores    int    `json:"cores"`
	OS       string `json:"os"`
	Kernel   string `json:"kernel"`
	MaxProcs int    `json:"gomaxprocs"`
	Bench    string `json:"bench"` // version and commit
}

// Load is what is asked of a client.
type Load struct {
	Streams      int     `json:"streams"` // in flight at once
	EventsPerS   float64 `json:"events_per_s"`
	RequestsPerS float64 `json:"requests_per_s"`
}

// Measured is a step and what came of it. A nil figure was not measured.
type Measured struct {
	Step
	Load     Load   `json:"load"`              // as it was inside the window
	Tries    int    `json:"tries"`             // 2: the first was not believed, and the better one is here
	Problem  string `json:"problem,omitempty"` // why it could not be made
	Believed bool   `json:"believed"`          // the stamps
	Why      string `json:"why,omitempty"`     // not
	OnTime   bool   `json:"on_time"`           // the sending

	Requests     int    `json:"requests"` // of the window, held against the server's times
	Failed       int    `json:"failed"`
	Missing      int    `json:"missing"` // ended well, but the server's times don't have them
	FirstFailure string `json:"first_failure,omitempty"`

	First         *Error   `json:"first_token_error"` // first token's stamp − the server's time just before its write
	Gap           *Error   `json:"gap_error"`         // the client's gap − the server's
	Lag           *Delay   `json:"lag"`               // sent − ready
	Arrival       *Delay   `json:"arrival"`           // the server had read the header − sent
	ServerLate    *Delay   `json:"server_late"`       // written − due: not the client's fault, and in no error
	TruthWidth    *Delay   `json:"truth_width"`       // written − just before: how well the server knows
	KernelStamps  int      `json:"kernel_stamps"`     // events of the window
	UserStamps    int      `json:"user_stamps"`
	ReadLagMeanUs *float64 `json:"read_lag_mean_us"` // return of the read − the kernel's stamp
	ReadLagMaxUs  *float64 `json:"read_lag_max_us"`
	CPUUsPerEvent *float64 `json:"cpu_us_per_event"` // of this process, warm-up and sending included
	CPUCores      *float64 `json:"cpu_cores"`
	ServerCores   *float64 `json:"server_cores"`
	OtherCores    *float64 `json:"other_cores"` // of all other processes of the machine, and what a hypervisor took
}

// Stamps says which clock stamped the events: kernel, user or mixed; empty: there were none.
func (m *Measured) Stamps() string {
	switch kernel, user := m.KernelStamps > 0, m.UserStamps > 0; {
	case kernel && user:
		return "mixed"
	case kernel:
		return "kernel"
	case user:
		return "user"
	}
	return ""
}

// Verdict says up to which load this machine's figures can be believed.
type Verdict struct {
	Load                   // the most of each that a believed step had, below the first that is not
	Unbelieved     string  `json:"unbelieved,omitempty"`      // the first step of streams that is not; empty: all are
	UnbelievedRate string  `json:"unbelieved_rate,omitempty"` // and of rates
	OnTimePerS     float64 `json:"on_time_requests_per_s"`    // sending, arrivals apart: the most of the steps below the first whose lag is too long
	OnTimeTogether int     `json:"on_time_together"`          // sending all at once
	LatePerS       string  `json:"late,omitempty"`            // that first step
	LateTogether   string  `json:"late_together,omitempty"`
}

// limitUs is the p99 that is believed, of an error and of a lag, µs.
const limitUs = 1000

// tolerated is the share of requests that may be missing from a step.
const tolerated = 0.01

// believe judges the step's own figures.
func (m *Measured) believe() {
	lost := m.Failed + m.Missing
	switch of := float64(m.Requests + lost); {
	case m.Requests == 0 && m.Failed > 0:
		m.Problem = fmt.Sprintf("all %d requests failed: %s", m.Failed, m.FirstFailure)
		m.Why = m.Problem
	case m.Requests == 0:
		m.Problem = "no request could be held against the server's times"
		m.Why = m.Problem
	case float64(m.Failed) > tolerated*of:
		m.Why = fmt.Sprintf("%d of %.0f requests failed: %s", m.Failed, of, m.FirstFailure)
	case float64(m.Missing) > tolerated*of:
		m.Why = fmt.Sprintf("the server's times lack %d of %.0f requests", m.Missing, of)
	case m.First.P99Us >= limitUs:
		m.Why = "first token p99 " + micros(m.First.P99Us) + " µs"
	case m.Gap != nil && m.Gap.P99Us >= limitUs:
		m.Why = "gap p99 " + micros(m.Gap.P99Us) + " µs"
	default:
		m.Believed = true
	}
	m.OnTime = m.Lag != nil && m.Lag.P99Us < limitUs
}

// worst is the larger of the two errors' p99.
func (m *Measured) worst() float64 {
	worst := 0.0
	for _, e := range []*Error{m.First, m.Gap} {
		if e != nil {
			worst = max(worst, e.P99Us)
		}
	}
	return worst
}

// firstUnbelieved is the smallest step of that family that is not believed: of the rates, or of the streams.
func firstUnbelieved(steps []Measured, rates bool) *Measured {
	return first(steps, func(m *Measured) bool { return (m.Kind == Rate) == rates && !m.Believed })
}

// first is the smallest step of those that are meant; nil: there is none.
func first(steps []Measured, meant func(*Measured) bool) *Measured {
	var found *Measured
	for i := range steps {
		if m := &steps[i]; meant(m) && (found == nil || m.Size < found.Size) {
			found = m
		}
	}
	return found
}

// judge draws the verdict.
func judge(steps []Measured) Verdict {
	var v Verdict
	for _, rates := range []bool{false, true} {
		stop := firstUnbelieved(steps, rates)
		if stop != nil && rates {
			v.UnbelievedRate = stop.Name()
		} else if stop != nil {
			v.Unbelieved = stop.Name()
		}
		for i := range steps {
			if m := &steps[i]; (m.Kind == Rate) == rates && (stop == nil || m.Size < stop.Size) {
				v.Streams = max(v.Streams, m.Load.Streams)
				v.EventsPerS = max(v.EventsPerS, m.Load.EventsPerS)
				v.RequestsPerS = max(v.RequestsPerS, m.Load.RequestsPerS)
			}
		}
	}
	v.sending(steps)
	return v
}

// sending draws the verdict on the schedule: of arrivals that are apart by requests per second, and of those that come together.
func (v *Verdict) sending(steps []Measured) {
	var late *Measured
	for i := range steps {
		m := &steps[i]
		if m.Kind != Burst && !m.OnTime && m.Problem == "" && (late == nil || m.Load.RequestsPerS < late.Load.RequestsPerS) {
			late = m
		}
	}
	together := first(steps, func(m *Measured) bool { return m.Kind == Burst && !m.OnTime && m.Problem == "" })
	if late != nil {
		v.LatePerS = late.Name()
	}
	if together != nil {
		v.LateTogether = together.Name()
	}
	for i := range steps {
		m := &steps[i]
		switch {
		case !m.OnTime:
		case m.Kind == Burst && (together == nil || m.Size < together.Size):
			v.OnTimeTogether = max(v.OnTimeTogether, int(m.Size))
		case m.Kind != Burst && (late == nil || m.Load.RequestsPerS < late.Load.RequestsPerS):
			v.OnTimePerS = max(v.OnTimePerS, m.Load.RequestsPerS)
		}
	}
}

// Measured says whether anything could be measured.
func (r *Result) Measured() bool {
	for i := range r.Steps {
		if r.Steps[i].Problem == "" {
			return true
		}
	}
	return false
}

// Believes says whether a load is one that this machine's figures can be believed under: a believed step had at least as much of
// everything; or, since events and requests cost the client what they cost whether they come together or not, its shares of the
// most of both do not exceed the whole.
func (r *Result) Believes(l Load) bool {
	v := r.Verdict
	for i := range r.Steps {
		if m := &r.Steps[i]; m.below(v) && l.within(m.Load) {
			return true
		}
	}
	return l.within(v.Load) && l.EventsPerS/v.EventsPerS+l.RequestsPerS/v.RequestsPerS <= 1
}

// below says that the step is one on which the verdict rests.
func (m *Measured) below(v Verdict) bool { return m.Believed && m.Load.within(v.Load) }

func (l Load) within(most Load) bool {
	return l.Streams <= most.Streams && l.EventsPerS <= most.EventsPerS && l.RequestsPerS <= most.RequestsPerS
}

// Nearest is the step whose load is most like l, in what l has more of than is believed; of equals, the one that is most like it
// in everything. Nil: nothing was measured.
func (r *Result) Nearest(l Load) *Measured {
	over := [3]bool{l.Streams > r.Verdict.Streams, l.EventsPerS > r.Verdict.EventsPerS, l.RequestsPerS > r.Verdict.RequestsPerS}
	var nearest *Measured
	leastOver, least := math.Inf(1), math.Inf(1)
	for i := range r.Steps {
		m := &r.Steps[i]
		if m.Problem != "" {
			continue
		}
		inOver, inAll := 0.0, 0.0
		for k, d := range l.distances(m.Load) {
			inAll = max(inAll, d)
			if over[k] {
				inOver = max(inOver, d)
			}
		}
		if inOver < leastOver || inOver == leastOver && inAll < least {
			nearest, leastOver, least = m, inOver, inAll
		}
	}
	return nearest
}

// distances are the logarithms of the ratios; what is below 1 counts as 1.
func (l Load) distances(o Load) [3]float64 {
	ratio := func(a, b float64) float64 { return math.Abs(math.Log(max(a, 1) / max(b, 1))) }
	return [3]float64{ratio(float64(l.Streams), float64(o.Streams)), ratio(l.EventsPerS, o.EventsPerS), ratio(l.RequestsPerS, o.RequestsPerS)}
}

// Read reads a saved result.
func Read(text []byte) (*Result, error) {
	r := new(Result)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("reading the self-test: %w", err)
	}
	if r.Schema != Schema {
		return nil, fmt.Errorf("reading the self-test: its schema is %q, not %q", r.Schema, Schema)
	}
	return r, nil
}

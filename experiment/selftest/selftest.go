// Package selftest is the result of a self-test: the error of the client's timestamps on this machine, by
// load, and the calibration that follows, the load up to which the client is accurate. A check asks whether a
// row's load is within it (Covers). Text prints a result. Package runner measures it.
package selftest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// Schema is the format of a saved result. Read rejects other schemas.
const Schema = "bench/selftest/v1"

// Result is the result of a self-test, as it is saved.
type Result struct {
	Schema    string    `json:"schema"`
	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at"`
	Machine   Machine   `json:"machine"`
	TTFTMs    float64   `json:"server_ttft_ms"`
	ITLMs     float64   `json:"server_itl_ms"`
	// the largest p99 of an accurate step's error, and of an on-time step's lag
	LimitUs     float64     `json:"limit_us"`
	Steps       []Measured  `json:"steps"`
	Calibration Calibration `json:"calibration"`
}

// Machine identifies the machine and the bench version of a result. A result is valid for an equal Machine
// only.
type Machine struct {
	CPU      string `json:"cpu"` // model
	Cores    int    `json:"cores"`
	OS       string `json:"os"`
	Kernel   string `json:"kernel"`
	MaxProcs int    `json:"gomaxprocs"`
	Bench    string `json:"bench"` // version and commit
}

// Load is the load on a client.
type Load struct {
	Streams      int     `json:"streams"` // concurrent streams
	EventsPerS   float64 `json:"events_per_s"`
	RequestsPerS float64 `json:"requests_per_s"`
}

const (
	Burst  = "burst"  // closed loop: all streams start together, and their tokens arrive together
	Spread = "spread" // open loop with constant arrivals: the streams are evenly staggered
	Rate   = "rate"   // open loop with Poisson arrivals and short responses: it tests sending
)

// Step is one load of the ladder.
type Step struct {
	Kind    string  `json:"kind"`     // burst, spread or rate
	Size    float64 `json:"size"`     // streams; for rate steps, requests per second
	Tokens  int     `json:"tokens"`   // per response
	WindowS float64 `json:"window_s"` // approximate length of the measurement
}

func (s Step) Name() string { return s.Kind + " " + strconv.FormatFloat(s.Size, 'f', -1, 64) }

// Error summarizes differences from the server's times. Percentiles are of absolute values; min and max have
// their sign.
type Error struct {
	N     int     `json:"n"`
	P50Us float64 `json:"p50_us"`
	P99Us float64 `json:"p99_us"`
	MinUs float64 `json:"min_us"` // < 0: the client's time is before the server's
	MaxUs float64 `json:"max_us"`
}

// Delay summarizes durations.
type Delay struct {
	N     int     `json:"n"`
	P50Us float64 `json:"p50_us"`
	P99Us float64 `json:"p99_us"`
	MaxUs float64 `json:"max_us"`
}

// Measured is a step with its results. A nil figure was not measured.
type Measured struct {
	Step
	Load     Load   `json:"load"`              // inside the window
	Tries    int    `json:"tries"`             // 2: the first attempt was inaccurate; this is the better one
	Problem  string `json:"problem,omitempty"` // why the step failed
	Accurate bool   `json:"accurate"`          // p99 of both timestamp errors below the limit
	Why      string `json:"why,omitempty"`     // why it is not accurate
	OnTime   bool   `json:"on_time"`           // p99 lag below the limit

	Requests     int    `json:"requests"` // in the window, compared with the server's times
	Failed       int    `json:"failed"`
	Missing      int    `json:"missing"` // completed, but not in the server's records
	FirstFailure string `json:"first_failure,omitempty"`

	// client's time of the first token − server's time before its write
	First         *Error   `json:"first_token_error"`
	Gap           *Error   `json:"gap_error"`     // the client's gap − the server's
	Lag           *Delay   `json:"lag"`           // sent − ready
	Arrival       *Delay   `json:"arrival"`       // server had read the headers − sent
	ServerLate    *Delay   `json:"server_late"`   // written − due: the server's own delay, not in any error
	TruthWidth    *Delay   `json:"truth_width"`   // end − start of the write: the uncertainty of the server's times
	KernelStamps  int      `json:"kernel_stamps"` // events in the window
	UserStamps    int      `json:"user_stamps"`
	ReadLagMeanUs *float64 `json:"read_lag_mean_us"` // return of the read − kernel timestamp
	ReadLagMaxUs  *float64 `json:"read_lag_max_us"`
	CPUUsPerEvent *float64 `json:"cpu_us_per_event"` // of this process, including warm-up and sending
	CPUCores      *float64 `json:"cpu_cores"`
	ServerCores   *float64 `json:"server_cores"`
	OtherCores    *float64 `json:"other_cores"` // all other processes of the machine, and CPU steal
}

// Stamps is the clock of the timestamps: kernel, user or mixed; empty: no events.
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

func (r *Result) Measured() bool {
	for i := range r.Steps {
		if r.Steps[i].Problem == "" {
			return true
		}
	}
	return false
}

func Read(text []byte) (*Result, error) {
	r := new(Result)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("reading the self-test: %w", err)
	}
	if r.Schema != Schema {
		return nil, fmt.Errorf("reading the self-test: schema is %q, want %q", r.Schema, Schema)
	}
	return r, nil
}

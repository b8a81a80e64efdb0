package selftest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// Schema of a saved result; a reader refuses what it does not know.
const Schema = "bench/selftest/v1"

// Result is what the self-test found, as it is saved.
type Result struct {
	Schema      string      `json:"schema"`
	StartedAt   time.Time   `json:"started_at"`
	EndedAt     time.Time   `json:"ended_at"`
	Machine     Machine     `json:"machine"`
	TTFTMs      float64     `json:"server_ttft_ms"`
	ITLMs       float64     `json:"server_itl_ms"`
	LimitUs     float64     `json:"limit_us"` // an error or a lag whose p99 is below it is believed
	Steps       []Measured  `json:"steps"`
	Calibration Calibration `json:"calibration"`
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

// Kinds of steps.
const (
	Burst  = "burst"  // a closed loop: all streams start together, and their tokens come together
	Spread = "spread" // an open loop of even arrivals that keeps so many streams in flight, evenly out of step
	Rate   = "rate"   // an open loop of Poisson arrivals with short answers: sending is what is hard
)

// Step is one load of the ladder.
type Step struct {
	Kind    string  `json:"kind"`     // burst, spread or rate
	Size    float64 `json:"size"`     // streams; of a rate, requests per second
	Tokens  int     `json:"tokens"`   // of each answer
	WindowS float64 `json:"window_s"` // how long is measured, about
}

// Name is the step in two words: "burst 1000".
func (s Step) Name() string { return s.Kind + " " + strconv.FormatFloat(s.Size, 'f', -1, 64) }

// Error describes errors: differences from the truth. Percentiles are of their sizes, without the sign; the extremes have it.
type Error struct {
	N     int     `json:"n"`
	P50Us float64 `json:"p50_us"`
	P99Us float64 `json:"p99_us"`
	MinUs float64 `json:"min_us"` // below 0: the stamp came before the truth
	MaxUs float64 `json:"max_us"`
}

// Delay describes times that something took.
type Delay struct {
	N     int     `json:"n"`
	P50Us float64 `json:"p50_us"`
	P99Us float64 `json:"p99_us"`
	MaxUs float64 `json:"max_us"`
}

// Measured is a step and what came of it. A nil figure was not measured.
type Measured struct {
	Step
	Load     Load   `json:"load"`              // as it was inside the window
	Tries    int    `json:"tries"`             // 2: the first was not believed, and the better one is here
	Problem  string `json:"problem,omitempty"` // why it could not be made
	Accurate bool   `json:"accurate"`          // the stamps
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

// Measured says whether anything could be measured.
func (r *Result) Measured() bool {
	for i := range r.Steps {
		if r.Steps[i].Problem == "" {
			return true
		}
	}
	return false
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

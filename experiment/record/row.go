package record

import (
	"time"

	"bench/experiment"
	"bench/experiment/stats"
	"bench/experiment/telemetry"
	"bench/experiment/workload"
)

// Schemas of the files of a run; a reader refuses what it does not know.
const (
	SchemaRun = "bench/run/v1"
	SchemaRow = "bench/row/v1"

	SchemaRecord = "bench/record/v1"
)

// Row is one point, one repeat, measured: the contents of <row>.json. Summary, findings and verdicts
// are derived from the records and can be made again from them.
type Row struct {
	Schema     string          `json:"schema"`
	ID         string          `json:"id"` // the file's name without .json
	SpecHash   string          `json:"spec_hash"`
	Spec       experiment.Spec `json:"spec"`
	Simulated  bool            `json:"simulated"` // measured against a simulated server: no real one
	StartedAt  time.Time       `json:"started_at"`
	EndedAt    time.Time       `json:"ended_at"`
	Epoch      time.Time       `json:"epoch"` // wall clock at offset 0 of the records
	Salt       string          `json:"salt"`  // of the prompts of this attempt; the plan is a function of seed and salt
	PromptForm string          `json:"prompt_form"`
	Clock      Clock           `json:"clock"`

	Connections Connections `json:"connections,omitzero"`
	Window      Window      `json:"window"`
	ColdStart   *ColdStart  `json:"cold_start,omitempty"`  // of a row of that kind: its figures are those of no load
	ServerLost  bool        `json:"server_lost,omitempty"` // at the end no request reached the server any more: resume redoes the row

	Summary    Summary            `json:"summary"`
	Classes    map[string]Summary `json:"classes,omitempty"` // of a mix, each apart
	Lengths    Lengths            `json:"lengths"`
	Reuse      *Reuse             `json:"reuse,omitempty"`     // absent: no prefix and no conversation in the row, or the server does not tell its cached tokens
	Rotations  *Rotations         `json:"rotations,omitempty"` // of a tiling row, the first apart
	SLO        []Verdict          `json:"slo"`
	Findings   []Finding          `json:"findings"`
	Checks     Checks             `json:"checks"`
	Notes      []Finding          `json:"notes,omitempty"`      // how to read the row: no reason to finding it
	Steady     *Steadiness        `json:"steadiness,omitempty"` // absent: all requests came at once, or none completed
	Arrivals   *workload.Observed `json:"arrivals,omitempty"`   // what was sent as an arrival process (under a cap, what was to be); absent: no rate
	Roofline   *Roofline          `json:"roofline"`             // null: no model or hardware to compute it from; see roofline_missing
	NoRoofline string             `json:"roofline_missing,omitempty"`
	Little     *Little            `json:"little,omitempty"` // absent: no request ended in the window
	Cost       *Cost              `json:"cost,omitempty"`   // absent: not priced, or the SLO is not met; see cost_missing
	NoCost     string             `json:"cost_missing,omitempty"`

	Client   *telemetry.Usage    `json:"client,omitempty"` // what this machine was seen to do in the window; absent: too short for a sample
	Host     telemetry.Host      `json:"host,omitzero"`    // how busy this machine was before and after the load
	Server   ServerState         `json:"server"`           // what the server said of itself during this row
	GPU      *telemetry.GPUUsage `json:"gpu,omitempty"`    // how the GPUs fared in the window; absent: nobody looked
	Sampling map[string]any      `json:"sampling"`         // the constant part of every request body, as sent
	// ClassSampling is what the bodies of a class have beside it, where classes differ.
	ClassSampling map[string]map[string]any `json:"class_sampling,omitempty"`
	Omitted       []string                  `json:"omitted_parameters"` // request fields that the server refused, and that were left out
}

// Connections says what was opened for the row, and what that took; the set-up of one that was opened during the row is
// inside of its request's latencies (connect_us of the record).
type Connections struct {
	Ahead  int            `json:"opened_ahead"`  // before the first request
	During int            `json:"opened_during"` // by requests; those over a proxy or HTTP/2 are not counted
	DNS    *stats.Summary `json:"dns_ms,omitempty"`
	TCP    *stats.Summary `json:"tcp_ms,omitempty"`
	TLS    *stats.Summary `json:"tls_ms,omitempty"`
}

// Clock says which clock stamped the tokens, and what the other one would have added.
type Clock struct {
	Stamps        string  `json:"stamps"` // "kernel", "user", or "mixed"
	KernelStamps  int     `json:"kernel_stamps"`
	UserStamps    int     `json:"user_stamps"`
	ReadLagMeanMs float64 `json:"read_lag_mean_ms"` // return of the read − kernel's receipt, mean over kernel stamps
	ReadLagMaxMs  float64 `json:"read_lag_max_ms"`
}

// Window is the measured part of a row, µs from its start.
type Window struct {
	StartUs int64 `json:"start_us"`
	EndUs   int64 `json:"end_us"`
	Cut     bool  `json:"cut,omitempty"` // max_duration ended the row: what was in flight is unfinished
}

// Seconds is the window's length.
func (w Window) Seconds() float64 { return float64(w.EndUs-w.StartUs) / 1e6 }

// Summary holds the metrics of docs/metrics.md for the requests of the window. A nil metric has no value:
// nothing was measured, or it does not exist for this row. Milliseconds unless the name says otherwise.
type Summary struct {
	TTFT         *stats.Summary `json:"ttft_ms,omitempty"`
	TTFTFromSend *stats.Summary `json:"ttft_from_send_ms,omitempty"`
	TTFE         *stats.Summary `json:"ttfe_ms,omitempty"`
	TPOT         *stats.Summary `json:"tpot_ms,omitempty"`
	ITL          *stats.Summary `json:"itl_ms,omitempty"`
	E2E          *stats.Summary `json:"e2e_ms,omitempty"`
	E2EFromSend  *stats.Summary `json:"e2e_from_send_ms,omitempty"`
	CapWait      *stats.Summary `json:"cap_wait_ms,omitempty"`
	Lag          *stats.Summary `json:"lag_ms,omitempty"`

	ITLRequests    int     `json:"itl_requests,omitempty"` // requests that the pooled gaps come from
	TokensPerEvent float64 `json:"tokens_per_event,omitempty"`

	Requests    Requests    `json:"requests"`
	ErrorRate   float64     `json:"error_rate"` // failed / requests of the window
	Tokens      Tokens      `json:"tokens"`
	DurationS   float64     `json:"duration_s"` // of the window
	Throughput  Throughput  `json:"throughput"`
	Goodput     *Goodput    `json:"goodput,omitempty"` // nil: no per-request limit is stated
	Concurrency Concurrency `json:"concurrency"`
}

// Requests counts the requests of the window by what became of them.
type Requests struct {
	Planned    int            `json:"planned"` // intended arrivals in the window
	Sent       int            `json:"sent"`
	Completed  int            `json:"completed"` // ok + short
	Short      int            `json:"short"`
	Failed     int            `json:"failed"`     // all others, unfinished and cancelled included
	Unfinished int            `json:"unfinished"` // not over at the end of the grace period, or of max_duration
	Warmup     int            `json:"warmup"`     // sent before the window, not counted in any other figure
	Errors     map[string]int `json:"errors"`     // failed by class

	Finish    map[string]int `json:"finish,omitempty"`     // completed by the server's finish reason: length (all tokens that were allowed), stop, tool_calls, …
	TurnsLost int            `json:"turns_lost,omitempty"` // turns that were never asked, since an earlier one of their conversation failed; in no other count
}

// Tokens of the completed requests of the window.
type Tokens struct {
	Prompt    int  `json:"prompt"`
	Output    int  `json:"output"`
	Cached    *int `json:"cached"`    // null: the server did not say
	Estimated bool `json:"estimated"` // at least one count is the client's own
}

// Throughput over the window: what came inside it, of any request, over its length.
type Throughput struct {
	RequestsPerS           float64  `json:"requests_per_s"`
	PromptTokensPerS       float64  `json:"prompt_tokens_per_s"`
	OutputTokensPerS       float64  `json:"output_tokens_per_s"`
	OutputTokensPerSPerGPU *float64 `json:"output_tokens_per_s_per_gpu"` // null: the number of GPUs is not stated
}

// Goodput counts only requests of the window that met every per-request limit.
type Goodput struct {
	RequestsPerS     float64  `json:"requests_per_s"`
	OutputTokensPerS float64  `json:"output_tokens_per_s"`
	Share            float64  `json:"share"`  // of the window's requests
	Limits           []string `json:"limits"` // as text, e.g. "ttft ≤ 1000 ms"
}

// Concurrency is the number of requests sent and not over, over the window.
type Concurrency struct {
	Mean float64 `json:"mean"`
	Max  int     `json:"max"`
}

// Lengths compares what was asked with what the server counted, over the completed requests.
type Lengths struct {
	PromptAsked  *stats.Summary `json:"prompt_asked,omitempty"`
	PromptTokens *stats.Summary `json:"prompt_tokens,omitempty"`
	PromptOff    int            `json:"prompt_off"` // requests whose prompt count differs from the asked
	OutputAsked  *stats.Summary `json:"output_asked,omitempty"`
	OutputTokens *stats.Summary `json:"output_tokens,omitempty"`
	OutputOff    int            `json:"output_off"`
}

// Verdict is one line of the SLO, judged.
type Verdict struct {
	Metric   string   `json:"metric"` // as in the matrix: ttft_p95, error_rate, min_output_tokens_per_s
	Class    string   `json:"class,omitempty"`
	Limit    float64  `json:"limit"`
	Unit     string   `json:"unit"`     // ms, share, 1/s, tokens/s, usd
	Value    *float64 `json:"value"`    // null: unbounded (failed requests rank there) or not measured
	Verdict  string   `json:"verdict"`  // PASS, FAIL, UNDECIDED
	Need     int      `json:"need"`     // more requests for a decision, 0 = decided or not a matter of count
	Why      string   `json:"why"`      // one line for people
	Observed int      `json:"observed"` // requests that the verdict rests on
}

// Finding is a reason not to trust a row, with what to do about it.
type Finding struct {
	Code string `json:"code"`
	Text string `json:"text"`
	Hint string `json:"hint"`
}

// Validity lists the checks by what came of them; a check that could not be made is not a passed one.
type Checks struct {
	Passed      []string `json:"passed"`
	Failed      []string `json:"failed"`
	NotPossible []string `json:"not_possible"`
	Unverified  []string `json:"unverified,omitempty"` // the row rests on it, and the server does not tell
}

// Valid says that no check failed, and that none is missing on which the row rests.
func (v Checks) Valid() bool { return len(v.Failed) == 0 && len(v.Unverified) == 0 }

// Total is the number of checks.
func (v Checks) Total() int {
	return len(v.Passed) + len(v.Failed) + len(v.NotPossible) + len(v.Unverified)
}

// Steadiness says how a row moved while it was measured.
type Steadiness struct {
	Metric string `json:"metric"` // ttft, or e2e without streaming: what Cut is of
	// Cut is how many requests at the window's start MSER-5 would leave out; null: too few to tell. By itself it is no finding: it
	// matters as far as these requests differ from the others.
	Cut    *int                   `json:"mser5_cut"`
	Trends map[string]stats.Trend `json:"trends,omitempty"` // of ttft, tpot, e2e and in_flight through the window
}

// ServerState is what the server told in the course of one row.
type ServerState struct {
	Headers map[string]string `json:"headers,omitempty"` // of one answer, without cookies

	Start    int                    `json:"start,omitempty"`     // which of the run's servers it was (servers in run.json)
	Metrics  *telemetry.ServerUsage `json:"metrics,omitempty"`   // of its metrics page, over the window; absent: nobody looked
	LogLines *int                   `json:"log_lines,omitempty"` // that it wrote in the course of the row, where bench started it
}

// vendor is that of the hardware; empty: not told.
func (r *Row) Vendor() string {
	if r.Roofline == nil {
		return ""
	}
	return r.Roofline.Vendor
}

// seen says that there is hardware whose counters bench can read, or that nobody told.
func (r *Row) Observable() bool { return r.Vendor() == "" || r.Vendor() == NVIDIA }

// AllFailed says that not one request of the window completed; or, where none fell into it, that not
// one token came, which is what a server that hangs looks like to a closed loop.
func (r *Row) AllFailed() bool {
	s := &r.Summary
	return s.Requests.Completed == 0 && (s.Requests.Planned > 0 || s.Throughput.OutputTokensPerS == 0)
}

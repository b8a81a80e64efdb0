package record

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"bench/experiment"
	"bench/experiment/selftest"
	"bench/experiment/stats"
	"bench/experiment/telemetry"
	"bench/experiment/unit"
	"bench/experiment/workload"
)

// Schemas of the files of a run. A reader refuses an unknown schema.
const (
	SchemaRun = "bench/run/v1"
	SchemaRow = "bench/row/v1"

	schemaRecord = "bench/record/v1"
)

// Row is one measured repeat of a point: the contents of <row>.json. Summary, findings and verdicts are
// computed from the records.
type Row struct {
	Schema    string          `json:"schema"`
	ID        string          `json:"id"` // the file's name without .json
	SpecHash  string          `json:"spec_hash"`
	Spec      experiment.Spec `json:"spec"`
	Simulated bool            `json:"simulated"`           // the server was simulated
	Predicted bool            `json:"predicted,omitempty"` // nothing was measured: the engine ran in virtual time
	// live traffic: others sent the requests, and bench measured them
	Observed   bool      `json:"observed,omitempty"`
	StartedAt  time.Time `json:"started_at"`
	EndedAt    time.Time `json:"ended_at"`
	Epoch      time.Time `json:"epoch"` // wall clock at offset 0 of the records
	Salt       string    `json:"salt"`  // of this attempt's prompts, which are a function of seed and salt
	PromptForm string    `json:"prompt_form"`
	Clock      Clock     `json:"clock"`

	Connections Connections `json:"connections,omitzero"`
	Window      Window      `json:"window"`
	Time        *TimeSplit  `json:"time,omitempty"`       // absent = a row of another tool
	ColdStart   *ColdStart  `json:"cold_start,omitempty"` // absent = a load
	// the last requests did not reach the server: resume repeats the row
	ServerLost bool `json:"server_lost,omitempty"`

	// What the checks take from outside the records.

	// of a prediction that has no reasoning, as nothing states how long it is
	ReasoningUnknown bool `json:"reasoning_unknown,omitempty"`
	// around every prompt, the most of any class; absent = a row of another tool
	PromptOverhead *int `json:"prompt_overhead_tokens,omitempty"`
	// of each image in a prompt, by the server's count, the most of any class; 0 = no images, or not counted
	ImageTokens   int `json:"image_tokens,omitempty"`
	FailedPriming int `json:"failed_priming,omitempty"` // priming requests that failed
	// real prompts that the row leaves out; absent = none
	RefusedPrompts *RefusedPrompts `json:"refused_prompts,omitempty"`
	// of the server, before its rows; absent = not asked
	Accuracy *Accuracy `json:"accuracy,omitempty"`
	// of this machine, its steps near the row's load; absent = none
	Selftest *selftest.Result `json:"selftest,omitempty"`

	Summary Summary            `json:"summary"`
	Classes map[string]Summary `json:"classes,omitempty"` // of a mix, by class
	// absent = one class, a closed window, or too few requests of a class
	Service    *Service           `json:"service,omitempty"`
	Models     map[string]Summary `json:"models,omitempty"`     // by model, if requests name several
	Replicas   map[string]Summary `json:"replicas,omitempty"`   // by URL of the replica; absent = no replicas
	Categories map[string]Summary `json:"categories,omitempty"` // of real prompts, by category
	Prompts    *Prompts           `json:"prompts,omitempty"`    // absent = no real prompts
	Lengths    Lengths            `json:"lengths"`
	TTFTSplit  *TTFTSplit         `json:"ttft_split,omitempty"` // absent = the server does not report its own times
	// absent = no common prefixes in the row, or cached tokens not reported
	Reuse     *Reuse      `json:"reuse,omitempty"`
	Sessions  *Sessions   `json:"sessions,omitempty"`  // absent = no conversations and no agents
	Rotations *Rotations  `json:"rotations,omitempty"` // absent = no tiling row
	SLO       []Verdict   `json:"slo"`
	Findings  []Finding   `json:"findings"` // the most severe first
	Checks    Checks      `json:"checks"`
	Steady    *Steadiness `json:"steadiness,omitempty"` // absent = a load that changes, or no completed request
	// the arrivals as a process (under a cap the intended ones); absent = no rate
	Arrivals *workload.Observed `json:"arrivals,omitempty"`
	// Speculation is by the server's counters, else by the answers; absent = the server reports none.
	Speculation *Speculation `json:"speculation,omitempty"`
	Roofline    *Roofline    `json:"roofline"` // null = see roofline_missing
	NoRoofline  string       `json:"roofline_missing,omitempty"`
	Little      *Little      `json:"little,omitempty"`        // absent = no request ended in the window
	Failure     *Failure     `json:"first_failure,omitempty"` // absent = the server failed no request
	Left        *Leavers     `json:"left,omitempty"`          // absent = no user left
	Stalls      []Stall      `json:"stalls,omitempty"`        // the longest first
	// of the window, in flight in a stall or in the backlog after it
	Stalled int     `json:"stalled_requests,omitempty"`
	Cost    *Cost   `json:"cost,omitempty"` // absent = see cost_missing
	NoCost  string  `json:"cost_missing,omitempty"`
	Energy  *Energy `json:"energy,omitempty"` // absent = the power of its GPUs was not collected

	// this machine in the window; absent = no sample, or workers
	Client *telemetry.Usage `json:"client,omitempty"`
	// that sent the requests in place of this machine, by number; absent = none
	Workers  []Worker            `json:"workers,omitempty"`
	Host     telemetry.Host      `json:"host,omitzero"` // load average of this machine before and after
	Server   ServerState         `json:"server"`        // the server during the row
	GPU      *telemetry.GPUUsage `json:"gpu,omitempty"` // the GPUs in the window; absent = not collected
	Sampling map[string]any      `json:"sampling"`      // the constant part of every request body
	// ClassSampling are further fields of the bodies of a class.
	ClassSampling map[string]map[string]any `json:"class_sampling,omitempty"`
	// request fields that the server refuses, left out
	Omitted []string `json:"omitted_parameters"`

	Evidence *Evidence `json:"evidence,omitempty"` // absent = a row of another tool, or of an earlier bench
}

// Connections counts the connections that the row opened, and their set-up times. The set-up of a connection
// that a request opens is part of its latencies (connect_us of the record).
type Connections struct {
	Ahead  int            `json:"opened_ahead"`  // before the first request
	During int            `json:"opened_during"` // by requests; not counted over a proxy or HTTP/2
	DNS    *stats.Summary `json:"dns_ms,omitempty"`
	TCP    *stats.Summary `json:"tcp_ms,omitempty"`
	TLS    *stats.Summary `json:"tls_ms,omitempty"`

	// Sockets are the TCP counters of the window; absent = a proxy, HTTP/2, or a system without them.
	Sockets *telemetry.SocketUsage `json:"sockets,omitempty"`
}

type Clock struct {
	Stamps       string `json:"stamps"` // "kernel", "user", or "mixed"; "virtual" in a prediction
	KernelStamps int    `json:"kernel_stamps"`
	UserStamps   int    `json:"user_stamps"`
	// return of the read − receipt by the kernel, mean over kernel timestamps
	ReadLagMeanMs float64 `json:"read_lag_mean_ms"`
	ReadLagMaxMs  float64 `json:"read_lag_max_ms"`
}

// Window is the measured part of a row, µs from its start.
type Window struct {
	StartUs int64 `json:"start_us"`
	EndUs   int64 `json:"end_us"`
	Cut     bool  `json:"cut,omitempty"` // max_duration ended the row: requests in flight are unfinished
	// DecidedUs is when the SLO was decided, which ended the row: the window has the requests that decided it, up to
	// the next arrival. All later ones are of the cool-down; Cancelled of them were in flight, and bench gave them up.
	DecidedUs int64 `json:"decided_us,omitempty"` // 0 = the row ran to its end
	Cancelled int   `json:"cancelled,omitempty"`
}

func (w Window) Seconds() float64 { return float64(w.EndUs-w.StartUs) / 1e6 }

type ServerState struct {
	Headers map[string]string `json:"headers,omitempty"` // of one answer, without cookies

	Start int `json:"start,omitempty"` // number of the server in servers of run.json
	// number of the attempt in attempts of run.json, from 1
	Attempt int `json:"attempt,omitempty"`
	// of its metrics page, in the window; absent = not collected
	Metrics *telemetry.ServerUsage `json:"metrics,omitempty"`
	// that it wrote during the row; absent = bench did not start it
	LogLines *int `json:"log_lines,omitempty"`

	Block  *CacheBlock `json:"prefix_cache_block,omitempty"` // absent = not known
	Settle *Settle     `json:"settle,omitempty"`             // absent = the server does not report its requests
	// Abandoned are requests of earlier rows that this client gave up before their end, which the server may still
	// compute: since it was last seen idle, or those of the row before if it does not report its requests.
	Abandoned int `json:"abandoned,omitempty"`

	Replicas []Replica `json:"replicas,omitempty"` // under the row's load; absent = one server
	// of requests to replicas: round_robin or sticky; absent = one server
	Routing string `json:"routing,omitempty"`

	Gateway *Gateway `json:"gateway,omitempty"` // that answered in the server's place; absent = none is known
}

// Gateway is a proxy between bench and the server, as it reports itself in the headers of its answers.
type Gateway struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// its own time before the answer's header, of the requests of the window; absent = not reported
	Overhead *stats.Summary `json:"overhead_ms,omitempty"`
}

// CacheBlock is the granularity of the server's prefix cache.
type CacheBlock struct {
	Tokens int    `json:"tokens"`
	Source string `json:"source"` // "reported" by the server, or "probed"
}

const (
	BlockReported = "reported" // on its metrics page
	BlockProbed   = "probed"   // by the cached tokens of repeated prompts
)

// BlockTokens is vLLM's default on GPUs if the server's is not known.
func (s *ServerState) BlockTokens() int {
	if s.Block == nil {
		return workload.BlockTokens
	}
	return s.Block.Tokens
}

// Settle is the wait before a row until the server is idle.
type Settle struct {
	WaitedS float64 `json:"waited_s"`
	Running float64 `json:"running"` // requests that were left when the row began; 0 = the server was idle
	Waiting float64 `json:"waiting"`
	Stale   bool    `json:"stale,omitempty"` // these did not change, nor any other figure: the server computed nothing
}

// Idle reports whether the row began with an idle server; also where that is not known.
func (s *Settle) Idle() bool { return s == nil || s.Stale || s.Running+s.Waiting == 0 }

func (r *Row) Vendor() string { return cmp.Or(r.Roofline, &Roofline{}).Vendor }

func (r *Row) HasGPUMetrics() bool { return hasGPUMetrics(r.Vendor()) }

// Valid reports whether no finding is invalid. An invalid row is left out of every answer.
func (r *Row) Valid() bool {
	return !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Severity == Invalid })
}

func (r *Row) Codes(s Severity) []string { return Codes(r.Findings, s) }

// AllFailed reports whether no request completed; a window without requests counts only without a token, as with a
// server that hangs. A row whose users all left, or whose trace ended within the warm-up, has not failed.
func (r *Row) AllFailed() bool {
	s := &r.Summary
	if s.Requests.Left > 0 && s.Requests.Failed == 0 || r.EndedInWarmup() {
		return false
	}
	return s.Requests.Completed == 0 && (s.Requests.Planned > 0 || s.Throughput.OutputTokensPerS == 0)
}

// EndedInWarmup reports whether all requests of the row's trace were sent in the warm-up, and did not all fail.
func (r *Row) EndedInWarmup() bool {
	q := &r.Summary.Requests
	most, _, ends := r.Spec.AtMost()
	return ends && q.Planned == 0 && q.Warmup >= most && q.WarmupFailed < q.Warmup
}

// ColdStart describes a cold-start row: single requests to an idle server, each over its own connection.
type ColdStart struct {
	IdleS workload.Span `json:"idle_s"` // before each request
	// Server is null: servers in run.json have their starts.
	Server *Startup `json:"server_start"`
}

type Startup struct {
	ReadyMs      float64  `json:"ready_ms"`       // its ready path answered
	FirstTokenMs *float64 `json:"first_token_ms"` // of its first request; null = none arrived
}

// Cost is the cost of a row's output tokens at the throughput of its window. The whole price of the GPUs
// falls on the output tokens.
type Cost struct {
	HourUSD       float64 `json:"hour_usd"` // of all GPUs
	USDPerMillion float64 `json:"usd_per_million_output_tokens"`
	TokensPerUSD  float64 `json:"output_tokens_per_usd"` // 0: the hour is free
}

func (r *Row) Clients() (out []*telemetry.Usage) {
	if r.Client != nil {
		out = append(out, r.Client)
	}
	for _, w := range r.Workers {
		if w.Client != nil {
			out = append(out, w.Client)
		}
	}
	return out
}

func LoadWorkers(rows []Row) string {
	var values []string
	for i := range rows {
		if v := rows[i].LoadWorkers(); !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return strings.Join(values, ", ")
}

func ByWorkers(rows []Row) bool {
	return len(rows) > 0 && !slices.ContainsFunc(rows, func(r Row) bool { return len(r.Workers) == 0 })
}

func (r *Row) LoadWorkers() string {
	if len(r.Workers) == 0 {
		return "none"
	}
	hosts := map[string]bool{}
	for _, w := range r.Workers {
		hosts[w.Host] = true
	}
	return unit.Count(len(r.Workers)) + " on " + unit.Plural(len(hosts), "host")
}

// Worker is one of several load workers of a row: a process of bench work, which sent a part of its requests. Their
// times count from the start that all workers have in common.
type Worker struct {
	Worker      int    `json:"worker"` // its number, from 0
	Host        string `json:"host"`   // name of its machine
	Concurrency int    `json:"concurrency,omitempty"`
	Sent        int    `json:"sent"` // requests
	MaxInFlight int    `json:"max_in_flight"`

	// StartSkewUs bounds how far its zero lies from the leader's: half of RTTUs, the least round trip between the two.
	StartSkewUs int64 `json:"start_skew_us"`
	RTTUs       int64 `json:"rtt_us"`
	StartLateUs int64 `json:"start_late_us"` // from the common start until it was ready to send; 0 = in time

	// Of its completed requests of the window; absent = none.
	LagP99  *float64 `json:"lag_p99_ms,omitempty"`            // client lag
	TTFTP50 *float64 `json:"ttft_from_send_p50_ms,omitempty"` // absent without streaming, too

	Clock       Clock            `json:"clock"`
	Connections Connections      `json:"connections,omitzero"`
	Client      *telemetry.Usage `json:"client,omitempty"`   // its machine in the window; absent = no sample
	Load        telemetry.Host   `json:"load,omitzero"`      // of its machine, before and after
	Selftest    *selftest.Result `json:"selftest,omitempty"` // of its machine; absent = none
}

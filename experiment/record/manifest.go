package record

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"bench/experiment"
	"bench/experiment/stats"
)

// Manifest is run.json: what reproduces the run, and its state.
type Manifest struct {
	Schema     string    `json:"schema"`
	Run        string    `json:"run"` // the directory's name
	Matrix     string    `json:"matrix"`
	MatrixFile string    `json:"matrix_file"`
	MatrixText string    `json:"matrix_text"`
	MatrixHash string    `json:"matrix_sha256"`
	Hypothesis string    `json:"hypothesis,omitempty"`
	Notes      []string  `json:"notes"`
	Command    []string  `json:"command"` // secrets replaced by <redacted>
	StartedAt  time.Time `json:"started_at"`
	EndedAt    time.Time `json:"ended_at,omitzero"`
	State      string    `json:"state"` // running, done, interrupted, failed
	Salt       string    `json:"salt"`
	Seed       uint64    `json:"seed"`
	// listed (as written), blocked (shuffled within each round of repeats) or interleaved (ABBA)
	Order string    `json:"order,omitempty"`
	Plan  []Planned `json:"plan"` // every point and repeat, in order of execution

	Client      ClientInfo        `json:"client"`
	Target      TargetInfo        `json:"target"`     // of the rows that were kept, else of this attempt
	Facts       map[string]string `json:"facts"`      // [target.facts] as declared
	Unspecified []string          `json:"not_stated"` // keys of [target] that a reader needs, not specified
	Attempts    []Attempt         `json:"attempts"`   // one for the start, one for each resume
	GPUHourUSD  *float64          `json:"gpu_hour_usd"`

	Servers  []ServerStart `json:"servers,omitempty"`  // started by bench, or several endpoints, in order
	Searches []Found       `json:"searches,omitempty"` // results of searches so far
	Twins    []Twin        `json:"twins,omitempty"`    // of the workloads with several loads
	Budget   *Budget       `json:"budget,omitempty"`   // absent = the run has none
	Tune     *Tune         `json:"tune,omitempty"`     // the race of settings; absent = there is none

	Predicted *Prediction `json:"predicted,omitempty"` // nothing was measured; absent = a measured run

	SHA256 string `json:"sha256,omitempty"` // of this file with this text empty; absent = of an earlier bench
}

// Prediction is what a predicted run stands for: the rows ran through a simulated engine in virtual time, with the
// step times of the roofline.
type Prediction struct {
	Model     string `json:"model"`
	Hardware  string `json:"hardware"`
	GPUs      int    `json:"gpus"`      // 0 = variants differ
	Precision string `json:"precision"` // of the weights
	// whose constants the step times have; absent = of no engine in particular
	Engine    string    `json:"engine,omitempty"`
	Simulator string    `json:"simulator"`               // limits of the first server, in a line
	Ignored   []string  `json:"ignored_flags,omitempty"` // of the server's commands, that change step times or limits
	LeftOut   []LeftOut `json:"left_out,omitempty"`
}

type LeftOut struct {
	Row string `json:"row"`
	Why string `json:"why"`
}

func (p *Prediction) Text() string {
	if p.Hardware == "" {
		return p.Model + ", a simulated engine with the step times of [mock]"
	}
	on := fmt.Sprintf("%d × %s", p.GPUs, p.Hardware)
	if p.GPUs == 0 {
		on = p.Hardware + ", GPUs by variant"
	}
	return fmt.Sprintf("%s in %s on %s, a simulated engine with the roofline's step times", p.Model, p.Precision, on)
}

func (p *Prediction) Lacks() []string {
	var lines []string
	if len(p.Ignored) > 0 {
		lines = append(lines, "the prediction ignores "+strings.Join(p.Ignored, ", ")+
			": the simulated engine has no such setting")
	}
	for _, out := range p.LeftOut {
		lines = append(lines, "row "+out.Row+" is not predicted: "+out.Why)
	}
	return lines
}

type ServerStart struct {
	N         int       `json:"n"`                 // from 1, over all attempts
	Variant   string    `json:"variant"`           // the knobs, or the endpoint
	Command   []string  `json:"command,omitempty"` // with the knobs' values; absent = an endpoint
	Log       string    `json:"log,omitempty"`     // file name
	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
	// from the command to the first answer of its ready path; absent = none, or an endpoint
	ReadyS       float64  `json:"ready_s,omitempty"`
	FirstAnswerS *float64 `json:"first_answer_s,omitempty"` // from ready to the end of the first answer with tokens
	Identity     string   `json:"identity,omitempty"`       // as in target
	// Target is the server as it reported itself; absent = as at the start before with the same variant.
	Target *TargetInfo `json:"target,omitempty"`
	Error  string      `json:"error,omitempty"` // why it was not usable, or how it ended
}

func (m *Manifest) TargetOf(variant string) TargetInfo {
	t := m.Target
	for i := range m.Servers {
		if s := &m.Servers[i]; s.Variant == variant && s.Target != nil {
			t = *s.Target
		}
	}
	return t
}

type Planned struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	SpecHash string `json:"spec_hash"`
	State    string `json:"state"` // planned, done, failed, skipped, removed (no longer in the matrix)
	Error    string `json:"error,omitempty"`
	// Skip is "beyond" for a skipped row: a lower load certainly misses the SLO.
	Skip   string            `json:"skip,omitempty"`
	Reason string            `json:"reason,omitempty"` // of skip: "beyond the FAIL at rate 16/s"
	Point  []experiment.Axis `json:"point,omitempty"`  // the point of a skipped row
	SHA256 string            `json:"sha256,omitempty"` // of <id>.json; absent = no result yet, or of an earlier bench
}

func (p *Planned) Label() string {
	id := p.ID
	if i := strings.LastIndex(id, "-r"); i >= 0 {
		id = id[:i]
	}
	parts := strings.Split(id, ",")
	for i, part := range parts {
		if text, err := url.PathUnescape(part); err == nil {
			parts[i] = text
		}
	}
	return strings.Join(parts, " ")
}

const (
	StateSkipped = "skipped"
	StateRemoved = "removed"
	SkipBeyond   = "beyond"
)

type Attempt struct {
	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
	Command   []string  `json:"command"`
	Bench     string    `json:"bench"`
	// Target is the server as it reported itself in this attempt; absent = in servers.
	Target *TargetInfo `json:"target,omitempty"`
	Ended  string      `json:"ended"` // done, interrupted, failed; empty = killed
	// Time is the attempt's wall time from its first connection to the server; of a killed attempt, until its last
	// finished row. Absent = a run of another tool.
	Time *TimeSplit `json:"time,omitempty"`
	// LastRowS is the part of it until its last row was evaluated; absent = it finished no row.
	LastRowS float64 `json:"last_row_s,omitzero"`
}

type ClientInfo struct {
	Tool      string  `json:"tool,omitempty"` // another tool that measured, of which Version is; absent = bench
	Version   string  `json:"bench_version"`
	Commit    string  `json:"bench_commit"`
	Go        string  `json:"go_version"`
	OS        string  `json:"os"`
	Kernel    string  `json:"kernel"`
	Host      string  `json:"host"`
	CPU       string  `json:"cpu"`
	Cores     int     `json:"cores"`
	MaxProcs  int     `json:"gomaxprocs"`
	MemoryGiB float64 `json:"memory_gib"`
}

// ServerVersion is what /version answered: a text, its only field, or JSON; empty = nothing.
func (t *TargetInfo) ServerVersion() string {
	switch answer := t.Version.(type) {
	case string:
		return answer
	case map[string]any:
		if text, ok := answer["version"].(string); ok && len(answer) == 1 {
			return text
		}
	}
	b, err := json.Marshal(t.Version)
	if err != nil || t.Version == nil || string(b) == "{}" {
		return ""
	}
	return string(b)
}

// Owner is the owned_by of the first model that the server lists: vllm, sglang, llamacpp; empty: not reported.
func (t *TargetInfo) Owner() string {
	models, _ := t.Models.([]any)
	if len(models) == 0 {
		return ""
	}
	first, _ := models[0].(map[string]any)
	owner, _ := first["owned_by"].(string)
	return owner
}

// Engines are the engines of rows, and the gateways before them: "vllm behind LiteLLM 1.106.2"; empty = not reported.
func Engines(rows []Row) string {
	engines, gateways := enginesOf(rows, func(g *Gateway) string { return g.Name + " " + g.Version })
	return strings.TrimSpace(strings.Join(engines, ", ") + " " + strings.Join(gateways, ", "))
}

// EngineKinds are the same without versions, in their order.
func EngineKinds(rows []Row) string {
	engines, gateways := enginesOf(rows, func(g *Gateway) string { return g.Name })
	return strings.Join(slices.Sorted(slices.Values(append(engines, gateways...))), ", ")
}

func enginesOf(rows []Row, name func(*Gateway) string) (engines, gateways []string) {
	add := func(to *[]string, name string) {
		if !slices.Contains(*to, name) {
			*to = append(*to, name)
		}
	}
	for i := range rows {
		if m := rows[i].Server.Metrics; m != nil && m.Engine != "" {
			add(&engines, m.Engine)
		}
		if g := rows[i].Server.Gateway; g != nil {
			add(&gateways, "behind "+strings.TrimSpace(name(g)))
		}
	}
	return engines, gateways
}

// TargetInfo is the server under test: as declared, and as it reports itself.
type TargetInfo struct {
	Endpoint  string         `json:"endpoint"` // user info removed
	Simulated bool           `json:"simulated"`
	Simulator string         `json:"simulator,omitempty"` // its simulated model and hardware
	API       string         `json:"api"`
	Model     string         `json:"model"`
	Hardware  string         `json:"hardware,omitempty"`
	GPUs      int            `json:"gpus,omitempty"`
	Precision string         `json:"precision,omitempty"`
	ExtraBody map[string]any `json:"extra_body,omitempty"`
	Models    any            `json:"models_answer,omitempty"`  // /v1/models
	Version   any            `json:"version_answer,omitempty"` // /version
	// of its model and slots: /props of llama.cpp, /get_model_info of SGLang
	Props     map[string]any `json:"props_answer,omitempty"`
	BuildInfo []string       `json:"build_info,omitempty"` // info lines of /metrics
	// of one that bench started: command line, variables and limits of its process and machine; no secrets
	Surroundings map[string]string `json:"surroundings,omitempty"`
	Flags        map[string]string `json:"flags,omitempty"` // that SGLang reports, or vLLM's log
	Headers      map[string]string `json:"headers,omitempty"`
	PromptForm   string            `json:"prompt_form"`
	// whose prompts have that form; absent = api: a prediction
	PromptAPI   string    `json:"prompt_api,omitempty"`
	Tokenizer   string    `json:"prompt_calibration,omitempty"` // how the length of text prompts was set
	Connections string    `json:"connections"`                  // kept open, or one per request
	Proxy       string    `json:"proxy,omitempty"`              // user info removed
	HTTP2       bool      `json:"http2,omitempty"`
	Vantage     Vantage   `json:"vantage,omitzero"`
	Replicas    []Replica `json:"replicas,omitempty"` // absent = one server
	// replicas beyond the first, and endpoints of classes; absent = none
	Others []OtherServer `json:"others,omitempty"`
	// hash of what it and the others report about their models, their caches and themselves
	Identity string `json:"identity"`
}

type OtherServer struct {
	Name  string            `json:"name"`  // "replica 1", or "endpoint b:8000"
	Facts map[string]string `json:"facts"` // as they are compared when a run is resumed
}

// AddOthers adds the servers that it lacks, by name.
func (t *TargetInfo) AddOthers(others []OtherServer) {
	t.Others = slices.Clone(t.Others)
	for _, o := range others {
		if !slices.ContainsFunc(t.Others, func(own OtherServer) bool { return own.Name == o.Name }) {
			t.Others = append(t.Others, o)
		}
	}
}

type Replica struct {
	Endpoint string   `json:"endpoint"`          // host and port
	Differs  []string `json:"differs,omitempty"` // facts that differ from the first one's: "version: 0.10.1 → 0.10.2"
}

type Vantage struct {
	Place string `json:"place"` // same host, lan, remote, behind a proxy
	// of TCP handshakes before the first row, by the kernel if it reports it; absent behind a proxy
	RTT *stats.Summary `json:"rtt_ms,omitempty"`
}

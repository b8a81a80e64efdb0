// Package published contains figures that others published for LLM servers: TTFT and TPOT by model, precision,
// GPU, lengths, engine and concurrency, and maximum throughputs, each with its source.
//
// The order of its steps: figures.txt and held_back.txt are parsed strictly once (parse.go), Near picks the
// figures that a measured or predicted point can be compared with (near.go), and Recipe contains what is
// known of their measurement (recipe.go). Nothing is interpolated or adjusted: a figure is shown with its own
// concurrency, engine, version and date. The package reads no other file and no network.
package published

import (
	"cmp"
	_ "embed"
	"strings"
	"sync"
)

var (
	//go:embed figures.txt
	figures string
	//go:embed held_back.txt
	heldBack string
)

// Figure is one published measurement: either TTFTMs and TPOTMs at a Concurrency, or OutputPerGPU at the
// highest load. An absent field is one that the source does not state.
type Figure struct {
	Source    string `json:"source"`                   // the Key of a Source
	Model     string `json:"model"`                    // an ID of the model table
	Measured  string `json:"measured_model,omitempty"` // another model of the same shape; absent = Model
	Precision string `json:"precision"`                // of the weights; of the experts where they differ
	GPU       string `json:"gpu"`                      // an ID of the hardware table
	GPUs      int    `json:"gpus"`
	// ExpertParallel is the number of GPUs that experts are spread over; 1 = every GPU holds a part of each.
	ExpertParallel int `json:"expert_parallel"`

	Input  int `json:"input_tokens,omitempty"` // 0 = as in MLPerf's data set
	Output int `json:"output_tokens,omitempty"`
	// LeastLength: the lengths are spread evenly from this share of Input and Output to these; 0 = all have these.
	LeastLength float64 `json:"least_length_share,omitempty"`

	Scenario  string `json:"mlperf_scenario,omitempty"` // offline, server, interactive; absent = not MLPerf
	Submitter string `json:"mlperf_submitter,omitempty"`

	Concurrency  int     `json:"concurrency,omitempty"` // 0 = the highest throughput
	TTFTMs       float64 `json:"ttft_ms,omitempty"`
	TPOTMs       float64 `json:"tpot_ms,omitempty"`
	OutputPerGPU float64 `json:"output_tokens_per_s_per_gpu,omitempty"`

	Engine  string `json:"engine"` // vllm, sglang, trtllm, …
	Version string `json:"engine_version,omitempty"`
	Date    string `json:"date,omitempty"` // of the measurement, 2026-03-25 or 2025-09

	HeldBack bool `json:"-"` // of held_back.txt: no constant of the roofline is fitted to it
}

// Source is where figures come from.
type Source struct {
	Key, Name, License, About string
	LeastLength               float64 // of its figures
}

var builtin = sync.OnceValue(func() table {
	t, err := parse(strings.NewReader(figures), nil)
	held, errHeld := parse(strings.NewReader(heldBack), t.sources)
	if err := cmp.Or(err, errHeld); err != nil {
		panic(err) // a test parses the files
	}
	for i := range held.figures {
		held.figures[i].HeldBack = true
	}
	return table{held.sources, append(t.figures, held.figures...)}
})

// All are the built-in figures, those of figures.txt first. The caller must not change them.
func All() []Figure { return builtin().figures }

// SourceOf is the source with this key; the zero value if there is none.
func SourceOf(key string) Source { return builtin().sources[key] }

// Package published contains figures that others published for LLM servers: TTFT and TPOT by model, precision, GPU,
// lengths, engine and concurrency, and maximum throughputs, each with its source.
//
// Near picks the figures that a measured or predicted point can be compared with, and Recipe contains what is known
// of their measurement. Nothing is interpolated or adjusted.
package published

import (
	_ "embed"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"bench/internal/packed"
)

// One line is a figure. Model is an ID of model_configs.json, measured another model of the same shape that the figure
// is of, gpu an ID of experiment/roofline/gpus.json, expert_parallel the number of GPUs that experts are spread over. A
// figure has times at a concurrency (whether they are means or medians is not stated), or the highest throughput at any
// concurrency. It has input and output tokens, or scenario and submitter of MLPerf, whose data sets have the lengths.
// Constants of the roofline are fitted to the times of figures.csv and to none of held_back.csv: to add figures, append
// lines there. Its int4_g32 weights are as Moonshot published them: 4-bit experts, the rest in 16 bits. The program has
// the files compressed: after a change, gzip -9nkf figures.csv held_back.csv.
var (
	//go:embed figures.csv.gz
	figures []byte
	//go:embed held_back.csv.gz
	heldBack []byte
)

// Figure is one published measurement: TTFTMs and TPOTMs at a Concurrency, or OutputPerGPU at the highest load.
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

	HeldBack bool `json:"-"` // of held_back.csv: no constant of the roofline is fitted to it
}

type Source struct {
	Name, License, About string
	// share of the stated lengths from which those of its requests are spread; 0 = all are as stated
	LeastLength float64
}

var sources = map[string]Source{
	"inferencex": {"InferenceX", "Apache-2.0",
		"database of the InferenceX benchmark, as silicon_sample.csv of NVIDIA's aiconfigurator " +
			"(github.com/ai-dynamo/aiconfigurator) contains it; one server, without disaggregation; lengths by --random-range-ratio 0.8 " +
			"of its recipes (github.com/SemiAnalysisAI/InferenceX); rows that repeat one measurement are left out",
		0.8},
	"aiconfigurator": {"NVIDIA aiconfigurator", "Apache-2.0", "the measurements in its silicon_sample.csv " +
		"(github.com/ai-dynamo/aiconfigurator) that are not InferenceX's; the client is not specified, nor whether lengths vary; rows " +
		"without precision or concurrency, or whose layout contradicts the number of GPUs, are left out, and vLLM's of Llama-3.1-8B, " +
		"whose prompts would need up to 89 % of the peak compute", 0},
	"tensorrt-llm": {"TensorRT-LLM performance overview", "Apache-2.0",
		"NVIDIA's docs/source/developer-guide/perf-overview.md " +
			"(github.com/NVIDIA/TensorRT-LLM) at commit 03e27c7d: maximum throughput of trtllm-bench, all requests queued at once", 0},
	"mlperf-5.1": {"MLPerf Inference v5.1", "Apache-2.0",
		"closed division, one result for each model, machine and scenario " +
			"(github.com/mlcommons/inference_results_v5.1); MLPerf is a trademark of MLCommons", 0},
}

var builtin = sync.OnceValue(func() []Figure {
	all, err := parse(packed.Text(figures))
	held, errHeld := parse(packed.Text(heldBack))
	if err := errors.Join(err, errHeld); err != nil {
		panic(err) // a test parses the files
	}
	for i := range held {
		held[i].HeldBack = true
	}
	return append(all, held...)
})

// All are the built-in figures, those of figures.csv first. The caller must not change them.
func All() []Figure { return builtin() }

func SourceOf(key string) Source { return sources[key] }

type Own struct {
	TTFTMs, TPOTMs float64
	OutputPerGPU   float64 // output tokens per second and GPU
}

// Compared is a figure with one's own values over the published ones; nil = one of them is unknown.
type Compared struct {
	Figure
	TTFTRatio   *float64 `json:"ttft_over_published,omitempty"`
	TPOTRatio   *float64 `json:"tpot_over_published,omitempty"`
	OutputRatio *float64 `json:"output_over_published,omitempty"`
}

func (f Figure) MeanInput() float64 { return f.meanShare() * float64(f.Input) }

func (f Figure) MeanOutput() float64 { return f.meanShare() * float64(f.Output) }

func (f Figure) meanShare() float64 {
	if f.LeastLength == 0 {
		return 1
	}
	return (1 + f.LeastLength) / 2
}

func (f Figure) Beside(own Own) Compared {
	return Compared{f, over(own.TTFTMs, f.TTFTMs), over(own.TPOTMs, f.TPOTMs), over(own.OutputPerGPU, f.OutputPerGPU)}
}

func over(own, published float64) *float64 {
	if own <= 0 || published <= 0 {
		return nil
	}
	return new(own / published)
}

// parse reads lines of figures.csv, in the order of its columns. An empty value is one that the source does not state;
// throughput is stated for each GPU or for all of them.
func parse(text string) ([]Figure, error) {
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("published figures: %w", err)
	}
	var figures []Figure
	for i, line := range lines[1:] {
		f, total := Figure{ExpertParallel: 1}, 0.0
		columns := []any{&f.Source, &f.Model, &f.Measured, &f.Precision, &f.GPU, &f.GPUs, &f.ExpertParallel, &f.Input,
			&f.Output, &f.Scenario, &f.Submitter, &f.Engine, &f.Version, &f.Date, &f.Concurrency, &f.TTFTMs, &f.TPOTMs,
			&f.OutputPerGPU, &total}
		for k, value := range line {
			if name, ok := columns[k].(*string); ok {
				*name = value
			} else if value != "" {
				if err := json.Unmarshal([]byte(value), columns[k]); err != nil {
					return nil, fmt.Errorf("published figures: line %d: %s: %w", i+2, lines[0][k], err)
				}
			}
		}
		if f.LeastLength = SourceOf(f.Source).LeastLength; total > 0 {
			f.OutputPerGPU = total / float64(f.GPUs)
		}
		figures = append(figures, f)
	}
	return figures, nil
}

package export

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/text"
	"bench/experiment/unit"
	"bench/report"
)

// VLLM writes what `vllm bench serve --save-result --save-detailed` does, for several rows an array as `vllm bench
// sweep`. Figures follow vLLM's definitions: TTFT is from send to the first event of any kind, and the time from it to
// the first token is a gap. Throughputs are over bench's window. Results hold no texts. Objects of a prediction have
// predicted.
func VLLM(w io.Writer, runs ...*report.Run) error {
	var objects [][]byte
	for _, run := range runs {
		if n := len(run.WithoutRecords); n > 0 { // the file would lack requests without a word
			return fmt.Errorf("the request records of %s are missing from %s, first %s\nhint: --format csv and json "+
				"have the stored figures; or measure the rows again: remove their .json, then bench sweep MATRIX "+
				"--resume %s",
				unit.Plural(n, "row"), run.Dir, run.WithoutRecords[0], text.ShellWord(run.Dir))
		}
		rows := run.Live()
		for i := range rows {
			records, err := run.Requests(&rows[i])
			if err != nil {
				return fmt.Errorf("reading the requests of %s: %w", rows[i].ID, err)
			}
			window := slices.DeleteFunc(slices.Clone(records),
				func(r *record.Record) bool { return r.Phase != record.PhaseWindow })
			object, err := json.Marshal(vllmObject(run, &rows[i], window))
			if err != nil {
				return fmt.Errorf("encoding %s: %w", rows[i].ID, err)
			}
			objects = append(objects, object)
		}
	}
	if len(objects) == 1 {
		return writeJSON(w, objects[0], nil)
	}
	text := slices.Concat([]byte("[\n"), bytes.Join(objects, []byte(",\n")), []byte("\n]"))
	return writeJSON(w, text, nil)
}

// vllmNames are vLLM's names of the APIs that it measures; others keep bench's.
var vllmNames = map[string]string{"completions": "openai", "chat": "openai-chat"}

// vllmTTFT is in the file, as a first event with a role alone comes long before the first token.
const vllmTTFT = "send to the first event of any kind, with a role alone too, as in vllm bench serve; tpot from there"

func vllmObject(run *report.Run, row *record.Row, window []*record.Record) map[string]any {
	sum, spec := &row.Summary, &row.Spec
	api := cmp.Or(spec.API, run.Manifest.Target.API, "completions")
	if name, known := vllmNames[api]; known {
		api = name
	}
	o := map[string]any{
		"date": row.StartedAt.UTC().Format("20060102-150405"), "endpoint_type": api, "backend": api, "label": row.ID,
		"model_id": run.Manifest.Target.Model, "tokenizer_id": nil, "num_prompts": sum.Requests.Planned,
		"request_rate": "inf", "burstiness": cmp.Or(spec.Burstiness, 1), "max_concurrency": nil,
		"duration": sum.DurationS, "completed": sum.Requests.Completed, "failed": sum.Requests.Failed,
		"total_input_tokens": sum.Tokens.Prompt, "total_output_tokens": sum.Tokens.Output,
		"request_throughput": sum.Throughput.RequestsPerS, "request_goodput": nil,
		"output_throughput":       sum.Throughput.OutputTokensPerS,
		"total_token_throughput":  sum.Throughput.OutputTokensPerS + sum.Throughput.PromptTokensPerS,
		"max_concurrent_requests": sum.Concurrency.Max,
		"exported_by":             "bench " + run.Manifest.Client.Version,
		"ttft_definition":         vllmTTFT,
	}
	if p := run.Manifest.Predicted; p != nil {
		o["predicted"] = p
	}
	if sum.Goodput != nil {
		o["request_goodput"] = sum.Goodput.RequestsPerS
	}
	if spec.Timed() {
		o["request_rate"] = float64(spec.Rate)
	}
	if spec.Concurrency > 0 {
		o["max_concurrency"] = spec.Concurrency
	}
	samples := map[string]*stats.Summary{"ttft": sum.TTFE, "tpot": sum.TPOT, "itl": sum.ITL, "e2el": sum.E2EFromSend}
	if len(window) > 0 {
		addDetails(o, window, spec.Streams())
	} else {
		for metric, sample := range samples {
			addStatistics(o, metric, sample)
		}
	}
	o["n_too_small"], o["invalid"] = tooSmall(o, samples), append([]string{}, row.Codes(record.Invalid)...)
	return o
}

// tooSmall are the keys of percentiles that are only lower bounds. vLLM's tools expect the keys, so they stay.
func tooSmall(o map[string]any, samples map[string]*stats.Summary) []string {
	keys := []string{}
	for latency, sample := range samples {
		for _, x := range vllmStatistics {
			key := x.to + "_" + latency + "_ms"
			if _, percentile := metric.Stat(x.from).P(); percentile && o[key] != nil &&
				sample.Grade(x.from) == stats.NoBound {
				keys = append(keys, key)
			}
		}
	}
	slices.Sort(keys)
	return keys
}

var vllmStatistics = []struct{ to, from string }{{"mean", "mean"}, {"median", "p50"}, {"std", "std"}, {"p50", "p50"},
	{"p90", "p90"}, {"p95", "p95"}, {"p99", "p99"}, {"p99.9", "p999"}}

func addStatistics(o map[string]any, metric string, s *stats.Summary) {
	for _, x := range vllmStatistics {
		if value, ok := s.Get(x.from); ok && !math.IsNaN(value) {
			o[x.to+"_"+metric+"_ms"] = value
		}
	}
}

func addDetails(o map[string]any, window []*record.Record, stream bool) {
	n := len(window)
	inputs, outputs, failures := make([]int, n), make([]int, n), make([]string, n)
	starts, ttfts, itls, latencies := make([]float64, n), make([]float64, n), make([][]float64, n), make([]float64, n)
	var ttft, tpot, itl, e2el []float64
	for i, r := range window {
		inputs[i], itls[i] = *cmp.Or(r.PromptTokens, &r.PromptRequested), []float64{}
		sent, _ := r.Sent.Get()
		starts[i] = float64(sent) / 1e6
		if !r.OK() {
			failures[i] = strings.TrimSpace(r.Outcome + " " + r.Error)
			continue
		}
		outputs[i] = r.OutputTokens
		first, gaps := vllmGaps(r)
		last, ok := r.Last.Get()
		if !ok { // its last events have no text
			last = r.End.Us()
		}
		latencies[i] = float64(last-sent) / 1e6
		e2el = append(e2el, float64(last-sent)/1e3)
		if !stream {
			continue
		}
		ttfts[i] = float64(first-sent) / 1e6
		ttft = append(ttft, float64(first-sent)/1e3)
		for _, us := range gaps {
			itls[i], itl = append(itls[i], float64(us)/1e6), append(itl, float64(us)/1e3)
		}
		if r.OutputTokens > 1 {
			tpot = append(tpot, float64(last-first)/1e3/float64(r.OutputTokens-1))
		}
	}
	o["input_lens"], o["output_lens"], o["errors"] = inputs, outputs, failures
	o["start_times"], o["latencies"] = starts, latencies
	if stream {
		o["ttfts"], o["itls"] = ttfts, itls
	}
	for metric, values := range map[string][]float64{"ttft": ttft, "tpot": tpot, "itl": itl, "e2el": e2el} {
		addStatistics(o, metric, stats.Summarize(values))
	}
}

func vllmGaps(r *record.Record) (first int64, gaps []int64) {
	first, _ = r.First.Get()
	if event, ok := r.FirstEvent.Get(); ok && r.First.IsZero() {
		first = event
	} else if ok && event < first {
		gaps = append(gaps, first-event)
		first = event
	}
	for us := range r.Gaps.All() {
		gaps = append(gaps, us)
	}
	return first, gaps
}

package foreign

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"

	"bench/experiment/record"
	"bench/experiment/stats"
)

// Source is what an export is made from: a run of ours.
type Source struct {
	Manifest record.Manifest
	Rows     []record.Row
	Records  func(*record.Row) ([]*record.Record, error) // nil, or a nil slice: there are none
}

// window is the requests of a row that count; nil where there are no records.
func (s *Source) window(row *record.Row) ([]*record.Record, error) {
	if s.Records == nil {
		return nil, nil
	}
	records, err := s.Records(row)
	if err != nil {
		return nil, fmt.Errorf("reading the requests of %s: %w", row.ID, err)
	}
	var out []*record.Record
	for _, r := range records {
		if r.Phase == record.PhaseWindow {
			out = append(out, r)
		}
	}
	return out, nil
}

// VLLM writes a row as an object in the form of `vllm bench serve --save-result --save-detailed`, one after the other as
// --append-result does. Its figures are by vLLM's definitions, computed from the requests of the window: TTFT is from the send to
// the first event of any kind, so that what lies between that and the first token is a gap. Throughputs are those of our window.
// A row without records has no arrays, and a row without streaming no TTFT. Texts are not kept, so none are written.
func VLLM(w io.Writer, s Source) error {
	e := json.NewEncoder(w)
	for i := range s.Rows {
		row := &s.Rows[i]
		window, err := s.window(row)
		if err != nil {
			return err
		}
		if err := e.Encode(s.vllmObject(row, window)); err != nil {
			return fmt.Errorf("writing %s: %w", row.ID, err)
		}
	}
	return nil
}

func (s *Source) vllmObject(row *record.Row, window []*record.Record) map[string]any {
	sum, spec := &row.Summary, &row.Spec
	api := "openai"
	if spec.API == "chat" || spec.API == "" && s.Manifest.Target.API == "chat" {
		api = "openai-chat"
	}
	o := map[string]any{
		"date": row.StartedAt.UTC().Format("20060102-150405"), "endpoint_type": api, "backend": api, "label": row.ID,
		"model_id": s.Manifest.Target.Model, "tokenizer_id": nil, "num_prompts": sum.Requests.Planned,
		"request_rate": "inf", "burstiness": or1(spec.Burstiness), "max_concurrency": nil,
		"duration": sum.DurationS, "completed": sum.Requests.Completed, "failed": sum.Requests.Failed,
		"total_input_tokens": sum.Tokens.Prompt, "total_output_tokens": sum.Tokens.Output,
		"request_throughput": sum.Throughput.RequestsPerS, "request_goodput": nil, "output_throughput": sum.Throughput.OutputTokensPerS,
		"total_token_throughput":  sum.Throughput.OutputTokensPerS + sum.Throughput.PromptTokensPerS,
		"max_concurrent_requests": sum.Concurrency.Max,
		"exported_by":             "bench " + s.Manifest.Client.Version,
	}
	if sum.Goodput != nil {
		o["request_goodput"] = sum.Goodput.RequestsPerS
	}
	if spec.Rate > 0 && !spec.Rate.IsInf() {
		o["request_rate"] = float64(spec.Rate)
	}
	if spec.Concurrency > 0 {
		o["max_concurrency"] = spec.Concurrency
	}
	if window != nil {
		addDetails(o, window, spec.Streams())
		return o
	}
	for metric, sample := range map[string]*stats.Summary{"ttft": sum.TTFE, "tpot": sum.TPOT, "itl": sum.ITL, "e2el": sum.E2EFromSend} {
		addStatistics(o, metric, sample)
	}
	return o
}

func or1(x float64) float64 {
	if x == 0 {
		return 1
	}
	return x
}

// addStatistics writes a summary under vLLM's names.
func addStatistics(o map[string]any, metric string, s *stats.Summary) {
	for _, x := range []struct{ to, from string }{{"mean", "mean"}, {"median", "p50"}, {"std", "std"}, {"p50", "p50"}, {"p90", "p90"}, {"p95", "p95"}, {"p99", "p99"}, {"p99.9", "p999"}} {
		if value, ok := s.Get(x.from); ok && !math.IsNaN(value) {
			o[x.to+"_"+metric+"_ms"] = value
		}
	}
}

// addDetails writes the arrays, in seconds, and the statistics of what is in them.
func addDetails(o map[string]any, window []*record.Record, stream bool) {
	n := len(window)
	inputs, outputs, failures := make([]int, n), make([]int, n), make([]string, n)
	starts, ttfts, itls, latencies := make([]float64, n), make([]float64, n), make([][]float64, n), make([]float64, n)
	var ttft, tpot, itl, e2el []float64
	for i, r := range window {
		inputs[i], itls[i] = r.PromptAsked, []float64{}
		if r.PromptTokens != nil {
			inputs[i] = *r.PromptTokens
		}
		sent, _ := r.Sent.Get()
		starts[i] = float64(sent) / 1e6
		if !r.OK() {
			failures[i] = strings.TrimSpace(r.Outcome + " " + r.Error)
			continue
		}
		outputs[i] = r.OutputTokens
		first, gaps := vllmGaps(r)
		last, _ := r.Last.Get()
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
	o["input_lens"], o["output_lens"], o["errors"], o["start_times"], o["latencies"] = inputs, outputs, failures, starts, latencies
	if stream {
		o["ttfts"], o["itls"] = ttfts, itls
	}
	for metric, values := range map[string][]float64{"ttft": ttft, "tpot": tpot, "itl": itl, "e2el": e2el} {
		addStatistics(o, metric, stats.Summarize(values))
	}
}

// vllmGaps is the first event of any kind, and the gaps from it on.
func vllmGaps(r *record.Record) (first int64, gaps []int64) {
	first, _ = r.First.Get()
	if event, ok := r.FirstEvent.Get(); ok && event < first {
		gaps = append(gaps, first-event)
		first = event
	}
	for us := range r.Gaps.All() {
		gaps = append(gaps, us)
	}
	return first, gaps
}

package series

import (
	"math"
	"testing"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/telemetry"
	fixture "bench/internal/fixturetest"
)

// onH200 is a row of DeepSeek-R1 on 8 × H200 with answers of 1,024 tokens to prompts of 1,020.
func onH200(concurrency int, inFlight, ttftFromSend, tpot float64) record.Row {
	r := measured("chat", fixture.Concurrency(""), 0, concurrency, 1, 100*inFlight, 9e9, "")
	r.Roofline = &record.Roofline{Model: "deepseek-ai/DeepSeek-R1", Hardware: "h200-sxm", GPUs: 8, Weights: "fp8"}
	r.Lengths = record.Lengths{PromptTokens: stats.Summarize([]float64{1000, 1040}), OutputTokens: stats.Summarize([]float64{1024})}
	r.Summary.TTFTFromSend, r.Summary.TPOT = stats.Summarize([]float64{ttftFromSend}), stats.Summarize([]float64{tpot})
	r.Summary.Concurrency.Mean = inFlight
	return r
}

// TestPublished: known figures (SGLang 0.5.9 of 2026-03-25: 285.876 ms and 16.63 ms at concurrency 16) beside points
// at and between published concurrencies.
func TestPublished(t *testing.T) {
	rows := []record.Row{onH200(16, 15.8, 2*285.876, 0.9*16.63), onH200(24, 24, 400, 20)}
	rows[1].Server.Metrics = &telemetry.ServerUsage{Engine: "trtllm"}
	s := FromRows(rows)[0]
	at := s.Points[0].Published
	if at == nil || len(at.Figures) != 3 || at.Concurrency != 15.8 || at.TTFTMs != 2*285.876 {
		t.Fatalf("at 16: %+v", at)
	}
	f := at.Figures[0]
	if f.Engine != "sglang" || f.Concurrency != 16 || math.Abs(*f.TTFTRatio-2) > 1e-9 || math.Abs(*f.TPOTRatio-0.9) > 1e-9 {
		t.Errorf("at 16: %+v", f)
	}
	between := s.Points[1].Published
	if between == nil || len(between.Figures) != 6 || between.Figures[0].Engine != "trtllm" || between.Figures[5].Engine != "sglang" {
		t.Fatalf("own engine first, both neighbours: %+v", between)
	}
	for i, want := range []int{16, 32, 16, 32, 16, 32} {
		if f := between.Figures[i]; f.Concurrency != want || f.TTFTRatio != nil || f.TPOTRatio != nil {
			t.Errorf("another concurrency has no ratio: %+v", f)
		}
	}
}

// TestPublishedMeanLengths: a run of the recipe's own lengths, 80 to 100 % of 1,024, has figures; a run with longer
// means than the stated lengths has none.
func TestPublishedMeanLengths(t *testing.T) {
	for length, want := range map[float64]int{835: 3, 922: 3, 1024: 3, 1040: 0, 1100: 0} {
		r := onH200(16, 16, 300, 16)
		tokens := stats.Summarize([]float64{0.9 * length, 1.1 * length})
		r.Lengths = record.Lengths{PromptTokens: tokens, OutputTokens: tokens}
		got := 0
		if p := FromRows([]record.Row{r})[0].Points[0].Published; p != nil {
			got = len(p.Figures)
		}
		if got != want {
			t.Errorf("lengths of %g tokens have %d figures, want %d", length, got, want)
		}
	}
}

// TestNotPublished: what published figures were not measured with.
func TestNotPublished(t *testing.T) {
	for name, change := range map[string]func(*record.Row){
		"no hardware":       func(r *record.Row) { r.Roofline = nil },
		"another device":    func(r *record.Row) { r.Roofline.Hardware = "h100-sxm" },
		"unknown precision": func(r *record.Row) { r.Roofline.Weights = "" },
		"cached prompts":    func(r *record.Row) { r.Roofline.Cached = 512 },
		"scattered prompts": func(r *record.Row) { r.Lengths.PromptTokens = stats.Summarize([]float64{40, 2000}) },
		"scattered answers": func(r *record.Row) { r.Lengths.OutputTokens = stats.Summarize([]float64{40, 2000}) },
		"no lengths":        func(r *record.Row) { r.Lengths = record.Lengths{} },
		"invalid":           func(r *record.Row) { r.Findings = []record.Finding{{Code: "errors", Severity: record.Invalid}} },
		"cold start":        func(r *record.Row) { r.Spec.Kind = "cold_start" },
		"another length":    func(r *record.Row) { r.Lengths.PromptTokens = stats.Summarize([]float64{1100}) },
		"another width":     func(r *record.Row) { r.Roofline.GPUs = 16 },
	} {
		r := onH200(16, 16, 300, 16)
		change(&r)
		if got := FromRows([]record.Row{r})[0].Points[0].Published; got != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestPublishedHighest: a highest throughput is beside the point with the highest throughput alone.
func TestPublishedHighest(t *testing.T) {
	var rows []record.Row
	for _, c := range []int{4, 16, 64} {
		r := onH200(c, float64(c), 300, 16)
		r.Lengths.PromptTokens = stats.Summarize([]float64{1024})
		r.Roofline.Model, r.Roofline.GPUs = "meta-llama/Llama-3.1-70B-Instruct", 2
		r.Summary.Throughput.OutputTokensPerSPerGPU = new(1291.0)
		rows = append(rows, r)
	}
	s := FromRows(rows)[0]
	for i, want := range []int{0, 0, 1} {
		n := 0
		for _, f := range s.Points[i].Published.Figures {
			if f.Concurrency == 0 {
				n++
				if math.Abs(*f.OutputRatio-0.5) > 1e-9 || f.OutputPerGPU != 2582 {
					t.Errorf("%+v", f)
				}
			}
		}
		if n != want {
			t.Errorf("point %d has %d highest throughputs, want %d", i, n, want)
		}
	}
}

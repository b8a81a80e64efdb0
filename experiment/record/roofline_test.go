package record

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bench/experiment"
	"bench/experiment/roofline"
	"bench/experiment/stats"
)

func tiny(t *testing.T) roofline.Models {
	t.Helper()
	models, err := roofline.ParseModels([]byte(`{"about": "a test", "models": [{"id": "tiny", "layers": 2, "hidden": 64, "heads": 4, "kv_heads": 2, "head_dim": 16,
		"intermediate": 128, "vocab": 1000, "max_context": 4096, "source": "made up for this test"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	return models
}

// The front end is that of the server's engine: vLLM's is shorter for layers with experts.
func TestEngineOfTheFrontEnd(t *testing.T) {
	models, err := roofline.ParseModels([]byte(`{"about": "a test", "models": [{"id": "sparse", "layers": 20, "hidden": 64, "heads": 4, "kv_heads": 2, "head_dim": 16,
		"vocab": 1000, "moe": {"layers": 20, "experts": 8, "top_k": 2, "expert_intermediate": 64}, "source": "made up for this test"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	target := experiment.Target{Hardware: "h100-sxm", GPUs: 1}
	b := NewRooflineSource(models, roofline.BuiltinHardware(), "sparse", target)
	s := &Summary{Requests: Requests{Completed: 10}, Tokens: Tokens{Prompt: 1000, Output: 400}}
	unknown, _ := b.Of(s, Decoding{}, target, "")
	vllm, _ := b.Of(s, Decoding{}, target, "vllm")
	if vllm.TTFT.ExpectedMs >= unknown.TTFT.ExpectedMs || vllm.TPOT.ExpectedMs != unknown.TPOT.ExpectedMs {
		t.Errorf("TTFT %g ms on vllm, %g on any engine", vllm.TTFT.ExpectedMs, unknown.TTFT.ExpectedMs)
	}
}

func TestBoundIsForWhatWasObserved(t *testing.T) {
	target := experiment.Target{Hardware: "h100-sxm", GPUs: 2, Precision: "fp8"}
	b := NewRooflineSource(tiny(t), roofline.BuiltinHardware(), "org/tiny", target)
	cached := 40
	s := &Summary{TPOT: &stats.Summary{P50: 3}, TTFT: &stats.Summary{P50: 50}, Concurrency: Concurrency{Mean: 99, Max: 200}, // most of them queued
		Requests: Requests{Completed: 10}, Tokens: Tokens{Prompt: 1000, Output: 400, Cached: &cached}}
	s.Throughput = Throughput{PromptTokensPerS: 1000, OutputTokensPerS: 400}
	r, missing := b.Of(s, Decoding{batch: 7.5, context: 120}, target, "")
	if missing != "" {
		t.Fatal(missing)
	}
	setup := roofline.Setup{Model: tiny(t)[0], GPUs: 2, Precision: "fp8"}
	setup.Device, _ = roofline.BuiltinHardware().Find("h100-sxm")
	want := &Roofline{Model: "tiny", Hardware: "h100-sxm", Vendor: "nvidia", GPUs: 2, Precision: "fp8", Weights: "fp8", Batch: 7.5, Context: 120, Input: 100, Cached: 4,
		TPOT: setup.Decode(7.5, 120), TTFT: setup.Prefill(100, 4)}
	want.TPOTRatio, want.TTFTRatio = new(3/want.TPOT.FloorMs), new(50/want.TTFT.FloorMs)
	want.TPOTPlace, want.TTFTPlace = roofline.Slow, roofline.Slow
	load := setup.AtConcurrency(7.5, roofline.Workload{Input: 100, Cached: 4, Output: 40})
	load.TTFT = setup.AtConcurrency(99, roofline.Workload{Input: 100, Cached: 4, Output: 40}).TTFT // the queue is of all in flight
	want.Loaded, want.TTFTLoaded = &load.TPOT, &load.TTFT
	want.MBU = new(setup.MBU(7.5, 120, 3))
	mfu, _ := setup.MFU(1000*(1-4./100), 400) // cached prompt tokens are not computed
	want.MFU = &mfu
	if d := cmp.Diff(want, r); d != "" {
		t.Error(d)
	}

	s.TPOT.P50 = 0 // answers that came all at once
	if r, _ := b.Of(s, Decoding{batch: 7.5, context: 120}, target, ""); r.MBU != nil {
		t.Errorf("a bandwidth of %v", *r.MBU)
	} else if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}

	s.TPOT, s.TTFT, s.Tokens.Cached = nil, nil, nil
	if r, _ := b.Of(s, Decoding{}, target, ""); r.TPOTRatio != nil || r.TTFTRatio != nil || r.Cached != 0 || r.Batch != 1 || r.Context != 120 || r.MBU != nil || r.TPOTPlace != "" {
		t.Errorf("%+v", r)
	}
	s.Requests.Completed = 0
	if r, missing := b.Of(s, Decoding{}, target, ""); r != nil || missing != "no request completed" {
		t.Errorf("%+v, %q", r, missing)
	}
}

// Two requests decode beside each other from 2 s on, the first until 5 s, the second until 6 s, with
// a token each second; a third one decodes alone, half of it behind the window.
func TestObserveCountsWhatATokenMeets(t *testing.T) {
	const s = 1_000_000
	w := Window{StartUs: 0, EndUs: 10 * s}
	records := []*Record{
		{First: At(2 * s), Last: At(5 * s), Gaps: Pack(s, s, s), PromptRequested: 100, OutputTokens: 4},
		{First: At(2 * s), Last: At(6 * s), Gaps: Pack(s, s, s, s), PromptRequested: 300, OutputTokens: 5},
		{First: At(8 * s), Last: At(12 * s), Gaps: Pack(s, s, s, s), PromptRequested: 10, OutputTokens: 5},
		{First: At(11 * s), Last: At(12 * s), Gaps: Pack(s), PromptRequested: 9999, OutputTokens: 2},
		{Last: At(5 * s), PromptRequested: 9999},                                                      // not streamed
		{First: At(4 * s), Last: At(4 * s), Gaps: Pack(0, 0), PromptRequested: 9999, OutputTokens: 3}, // all at once
	}
	got := ObserveDecoding(records, w)
	// The tokens at 3, 4, 5 s meet two, twice; that at 6 s and that at 9 s one.
	want := Decoding{batch: (6*2 + 1 + 1) / 8., context: (102 + 103 + 104 + 302 + 303 + 304 + 305 + 12) / 8.}
	if math.Abs(got.batch-want.batch) > 1e-9 || math.Abs(got.context-want.context) > 1e-9 {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := ObserveDecoding(records[3:], w); got != (Decoding{}) {
		t.Errorf("nobody decodes: %+v", got)
	}
}

func TestLittlesLaw(t *testing.T) {
	w := Window{StartUs: 10e6, EndUs: 70e6}
	steady := func() (records []*Record) { // 10 arrivals a second, each stays 2 s
		for us := int64(0); us < 80e6; us += 100_000 {
			records = append(records, &Record{Sent: At(us), End: At(us + 2e6)})
		}
		return records
	}
	l := LittlesLaw(steady(), w)
	if math.Abs(l.InFlight-20) > 0.01 || math.Abs(l.RequestsS-10) > 0.02 || math.Abs(l.MeanMs-2000) > 1e-6 || !l.Consistent || math.Abs(l.Off) > 0.01 {
		t.Errorf("steady: %+v", l)
	}
	var growing []*Record // served at half the rate of the arrivals
	for i := range int64(800) {
		growing = append(growing, &Record{Sent: At(i * 100_000), End: At((i + 1) * 200_000)})
	}
	if l := LittlesLaw(growing, w); l.Consistent || l.Off > -0.3 {
		t.Errorf("a queue that grows: %+v", l)
	}
	if l := LittlesLaw(nil, w); l != nil {
		t.Errorf("nothing: %+v", l)
	}
	if l := LittlesLaw(steady()[:1], w); l != nil {
		t.Errorf("nothing in the window: %+v", l)
	}
}

func TestNoBoundSaysWhy(t *testing.T) {
	for _, c := range []struct {
		model string
		t     experiment.Target
		want  string
	}{
		{"tiny", experiment.Target{}, "hardware is not specified"},
		{"tiny", experiment.Target{Hardware: "h100-sxm"}, "gpus is not specified"},
		{"tiny", experiment.Target{Hardware: "abacus", GPUs: 1}, "abacus"},
		{"unheard-of", experiment.Target{Hardware: "h100-sxm", GPUs: 1}, "unheard-of"},
		{"tiny", experiment.Target{Hardware: "h100-sxm", GPUs: 1, Precision: "int3"}, "int3"},
	} {
		b := NewRooflineSource(tiny(t), roofline.BuiltinHardware(), c.model, c.t)
		r, missing := b.Of(&Summary{Requests: Requests{Completed: 1}}, Decoding{}, c.t, "")
		if r != nil || !strings.Contains(missing, c.want) || b.Missing() != missing {
			t.Errorf("%+v: %+v, %q, %q", c.t, r, missing, b.Missing())
		}
	}
	if r, missing := (RooflineSource{}).Of(&Summary{}, Decoding{}, experiment.Target{}, ""); r != nil || missing == "" {
		t.Errorf("the zero value: %+v, %q", r, missing)
	}
	if b := NewRooflineSource(tiny(t), roofline.BuiltinHardware(), "tiny", experiment.Target{Hardware: "h100-sxm", GPUs: 1}); b.Missing() != "" {
		t.Error(b.Missing())
	}
}

func TestNotStated(t *testing.T) {
	all := []string{"hardware", "gpus", "precision", "gpu_hour_usd", "driver", "network", "quantization", "server_flags", "storage", "tokenizer"}
	if got := (experiment.Target{}).Unspecified(); !slices.Equal(got, all) {
		t.Errorf("of nothing: %q", got)
	}
	usd := 0.0
	some := experiment.Target{Hardware: "h100-sxm", GPUs: 1, Precision: "bf16", GPUHourUSD: &usd,
		Facts: map[string]string{"driver": "580.159", "network": " ", "storage": "nvme", "cooling": "liquid"}}
	if got := some.Unspecified(); !slices.Equal(got, []string{"network", "quantization", "server_flags", "tokenizer"}) {
		t.Errorf("%q", got)
	}
	for _, f := range experiment.ExpectedFacts {
		some.Facts[f] = "stated"
	}
	if got := some.Unspecified(); len(got) > 0 {
		t.Errorf("all is stated, and yet %q", got)
	}
}

package experiment

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bench/experiment/roofline"
	"bench/experiment/stats"
)

var infinite = math.Inf(1)

// tiny is a model table of one.
func tiny(t *testing.T) roofline.Models {
	t.Helper()
	models, err := roofline.ParseModels([]byte(`{"about": "a test", "models": [{"id": "tiny", "layers": 2, "hidden": 64, "heads": 4, "kv_heads": 2, "head_dim": 16,
		"intermediate": 128, "vocab": 1000, "max_context": 4096, "source": "made up for this test"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	return models
}

func TestBoundIsForWhatWasObserved(t *testing.T) {
	target := Target{Hardware: "h100-sxm", GPUs: 2, Precision: "fp8"}
	b := NewBounds(tiny(t), "org/tiny", target)
	cached := 40
	s := &Summary{TPOT: &stats.Summary{P50: 3}, TTFT: &stats.Summary{P50: 50}, Concurrency: Concurrency{Mean: 99, Max: 200}, // most of them queued
		Requests: Requests{Completed: 10}, Tokens: Tokens{Prompt: 1000, Output: 400, Cached: &cached}}
	r, missing := b.of(s, 7.5, target)
	if missing != "" {
		t.Fatal(missing)
	}
	setup := roofline.Setup{Model: tiny(t)[0], GPUs: 2, Precision: "fp8"}
	setup.Device, _ = roofline.FindDevice("h100-sxm")
	want := &RowBound{Model: "tiny", Hardware: "h100-sxm", GPUs: 2, Precision: "fp8", Batch: 7.5, Context: 120, Input: 100, Cached: 4,
		TPOT: setup.Decode(7.5, 120), TTFT: setup.Prefill(100, 4)}
	want.TPOTRatio, want.TTFTRatio = new(3/want.TPOT.FloorMs), new(50/want.TTFT.FloorMs)
	if d := cmp.Diff(want, r); d != "" {
		t.Error(d)
	}

	s.TPOT, s.TTFT, s.Tokens.Cached = nil, nil, nil
	if r, _ := b.of(s, 0.2, target); r.TPOTRatio != nil || r.TTFTRatio != nil || r.Cached != 0 || r.Batch != 1 {
		t.Errorf("%+v", r)
	}
	s.Requests.Completed = 0
	if r, missing := b.of(s, 1, target); r != nil || missing != "no request completed" {
		t.Errorf("%+v, %q", r, missing)
	}
}

func TestNoBoundSaysWhy(t *testing.T) {
	for _, c := range []struct {
		model string
		t     Target
		want  string
	}{
		{"tiny", Target{}, "hardware is not stated"},
		{"tiny", Target{Hardware: "h100-sxm"}, "gpus is not stated"},
		{"tiny", Target{Hardware: "abacus", GPUs: 1}, "abacus"},
		{"unheard-of", Target{Hardware: "h100-sxm", GPUs: 1}, "unheard-of"},
		{"tiny", Target{Hardware: "h100-sxm", GPUs: 1, Precision: "int3"}, "int3"},
	} {
		b := NewBounds(tiny(t), c.model, c.t)
		r, missing := b.of(&Summary{Requests: Requests{Completed: 1}}, 1, c.t)
		if r != nil || !strings.Contains(missing, c.want) || b.Missing() != missing {
			t.Errorf("%+v: %+v, %q, %q", c.t, r, missing, b.Missing())
		}
	}
	if r, missing := (Bounds{}).of(&Summary{}, 1, Target{}); r != nil || missing == "" {
		t.Errorf("the zero value: %+v, %q", r, missing)
	}
	if b := NewBounds(tiny(t), "tiny", Target{Hardware: "h100-sxm", GPUs: 1}); b.Missing() != "" {
		t.Error(b.Missing())
	}
}

func TestTargetCheck(t *testing.T) {
	for _, c := range []struct {
		usd  float64
		gpus int
		want mistakes
	}{
		{2.5, 8, nil},
		{0, 0, nil},
		{-1, -1, mistakes{"gpus: gpus is negative", "gpu_hour_usd: -1 is no price"}},
		{math.NaN(), 1, mistakes{"gpu_hour_usd: NaN is no price"}},
		{infinite, 1, mistakes{"gpu_hour_usd: +Inf is no price"}},
	} {
		var got mistakes
		Target{GPUs: c.gpus, GPUHourUSD: &c.usd}.Check(got.add)
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%v, %d:\n%s", c.usd, c.gpus, d)
		}
	}
	var none mistakes
	Target{}.Check(none.add)
	if len(none) > 0 {
		t.Errorf("the zero target: %q", none)
	}
}

func TestNotStated(t *testing.T) {
	all := []string{"hardware", "gpus", "precision", "gpu_hour_usd", "driver", "network", "quantization", "server_flags", "storage", "tokenizer"}
	if got := (Target{}).NotStated(); !slices.Equal(got, all) {
		t.Errorf("of nothing: %q", got)
	}
	usd := 0.0
	some := Target{Hardware: "h100-sxm", GPUs: 1, Precision: "bf16", GPUHourUSD: &usd,
		Facts: map[string]string{"driver": "580.159", "network": " ", "storage": "nvme", "cooling": "liquid"}}
	if got := some.NotStated(); !slices.Equal(got, []string{"network", "quantization", "server_flags", "tokenizer"}) {
		t.Errorf("%q", got)
	}
	for _, f := range wantedFacts {
		some.Facts[f] = "stated"
	}
	if got := some.NotStated(); len(got) > 0 {
		t.Errorf("all is stated, and yet %q", got)
	}
}

package roofline

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// By hand, with 8 ms of reading, 100 TFLOP/s and 1 ms of front end: a prompt of 1,000 tokens computes for
// 1000 · 2 · 799 · 4.999e6 / 1e14 = 79.9 ms, and more beside nine decoding
// sequences. Each of nine others sends a prompt every 100 steps: 0.09 prompts between two tokens.
func TestAtConcurrency(t *testing.T) {
	s := simple()
	s.Efficiency.FrontEndMs = 1
	w := Workload{Input: 1000, Output: 100}
	alone := s.AtConcurrency(1, w)
	within(t, "TTFT alone", alone.TTFT.ExpectedMs, s.Prefill(1000, 0).ExpectedMs, 1e-9)
	within(t, "front end", term(alone.TTFT, "front end"), 1, 1e-9)
	step := s.Decode(10, 1050).ExpectedMs
	prompt := s.StepMs([]Chunk{{1000, 0}}, 9, 1050)
	x := s.AtConcurrency(10, w)
	within(t, "TPOT", x.TPOT.ExpectedMs, step+0.09*(prompt-step), 1e-9)
	busy := 0.09 * (prompt - step) / x.TPOT.ExpectedMs
	within(t, "TTFT", x.TTFT.ExpectedMs, 1+prompt+step/2+busy/(2-busy)*(prompt-step), 1e-9)
	within(t, "requests/s", x.RatePerS, 1e3*10/(x.TTFT.ExpectedMs+99*x.TPOT.ExpectedMs), 1e-9)
}

// What the cache does not hold waits: with room for 50 of 75 requests the queue is half of a cycle.
func TestAtConcurrencyBeyondTheCache(t *testing.T) {
	s, w := simple(), Workload{Input: 100, Output: 100, MaxSeqs: 50}
	full, more := s.AtConcurrency(50, w), s.AtConcurrency(75, w)
	within(t, "requests/s", more.RatePerS, full.RatePerS, 1e-9)
	within(t, "TPOT", more.TPOT.ExpectedMs, full.TPOT.ExpectedMs, 1e-9)
	within(t, "TTFT", more.TTFT.ExpectedMs-full.TTFT.ExpectedMs, full.cycleMs(w)/2, 1e-9)
	if full.Saturated || !more.Saturated {
		t.Errorf("%v, %v", full.Saturated, more.Saturated)
	}
}

// A rate has the number of requests in flight that Little's law gives; above the highest rate it is saturated.
func TestAtRate(t *testing.T) {
	s, w := simple(), Workload{Input: 1000, Output: 100, MaxSeqs: 50}
	for _, rate := range []float64{0.1, 1, 4, 6} {
		x := s.AtRate(rate, w)
		within(t, "Little's law", x.Concurrency, rate*x.cycleMs(w)/1e3, 1e-6)
		if x.Saturated || x.Requested != rate {
			t.Errorf("%+v", x)
		}
	}
	if x := s.AtRate(100, w); !x.Saturated || x.RatePerS > 12.6 { // 1000/79.9 prompts a second
		t.Errorf("%+v", x)
	}
}

// Prompts share the server: no load ends more requests than it can compute prompts for, whatever the length of the
// answers. An answer of one token waits for the prompts of all others.
func TestLoadComputesEveryPrompt(t *testing.T) {
	gen := setups(t)
	rapid.Check(t, func(t *rapid.T) {
		s := gen.Draw(t, "setup")
		w := Workload{Input: rapid.Float64Range(1, 30_000).Draw(t, "input"), Output: rapid.Float64Range(1, 50).Draw(t, "output"), MaxSeqs: 200}
		batch := rapid.Float64Range(1, 200).Draw(t, "batch")
		x := s.AtConcurrency(batch, w)
		running := min(batch, served{&s, w}.mostRunning())
		_, _, more := served{&s, w}.parts(running, running-1)
		if x.RatePerS*more > 1e3*(1+1e-9) {
			t.Errorf("%g requests/s, each of which needs %g ms", x.RatePerS, more)
		}
		rate := rapid.Float64Range(1e-3, 1e4).Draw(t, "rate")
		open := s.AtRate(rate, w)
		if open.RatePerS > rate*(1+1e-9) || !open.Saturated && open.RatePerS != rate {
			t.Errorf("%g/s requested, %+v", rate, open)
		}
	})
	s, w := simple(), Workload{Input: 1000, Output: 1, MaxSeqs: 200}
	_, _, more := served{&s, w}.parts(64, 63)
	within(t, "one token", term(s.AtConcurrency(64, w).TTFT, "queue"), s.Decode(64, 1000.5).ExpectedMs/2, 1e-9)
	if x := s.AtConcurrency(64, w); x.TTFT.ExpectedMs < 63*more {
		t.Errorf("TTFT %g ms, the prompts before need %g", x.TTFT.ExpectedMs, 63*more)
	}
}

// A floor holds for engines that compute a prompt before they go on with others.
func TestFloorOfTTFTUnderLoad(t *testing.T) {
	s, w := simple(), Workload{Input: 10, Output: 100}
	within(t, "floor", s.AtConcurrency(64, w).TTFT.FloorMs, s.AtConcurrency(1, w).TTFT.FloorMs, 1e-9)
}

// More load takes longer; the terms add up; the floor stays below.
func TestLoadProperties(t *testing.T) {
	gen := setups(t)
	rapid.Check(t, func(t *rapid.T) {
		s := gen.Draw(t, "setup")
		w := Workload{Input: rapid.Float64Range(1, 30_000).Draw(t, "input"), Output: rapid.Float64Range(2, 2000).Draw(t, "output")}
		w.Cached = rapid.Float64Range(0, 1).Draw(t, "cached share") * (w.Input - 1)
		batch := rapid.Float64Range(1, w.Output/1.5).Draw(t, "batch") // at most one prompt between two tokens
		x, more := s.AtConcurrency(batch, w), s.AtConcurrency(batch*1.5, w)
		for _, b := range []Bound{x.TTFT, x.TPOT} {
			checkArithmetic(t, b, b.ExpectedMs)
		}
		if more.TTFT.ExpectedMs < x.TTFT.ExpectedMs*(1-1e-9) || more.TPOT.ExpectedMs < x.TPOT.ExpectedMs*(1-1e-9) {
			t.Errorf("at %g: %g and %g ms, at half as much again %g and %g", batch, x.TTFT.ExpectedMs, x.TPOT.ExpectedMs, more.TTFT.ExpectedMs, more.TPOT.ExpectedMs)
		}
	})
}

func TestPeak(t *testing.T) {
	s := simple()
	p := s.Peak(Workload{Input: 100, Output: 100, MaxSeqs: 50})
	if p.Batch != 50 || p.Why != "the engine's limit of concurrent sequences" {
		t.Errorf("%+v", p)
	}
	within(t, "tokens/s", p.OutputPer, s.AtConcurrency(50, Workload{Input: 100, Output: 100}).OutputPerS, 1e-9)
	free := s.Peak(Workload{Input: 100, Output: 100})
	if held := s.Capacity(200).Sequences; free.Batch != held || free.OutputPer < p.OutputPer {
		t.Errorf("%d sequences fit, batch %d, %g tok/s", held, free.Batch, free.OutputPer)
	}
	s.Device.MemoryGB = 0
	if p := s.Peak(Workload{Input: 100, Output: 100}); p.Batch != 0 || !strings.Contains(p.Why, "memory is unknown") {
		t.Errorf("%+v", p)
	}
	s.Device.MemoryGB = 8.8
	if p := s.Peak(Workload{Input: 100, Output: 100}); p.Batch != 0 || !strings.Contains(p.Why, "no memory") {
		t.Errorf("%+v", p)
	}
}

// Data-parallel attention copies the attention's weights and not the KV cache; whole experts on one GPU wait for the
// fullest one.
func TestLayouts(t *testing.T) {
	s := Setup{Model: model(t, "deepseek-r1"), Device: device(t, "h200-sxm"), GPUs: 8}
	dp := s
	dp.AttentionDP = true
	within(t, "KV per token", float64(dp.CapacityTokens())*dp.Model.kv(1, 2, 1), 0.9*8*141e9-dp.WeightBytes(), 1e-4)
	within(t, "weights", dp.WeightBytes()-s.WeightBytes(), 7*float64(s.Model.attentionParams()), 1e-9)
	// Nine sequences on eight GPUs take as long as sixteen; the attention of a lone prompt is computed by one GPU.
	within(t, "KV of nine", term(dp.Decode(9, 1000), "KV cache"), term(dp.Decode(16, 1000), "KV cache"), 1e-9)
	within(t, "attention of a prompt", term(dp.Prefill(2000, 0), "attention"), 8*term(s.Prefill(2000, 0), "attention"), 1e-9)
	if dp.CapacityTokens() < 6*s.CapacityTokens() {
		t.Errorf("%d tokens with copies, %d without", s.CapacityTokens(), dp.CapacityTokens())
	}
	spread := s
	spread.ExpertParallel = true
	if a, b := spread.DecodeMs(8, 1000), s.DecodeMs(8, 1000); a <= b {
		t.Errorf("%g ms with whole experts on one GPU, %g divided", a, b)
	}
	within(t, "all experts are read anyway", spread.DecodeMs(5000, 10), s.DecodeMs(5000, 10), 1e-3)
}

// On a CPU reading and computing take turns.
func TestAdditive(t *testing.T) {
	s := simple()
	b := s.Decode(50, 0)
	overlapped := b.ExpectedMs
	s.Device.Vendor = "cpu"
	b = s.Decode(50, 0)
	within(t, "sum", b.ExpectedMs, term(b, "weights")+term(b, "compute"), 1e-9)
	if math.Abs(b.ExpectedMs-overlapped) < 1 || b.Terms[1].Hidden {
		t.Errorf("%g ms, overlapped %g", b.ExpectedMs, overlapped)
	}
}

package roofline

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// By hand: 10 ms, and for each of 36 layers 100 µs and, as all have experts, 50 µs more; on an engine with a factor of 2
// the 50 are 100. A model with latent attention has 400 more in each of its 61 layers, 58 of which have experts.
func TestFrontEnd(t *testing.T) {
	e := examples(0.8, 0, 1)
	e.FrontEndMs, e.FrontEndLayer = 10, LayerTimes{Any: 100, Experts: 50, Special: 400}
	e.Engines = map[string]float64{"slow": 2}
	for _, c := range []struct {
		model, engine string
		want          float64
	}{
		{"llama-3.1-8b", "", 10 + 32*0.1},
		{"llama-3.1-8b", "slow", 10 + 32*0.1}, // plain layers are alike on all engines
		{"gpt-oss-120b", "", 10 + 36*0.15},
		{"gpt-oss-120b", "slow", 10 + 36*0.2},
		{"gpt-oss-120b", "unheard of", 10 + 36*0.15},
		{"deepseek-r1", "", 10 + 61*0.5 + 58*0.05},
	} {
		s := Setup{Model: model(t, c.model), Device: device(t, "h100-sxm"), Engine: c.engine, Efficiency: e}
		within(t, c.model+" on "+c.engine, s.FrontEndMs(), c.want, 1e-9)
		within(t, "TTFT", s.Prefill(1000, 0).ExpectedMs, s.PrefillMs(1000, 0)+c.want, 1e-9)
	}
}

// The overhead of a step, likewise.
func TestOverheadOfLayers(t *testing.T) {
	e := examples(0.8, 0, 1)
	s := Setup{Model: model(t, "deepseek-r1"), Device: device(t, "h200-sxm"), GPUs: 8, Efficiency: e}
	before := s.DecodeMs(8, 1000)
	e.Layer = LayerTimes{Any: 40, Experts: 20, Special: 10}
	within(t, "61 layers, 58 with experts", s.DecodeMs(8, 1000)-before, (61*50+58*20)/1e3, 1e-9)
}

// One token chooses 4 of 128 experts, each of which then has one token: 1 / (1 + 9) of the rate. Very many tokens
// choose all of them.
func TestExpertShare(t *testing.T) {
	e := examples(0.8, 0, 1)
	e.Experts, e.ExpertTokens = 0.2, 9
	m := model(t, "gpt-oss-120b").MoE
	within(t, "one token", e.expertShare(m, 1), 0.02, 1e-9)
	within(t, "9 tokens an expert", e.expertShare(m, 9*128/4), 0.1, 1e-3)
	within(t, "many", e.expertShare(m, 1e9), 0.2, 1e-6)
	if share := e.expertShare(MoE{}, 5); share != 1 {
		t.Errorf("a dense model: %g", share)
	}
}

// A device's own efficiency precedes that of the setup; its reach multiplies the shares, which stay at most 1.
func TestReachAndOwnEfficiency(t *testing.T) {
	s := Setup{Model: model(t, "llama-3.1-8b"), Device: device(t, "h100-sxm"), Efficiency: examples(0.8, 0, 1)}
	usual := term(s.Decode(1, 100), "weights")
	s.Device.Reach.Memory = 0.5
	within(t, "half of the bandwidth", term(s.Decode(1, 100), "weights"), 2*usual, 1e-9)
	s.Device.Reach.Memory = 10
	within(t, "at most the peak", term(s.Decode(1, 100), "weights"), 0.8*usual, 1e-9)
	s.Device.Reach = Reach{Compute: 1.2}
	within(t, "compute", term(s.Prefill(1000, 0), "compute")*0.6*989e12, 1e3*2*(1000*float64(s.Model.everyTokenParams())+float64(s.Model.headParams())), 1e-6)
	s.Device.Reach, s.Device.Efficiency = Reach{}, examples(0.4, 0, 1)
	within(t, "its own", term(s.Decode(1, 100), "weights"), 2*usual, 1e-9)
}

// The typical range is a factor on the expected time, by family, and never below the floor.
func TestRanges(t *testing.T) {
	e := examples(0.8, 0, 1)
	e.TPOT = Ranges{Dense: Range{0.9, 1.1}, Sparse: Range{0.01, 2}}
	dense := Setup{Model: model(t, "llama-3.1-8b"), Device: device(t, "h100-sxm"), Efficiency: e}.Decode(1, 1000)
	within(t, "low", dense.LowMs, 0.9*dense.ExpectedMs, 1e-9)
	within(t, "high", dense.HighMs, 1.1*dense.ExpectedMs, 1e-9)
	sparse := Setup{Model: model(t, "gpt-oss-120b"), Device: device(t, "h100-sxm"), Efficiency: e}.Decode(1, 1000)
	within(t, "high, sparse", sparse.HighMs, 2*sparse.ExpectedMs, 1e-9)
	within(t, "low is the floor", sparse.LowMs, sparse.FloorMs, 1e-9)
}

// Engines that can be named have a factor, and the other way round.
func TestEngineNames(t *testing.T) {
	table := slices.Sorted(maps.Keys(BuiltinHardware().Efficiency.Engines))
	if names := slices.Sorted(slices.Values(EngineNames)); !slices.Equal(names, table) {
		t.Errorf("%v, in the table %v", names, table)
	}
}

// TestFittedRange: constants that were fitted to one server have their own range for its model, precision and number of
// GPUs; others have the table's, and a note.
func TestFittedRange(t *testing.T) {
	own, usual := Range{0.95, 1.05}, examples(0.8, 0, 1).TPOT
	fitted := device(t, "h100-sxm")
	fitted.Efficiency = examples(0.8, 0, 1)
	fitted.Efficiency.Fitted = &FittedFor{"meta-llama/Llama-3.1-8B-Instruct", "bf16", 1, own}
	s := Setup{Model: model(t, "llama-3.1-8b"), Device: fitted}
	fp8, two := s, s
	fp8.Precision, two.GPUs = "fp8", 2
	for name, c := range map[string]struct {
		setup Setup
		want  Range
		noted bool
	}{
		"the same":          {s, own, false},
		"another model":     {Setup{Model: model(t, "deepseek-r1"), Device: fitted, GPUs: 16}, usual.Sparse, true},
		"another precision": {fp8, usual.Dense, true},
		"more GPUs":         {two, usual.Dense, true},
	} {
		b := c.setup.Decode(32, 1000)
		within(t, name+", low", b.LowMs, max(b.FloorMs, c.want.Low*b.ExpectedMs), 1e-9)
		within(t, name+", high", b.HighMs, c.want.High*b.ExpectedMs, 1e-9)
		if strings.Contains(b.Note, "fitted to meta-llama/Llama-3.1-8B-Instruct (bf16, 1 GPU)") != c.noted {
			t.Errorf("%s: the note is %q", name, b.Note)
		}
	}
}

// A step of one token computes at a share of its own, where one is stated.
func TestComputeOfOneToken(t *testing.T) {
	e := examples(0.8, 0, 1)
	s := Setup{Model: model(t, "llama-3.1-8b"), Device: device(t, "h100-sxm"), Efficiency: e}
	one, two := term(s.Decode(1, 100), "compute"), term(s.Decode(2, 100), "compute")
	e.ComputeOne = 0.25
	within(t, "one", term(s.Decode(1, 100), "compute"), 2*one, 1e-9)
	within(t, "two", term(s.Decode(2, 100), "compute"), two, 1e-9)
}

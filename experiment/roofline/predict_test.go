package roofline

import (
	"math"
	"strings"
	"testing"
)

// simple reads 8 GB of weights at 1000 GB/s with all of the peak, and does 100
// TFLOP/s: 799 layers of 4,999,000 parameters (3·1000·933 + 2·1000·1000 +
// 2·1000·100), an output layer of 5,000,000.
// Each token holds 799 · 2 · 10 · 10 · 2 bytes of KV.
func simple() Setup {
	e := Efficiency{Memory: 1, Compute: Rates{1, 1, 1, 1}, Experts: 1, Attention: 1, Link: 1}
	m := Model{ID: "simple", Layers: 799, Hidden: 1000, Heads: 100, KVHeads: 10, HeadDim: 10, Intermediate: 933, Vocab: 5000, TiedEmbeddings: true}
	return Setup{Model: m, Device: Device{ID: "simple", MemoryGB: 100, BandwidthGBs: 1000, DenseTFLOPS: Rates{BF16: 100}}, Efficiency: &e}
}

// The rule of thumb as people quote it: an 8B model in bf16 is 16 GB, an A10 has
// 600 GB/s, so 37 tokens/s.
func TestRuleOfThumbByName(t *testing.T) {
	r := ruleOf(&Setup{Model: model(t, "llama-3.1-8b"), Device: device(t, "a10")})
	within(t, "GB", r.WeightsGB, 16, 0.01)
	within(t, "ms", r.Ms, 27, 0.01)
	within(t, "tokens/s", r.PerS, 37.4, 0.01)
	// Of a mixture of experts only what one token uses is read: 5.0 GB.
	within(t, "gpt-oss-120b", ruleOf(&Setup{Model: model(t, "gpt-oss-120b"), Device: device(t, "h100-sxm")}).WeightsGB, 5.0, 0.02)
}

func TestCriticalBatch(t *testing.T) {
	s := simple()
	// 2 bytes a parameter at 1 TB/s beside 2 operations at 100 TFLOP/s: 100.
	within(t, "dense", criticalBatch(&s), 100, 0.001)
	s.Precision = "int4_g128" // half a byte, bf16 arithmetic
	if b := criticalBatch(&s); math.Abs(b/25.8-1) > 0.02 {
		t.Errorf("4 bits: %g, want about 25.8", b)
	}
	s.Device.DenseTFLOPS = Rates{}
	if b := criticalBatch(&s); b != 0 {
		t.Errorf("no peak: %g", b)
	}
	// A sparse model turns over later, about E/k times if its experts compute at the same rate: here 128/8.
	dense, sparse := Setup{Model: model(t, "qwen3-8b"), Device: device(t, "h100-sxm")}, Setup{Model: model(t, "qwen3-30b-a3b"), Device: device(t, "h100-sxm")}
	dense.Efficiency, sparse.Efficiency = examples(0.8, 0, 1), examples(0.8, 0, 1)
	if r := criticalBatch(&sparse) / criticalBatch(&dense); r < 8 || r > 16 {
		t.Errorf("sparse over dense: %g", r)
	}
}

// max sequences of 2,304 tokens (L4: 1,280), as printed by a program that leaves
// 1.9 GB a GPU for the runtime; here nothing is left out, so a little more fits.
func TestCapacitySequences(t *testing.T) {
	for _, c := range []struct {
		model, device, precision string
		gpus                     int
		context                  float64
		want                     int
	}{
		{"llama-3.1-8b", "h100-sxm", "", 1, 2304, 179}, {"llama-3.1-8b", "h200-sxm", "", 1, 2304, 360},
		{"llama-3.1-70b", "h100-sxm", "", 8, 2304, 555}, {"llama-3.1-70b", "h100-sxm", "fp8", 4, 2304, 275},
		{"mixtral-8x7b", "h100-sxm", "", 2, 2304, 154}, {"deepseek-r1", "h200-sxm", "", 8, 2304, 252},
		{"gpt-oss-120b", "h100-sxm", "", 1, 2304, 54}, {"qwen3-30b-a3b", "h100-sxm", "", 1, 2304, 39},
	} {
		s := Setup{Model: model(t, c.model), Device: device(t, c.device), Precision: c.precision, GPUs: c.gpus}
		got := s.Capacity(c.context)
		runtime := 1.9 * s.gpus() * 1e9 / s.Model.kv(c.context, 2, s.all())
		if want := float64(c.want) + runtime; math.Abs(float64(got.Sequences)-want) > 0.01*want+1 {
			t.Errorf("%s on %s: %d sequences, want about %.0f", c.model, c.device, got.Sequences, want)
		}
		if got.Tokens != s.CapacityTokens() {
			t.Errorf("tokens: %d, %d", got.Tokens, s.CapacityTokens())
		}
	}
}

// A server that was seen to draft has the bound of the same speculation, and none without drafts.
func TestDecodeSpeculated(t *testing.T) {
	s := simple()
	const perStep = 2.7731 // (1−α^(γ+1)) / (1−α) of 0.7 and 4 (Leviathan et al., equation 1)
	loaded := Bound{FloorMs: 50, LowMs: 60, ExpectedMs: 70, HighMs: 80}
	alone, under := s.DecodeSpeculated(1, 100, 4, perStep, loaded)
	plain := s.Decode(1, 100)
	// the verifying step of a dense model in memory's regime costs as much as a plain one
	within(t, "floor", alone.FloorMs, plain.FloorMs/perStep, 1e-9)
	within(t, "under a load", under.HighMs, 80+alone.HighMs-plain.HighMs, 1e-9)
	alone, under = s.DecodeSpeculated(1, 100, 0, 1, loaded)
	within(t, "without drafts", alone.FloorMs, plain.FloorMs, 1e-9)
	within(t, "without drafts, under a load", under.ExpectedMs, 70, 1e-9)
	crowd, _ := s.DecodeSpeculated(100, 0, 4, perStep, loaded)
	within(t, "at the critical batch", crowd.ExpectedMs, 5*s.DecodeMs(100, 0)/perStep, 1e-3)
	moe := Setup{Model: model(t, "qwen3-30b-a3b"), Device: device(t, "h100-sxm")}
	if x, _ := moe.DecodeSpeculated(1, 100, 4, perStep, loaded); x.ExpectedMs < moe.DecodeMs(1, 100)/2 {
		t.Errorf("each drafted token touches experts of its own: %g ms", x.ExpectedMs)
	}
}

func TestUtilisations(t *testing.T) {
	s := simple()
	within(t, "MBU at the floor", s.MBU(1, 0, s.Decode(1, 0).FloorMs), 1, 1e-9)
	within(t, "MBU at half of it", s.MBU(1, 0, 2*s.Decode(1, 0).FloorMs), 0.5, 1e-9)
	mfu, ok := s.MFU(1000, 0)
	within(t, "MFU", mfu, 1000*2*799*4.999e6/100e12, 1e-6)
	if more, _ := s.MFU(1000, 10); !ok || more <= mfu {
		t.Errorf("%g, %g, %v", mfu, more, ok)
	}
	s.Device.DenseTFLOPS = Rates{}
	if _, ok := s.MFU(1, 1); ok {
		t.Error("no peak has an MFU")
	}
}

func TestPlace(t *testing.T) {
	b := Bound{FloorMs: 1, LowMs: 2, ExpectedMs: 3, HighMs: 4}
	for ms, want := range map[float64]Place{0.9: BelowFloor, 1: Fast, 2: Inside, 4: Inside, 4.1: Slow} {
		if got := b.Place(ms); got != want {
			t.Errorf("%g: %s, want %s", ms, got, want)
		}
	}
}

func TestPredictPutsItTogether(t *testing.T) {
	s := Setup{Model: model(t, "gpt-oss-120b"), Device: device(t, "h100-sxm")}
	w := Workload{Input: 2048, Output: 256, Batches: []int{1, 128}}
	if err := w.Check(); err != nil {
		t.Fatal(err)
	}
	p := s.Predict(w)
	if p.Precision != "bf16, experts mxfp4" || p.KVPrecision != "bf16" || p.GPUs != 1 || len(p.Decode) != 2 {
		t.Errorf("%+v", p)
	}
	if d := p.Decode[1]; d.Fits || d.Context != 2176 {
		t.Errorf("batch 128 of 2,304 tokens: %+v", d)
	}
	err := Workload{Input: 10, Cached: 10, Batches: []int{0, 99}}.Check()
	for _, want := range []string{"output is 0", "cached is 10", "batch is 0"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
}

// In MLA 128 heads share one latent vector: at long contexts the arithmetic of
// attention takes longer than reading, on one GPU with a low ridge.
func TestScanOfLatentAttention(t *testing.T) {
	s := Setup{Model: model(t, "deepseek-r1"), Device: Device{ID: "x", BandwidthGBs: 4800, DenseTFLOPS: Rates{BF16: 100}}}
	hidden := map[string]bool{}
	for _, x := range s.Decode(64, 10_000).Terms {
		hidden[x.Name] = x.Hidden
	}
	if !hidden["KV cache"] || hidden["attention"] {
		t.Errorf("%v", hidden)
	}
	// 61 layers · 128 heads · (576 + 512) · 2 operations a token of context.
	within(t, "operations", s.Model.scanFlops(1), 61*128*1088*2, 1e-12)
}

// A chunked layer looks at less than a window of the same size: at 16,384 tokens
// in chunks of 8,192 two triangles.
func TestChunkedAttention(t *testing.T) {
	g := KVGroup{Kind: "chunked", Window: 8192}
	within(t, "two chunks", g.pairs(16384), 2*8192.*8192/2, 1e-12)
	within(t, "within the first", g.pairs(100), 5000, 1e-12)
	within(t, "and a bit", g.pairs(8192+100), 8192.*8192/2+5000, 1e-12)
}

// TestLimitNamed: the text names what keeps requests waiting: the KV cache, or the engine's limit.
func TestLimitNamed(t *testing.T) {
	s := Setup{Model: model(t, "llama-3.1-8b"), Device: device(t, "h100-sxm")}
	for _, c := range []struct {
		maxSeqs, batch int
		want           string
	}{
		{8, 32, "note: max seqs: the engine's limit admits 8 sequences; the others wait"},
		{0, 5000, "note: KV full: the cache holds 333 sequences; the others wait"},
		{600, 5000, "note: KV full: the cache holds 333 sequences; the others wait"},
		{8, 8, ""},
	} {
		var b strings.Builder
		if err := Text(&b, s.Predict(Workload{Input: 1024, Output: 256, MaxSeqs: c.maxSeqs, Batches: []int{c.batch}}), 100); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), c.want) || c.want == "" && strings.Contains(b.String(), "the others wait") {
			t.Errorf("max seqs %d, batch %d: no %q in\n%s", c.maxSeqs, c.batch, c.want, b.String())
		}
	}
}

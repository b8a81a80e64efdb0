package roofline

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func within(t *testing.T, what string, got, want, share float64) {
	t.Helper()
	if math.Abs(got/want-1) > share {
		t.Errorf("%s: got %.4g, want %.4g within %g %%", what, got, want, 100*share)
	}
}

// term is the Ms of a term, 0 if there is none.
func term(b Bound, name string) float64 {
	for _, t := range b.Terms {
		if t.Name == name {
			return t.Ms
		}
	}
	return 0
}

// The rule of thumb: 16 GB of weights at 600 GB/s are 27 ms a token. The
// synthetic model reads exactly 8·10⁹ parameters: 799 layers of 10⁷ (4·1000² of
// attention, 3·1000·2000 of MLP) and an output layer of 10⁷.
func TestRuleOfThumb(t *testing.T) {
	m := Model{ID: "synthetic", Layers: 799, Hidden: 1000, Heads: 10, KVHeads: 10, HeadDim: 100, Intermediate: 2000, Vocab: 10000, TiedEmbeddings: true}
	s := Setup{Model: m, Device: Device{ID: "synthetic", BandwidthGBs: 600}, Efficiency: examples(0.8, 0, 1)}
	if m.Params() != 8e9 {
		t.Fatalf("%d parameters, want 8e9", m.Params())
	}
	b := s.Decode(1, 0)
	within(t, "floor", b.FloorMs, 26.667, 1e-4)
	within(t, "expected", b.ExpectedMs, 26.667/0.8+1, 1e-4)
	if b.Note != "the device's compute peak is unknown: memory bandwidth only" {
		t.Errorf("note %q", b.Note)
	}
}

// examples are the efficiencies of the worked examples: shares of the peaks, a least time of an all-reduce among all
// GPUs (not for each doubling), and 1 ms a step.
func examples(memory, allReduceUs float64, gpus int) *Efficiency {
	e := Efficiency{
		Memory: memory, Compute: Rates{BF16: 0.5, FP8: 0.5, FP4: 0.23, INT8: 0.4}, Experts: 0.5, Attention: 0.5, Link: 0.8, StepMs: 1,
		TTFT: Ranges{Range{0.7, 1.4}, Range{0.6, 1.5}}, TPOT: Ranges{Range{0.8, 1.3}, Range{0.7, 1.4}},
	}
	if gpus > 1 {
		e.AllReduceUs = allReduceUs / math.Log2(float64(gpus))
	}
	return &e
}

// Worked examples that a Python program computed from the same equations and
// printed with two or three digits. Its convention: TPOT at a context of
// exactly the input's length (2,048; on the L4 1,024), TTFT of that input
// without its all-reduces.
func TestWorkedExamples(t *testing.T) {
	for _, c := range []struct {
		model, device, precision string
		gpus                     int
		memory, reduceUs         float64
		input, ttft              float64
		tpot                     [4]float64 // at batch 1, 8, 32, 128
	}{
		{"llama-3.1-8b", "h100-sxm", "", 1, 0.8, 0, 2048, 61, [4]float64{6.7, 7.4, 9.8, 19.4}},
		{"llama-3.1-8b", "h200-sxm", "", 1, 0.8, 0, 2048, 61, [4]float64{5.0, 5.5, 7.1, 13.9}},
		{"llama-3.1-8b", "l4", "", 1, 0.8, 0, 1024, 242, [4]float64{64, 68, 81, 135}},
		{"qwen3-30b-a3b", "h100-sxm", "", 1, 0.8, 0, 2048, 27, [4]float64{3.3, 11.2, 23.2, 33.2}},
		{"mixtral-8x7b", "h100-sxm", "", 2, 0.8, 7, 2048, 54, [4]float64{6.3, 17.5, 20.4, 25.2}},
		// TTFT is printed as 41 and 28: there all layers attend fully, here half
		// of them have a window of 128 (40.1 and 27.0 ms).
		{"gpt-oss-120b", "h100-sxm", "", 1, 0.8, 0, 2048, 40.1, [4]float64{2.9, 7.5, 17.6, 28.3}},
		{"gpt-oss-20b", "h100-sxm", "", 1, 0.8, 0, 2048, 27.0, [4]float64{2.4, 4.6, 6.3, 8.3}},
		{"llama-3.1-70b", "h100-sxm", "", 8, 0.73, 25, 2048, 73, [4]float64{12.1, 12.4, 13.2, 16.5}},
		{"llama-3.1-70b", "h100-sxm", "fp8", 4, 0.8, 20, 2048, 73, [4]float64{10.8, 11.3, 12.8, 18.8}},
	} {
		s := Setup{Model: model(t, c.model), Device: device(t, c.device), GPUs: c.gpus, Precision: c.precision, Efficiency: examples(c.memory, c.reduceUs, c.gpus)}
		name := c.model + " on " + c.device
		prefill := s.Prefill(c.input, 0)
		if c.precision == "fp8" { // the example's attention computes in fp8 too; with a bf16 cache it takes 74.6 ms
			within(t, name+", TTFT with attention in bf16", prefill.ExpectedMs-term(prefill, "all-reduce"), 74.6, 0.002)
			inFP8 := s
			inFP8.KVPrecision = "fp8"
			prefill = inFP8.Prefill(c.input, 0)
		}
		within(t, name+", TTFT", prefill.ExpectedMs-term(prefill, "all-reduce"), c.ttft, 0.02)
		for i, batch := range []float64{1, 8, 32, 128} {
			b := s.Decode(batch, c.input) // the examples count either the least time or the bytes of an all-reduce
			within(t, name+", TPOT", b.ExpectedMs-term(b, "all-reduce")+2*float64(s.Model.Layers)*c.reduceUs/1e3, c.tpot[i], 0.02)
		}
	}
}

// DeepSeek-R1 in fp8 on 8 H200: the example reads the latent cache once (as
// with data-parallel attention), where tensor parallelism reads a copy on each
// GPU; and its TTFT of 21 ms is the compute alone, although reading all experts
// once takes 25 ms.
func TestWorkedExampleDeepSeek(t *testing.T) {
	s := Setup{Model: model(t, "deepseek-r1"), Device: device(t, "h200-sxm"), GPUs: 8, Efficiency: examples(0.7, 25, 8)}
	for batch, want := range map[float64]float64{1: 5.5, 8: 10.2, 32: 20.4, 128: 29.3} {
		b := s.Decode(batch, 2048)
		within(t, "TPOT", b.ExpectedMs-7./8*term(b, "KV cache")-term(b, "all-reduce")+122*0.025, want, 0.02)
	}
	s.KVPrecision = "fp8" // so that attention computes in fp8, as in the example
	b := s.Prefill(2048, 0)
	within(t, "TTFT, compute", term(b, "compute")+term(b, "attention")+1, 21, 0.02)
	within(t, "TTFT, weights", term(b, "weights")+term(b, "experts"), 672.9/(8*4.8*0.7), 0.02)
}

// An all-reduce takes its least time and that of its bytes: 160 · 2 · 7/8 · 2048 · 8192 · 2 bytes at 0.8 · 450 GB/s.
func TestAllReduce(t *testing.T) {
	s := Setup{Model: model(t, "llama-3.1-70b"), Device: device(t, "h100-sxm"), GPUs: 8, Efficiency: examples(0.8, 12, 8)}
	bytesMs := 160 * 2 * 7. / 8 * 2048 * 8192 * 2 / 360e9 * 1e3
	within(t, "at batch 1", term(s.Decode(1, 2048), "all-reduce"), 160*0.012+bytesMs/2048, 1e-6)
	within(t, "prefill", term(s.Prefill(2048, 0), "all-reduce"), 160*0.012+bytesMs, 1e-6)
	s.AttentionDP = true // one of the two all-reduces of a layer
	within(t, "data-parallel attention", term(s.Prefill(2048, 0), "all-reduce"), (160*0.012+bytesMs)/2, 1e-6)
	s.AttentionDP, s.Device.LinkGBs, s.Efficiency.BusAllReduceUs = false, 0, 10
	within(t, "over a bus", term(s.Decode(1, 2048), "all-reduce"), 160*0.030, 1e-6)
}

// By hand: (0.9 · 80e9 − 16,059,990,016) / 131,072 and / 65,536;
// (0.9 · 8 · 141e9 − 672,878,755,840) / (8 · 70,272).
func TestCapacityTokens(t *testing.T) {
	for _, c := range []struct {
		s    Setup
		want int
	}{
		{Setup{Model: model(t, "llama-3.1-8b"), Device: device(t, "h100-sxm")}, 426788},
		{Setup{Model: model(t, "llama-3.1-8b"), Device: device(t, "h100-sxm"), KVPrecision: "fp8"}, 853576},
		{Setup{Model: model(t, "deepseek-r1"), Device: device(t, "h200-sxm"), GPUs: 8}, 608921},
		{Setup{Model: model(t, "llama-3.1-70b"), Device: device(t, "h100-sxm")}, 0},        // doesn't fit
		{Setup{Model: model(t, "llama-3.1-8b"), Device: device(t, "apple-m4-max-40c")}, 0}, // memory unknown
	} {
		if got := c.s.CapacityTokens(); got != c.want {
			t.Errorf("%s on %s: %d tokens, want %d", c.s.Model.ID, c.s.Device.ID, got, c.want)
		}
	}
	if note := (Setup{Model: model(t, "llama-3.1-70b"), Device: device(t, "h100-sxm")}).Decode(1, 1).Note; note != "the weights do not fit: 141.1 GB, but the memory is 80 GB" {
		t.Errorf("note %q", note)
	}
}

func TestPrecisionPicksBytesAndRate(t *testing.T) {
	llama, oss := model(t, "llama-3.1-8b"), model(t, "gpt-oss-120b")
	h100, a100, b200 := device(t, "h100-sxm"), device(t, "a100-sxm-80gb"), device(t, "b200-sxm")
	rate := func(s Setup) float64 {
		s.Efficiency = examples(0.8, 0, 1)
		for _, t := range s.Prefill(100000, 0).Terms {
			if t.Name == "compute" {
				return t.Rate
			}
		}
		return 0
	}
	within(t, "fp8 on H100", rate(Setup{Model: llama, Device: h100, Precision: "FP8"}), 1979*0.5, 1e-9)
	within(t, "fp8 on A100, which has none", rate(Setup{Model: llama, Device: a100, Precision: "fp8"}), 312*0.5*1.12, 1e-9)
	within(t, "4-bit weights only", rate(Setup{Model: llama, Device: b200, Precision: "int4_g128"}), 2250*0.5, 1e-9)
	if r := rate(Setup{Model: oss, Device: b200}); r <= 2250*0.5 || r >= 9000*0.5 {
		t.Errorf("experts in fp4 beside attention in bf16: %g TFLOP/s", r)
	}
	within(t, "fp8 weights", Setup{Model: llama, Precision: "fp8"}.WeightBytes(), 8029995008+1050673152, 1e-9)
	within(t, "q8_0 weights", Setup{Model: llama, Precision: "q8_0"}.WeightBytes(), 8029995008*34./32, 1e-9)
}

func TestCheckReportsEveryMistake(t *testing.T) {
	s := Setup{Model: model(t, "llama-3.1-8b"), Device: device(t, "h100-sxm")}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	bad := Setup{GPUs: -1, Precision: "fp9", KVPrecision: "fp7", Efficiency: &Efficiency{}}
	err := bad.Check()
	for _, want := range []string{`model "": layers is 0`, `device "": id is missing`, "gpus is -1", `precision is "fp9"`, `KV precision is "fp7"`, "efficiency: memory is missing"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	if b := bad.Decode(1, 1); b.ExpectedMs != 0 || !strings.HasPrefix(b.Note, "no roofline: model") || strings.Contains(b.Note, "\n") {
		t.Errorf("got %+v", b)
	}
}

func TestBoundJSON(t *testing.T) {
	b := Setup{Model: model(t, "llama-3.1-8b"), Device: device(t, "h100-sxm"), Efficiency: examples(0.8, 0, 1)}.Decode(128, 2048)
	data, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{`{"floor_ms":14.`, `,"low_ms":`, `,"expected_ms":19.4`, `,"high_ms":`, `"terms":[{"name":"weights","of":"7.505 G parameters","amount":15.0`, `"unit":"GB","rate":2680,"rate_unit":"GB/s","ms":5.6`, `"hidden":true`} {
		if !strings.Contains(string(data), key) {
			t.Errorf("no %s in %s", key, data)
		}
	}
}

// setups draws any shipped model on any shipped device.
func setups(t *testing.T) *rapid.Generator[Setup] {
	models, devices := table(t), BuiltinHardware().Devices
	return rapid.Custom(func(t *rapid.T) Setup {
		return Setup{
			Model:       rapid.SampledFrom(models).Draw(t, "model"),
			Device:      rapid.SampledFrom(devices).Draw(t, "device"),
			GPUs:        rapid.SampledFrom([]int{0, 1, 2, 3, 4, 8, 16, 72}).Draw(t, "gpus"),
			Precision:   rapid.SampledFrom(append(PrecisionNames(), "")).Draw(t, "precision"),
			KVPrecision: rapid.SampledFrom([]string{"", "fp8", "q8_0"}).Draw(t, "kv"),
		}
	})
}

func TestBoundProperties(t *testing.T) {
	gen := setups(t)
	rapid.Check(t, func(t *rapid.T) {
		s := gen.Draw(t, "setup")
		batch := rapid.Float64Range(0, 1000).Draw(t, "batch")
		context := rapid.Float64Range(-1, 200_000).Draw(t, "context")
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
		decode, prefill := s.Decode(batch, context), s.Prefill(context, batch)
		checkArithmetic(t, decode, s.DecodeMs(batch, context))
		checkArithmetic(t, prefill, s.PrefillMs(context, batch)+s.FrontEndMs())
		less := func(a, b float64) bool { return a < b*(1-1e-12) } // beyond rounding
		if more := s.Decode(batch+1, context+1); less(more.FloorMs, decode.FloorMs) || less(more.ExpectedMs, decode.ExpectedMs) {
			t.Errorf("more work takes less time: %+v, %+v", decode, more)
		}
		if longer := s.Prefill(context+1, batch); less(longer.FloorMs, prefill.FloorMs) || less(longer.ExpectedMs, prefill.ExpectedMs) {
			t.Errorf("a longer prompt takes less time: %+v, %+v", prefill, longer)
		}
	})
}

func checkArithmetic(t *rapid.T, b Bound, ms float64) {
	sum := 0.0
	for _, x := range b.Terms {
		if math.Abs(1e3*x.Amount/x.Rate-x.Ms) > 1e-9*x.Ms {
			t.Errorf("%s: 1000·%g/%g is not %g ms", x.Name, x.Amount, x.Rate, x.Ms)
		}
		if !x.Hidden {
			sum += x.Ms
		}
	}
	if math.Abs(sum-b.ExpectedMs) > 1e-9*sum || math.Abs(ms-b.ExpectedMs) > 1e-9*sum {
		t.Errorf("terms add up to %g, expected is %g or %g ms", sum, b.ExpectedMs, ms)
	}
	if !(b.FloorMs > 0 && b.FloorMs <= b.LowMs && b.LowMs <= b.ExpectedMs && b.ExpectedMs <= b.HighMs) {
		t.Errorf("floor %g, low %g, expected %g, high %g ms", b.FloorMs, b.LowMs, b.ExpectedMs, b.HighMs)
	}
}

// A prompt with all but the last token cached is one decode step.
func TestFullHitIsADecodeStep(t *testing.T) {
	s := Setup{Model: model(t, "llama-3.1-8b"), Device: device(t, "h100-sxm")}
	within(t, "TTFT", s.PrefillMs(10001, 10000), s.DecodeMs(1, 10000), 1e-9)
	if a, b := s.PrefillMs(100, 1e9), s.PrefillMs(100, 99); a != b {
		t.Errorf("more cached than there is: %g ms, want %g", a, b)
	}
	if a, b := s.DecodeMs(math.NaN(), math.NaN()), s.DecodeMs(1, 0); a != b {
		t.Errorf("the mean of nothing: %g ms, want %g", a, b)
	}
}

// DeepSeek-V3.2 reads at most 2,048 latent vectors (1,152 bytes) and all indexer
// keys (132 bytes) in each of 61 layers.
func TestSparseAttentionReadsItsTopK(t *testing.T) {
	m := model(t, "deepseek-v3.2")
	within(t, "bytes read", m.kvRead(100_000, 2, 1), 61*(2048*1152+100_000*132), 1e-12)
	within(t, "bytes held", m.kv(100_000, 2, 1), 61*100_000*(1152+132), 1e-12)
}

func TestMsDoNotAllocate(t *testing.T) {
	for _, name := range []string{"llama-3.1-8b", "gpt-oss-120b", "deepseek-v3.2", "qwen3-next-80b-a3b"} {
		s := Setup{Model: model(t, name), Device: device(t, "h200-sxm"), GPUs: 8}
		if n := testing.AllocsPerRun(100, func() { s.DecodeMs(64, 2048); s.PrefillMs(2048, 16) }); n != 0 {
			t.Errorf("%s: %g allocations", name, n)
		}
	}
}

func BenchmarkDecodeMs(b *testing.B) {
	s := Setup{Model: model(b, "gpt-oss-120b"), Device: device(b, "h100-sxm")}
	for b.Loop() {
		s.DecodeMs(64, 2048)
	}
}

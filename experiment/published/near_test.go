package published

import (
	"math"
	"slices"
	"strings"
	"testing"
	"testing/quick"
)

// TestNearFindsPublishedPoints: lines of the sources, read by hand, which a query of their setup finds.
func TestNearFindsPublishedPoints(t *testing.T) {
	const (
		llama8, llama70, llama405 = "meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-70B-Instruct", "meta-llama/Llama-3.1-405B-Instruct"
		gptOSS, r1, qwen          = "openai/gpt-oss-120b", "deepseek-ai/DeepSeek-R1", "Qwen/Qwen3.5-397B-A17B"
	)
	for _, c := range []struct {
		model, precision, gpu            string
		gpus, input, output, concurrency int
		ttft, tpot, perGPU               float64
		engine, version, date            string
	}{
		{llama70, "fp8", "h100-sxm", 8, 1024, 8192, 4, 73.08, 9.195, 0, "vllm", "", "2025-10-29"},
		{llama70, "nvfp4", "b200-sxm", 4, 1024, 1024, 4, 78.348, 7.235, 0, "vllm", "", "2025-10-29"},
		{llama70, "fp8", "b200-sxm", 2, 1024, 1024, 8, 272.373, 9.784, 0, "trtllm", "", "2025-10-29"},
		{llama70, "fp8", "h200-sxm", 4, 1024, 1024, 32, 368.178, 10.634, 0, "trtllm", "", "2025-10-29"},
		{llama70, "fp8", "h200-sxm", 8, 8192, 1024, 8, 394.916, 10.08, 0, "vllm", "", "2025-10-29"},
		{gptOSS, "mxfp4", "b200-sxm", 4, 1024, 8192, 8, 44.0, 2.702, 0, "trtllm", "1.2.0rc2.post2", "2026-02-05"},
		{gptOSS, "mxfp4", "h200-sxm", 2, 8192, 1024, 32, 488.634, 14.528, 0, "trtllm", "", "2025-11-02"},
		{gptOSS, "mxfp4", "h100-sxm", 8, 8192, 1024, 16, 209.994, 5.787, 0, "vllm", "0.18.0", "2026-03-27"},
		{gptOSS, "mxfp4", "b200-sxm", 2, 8192, 1024, 32, 182.581, 6.849, 0, "vllm", "0.15.1", "2026-02-25"},
		{gptOSS, "mxfp4", "h200-sxm", 2, 1024, 8192, 16, 88.119, 7.449, 0, "vllm", "0.18.0", "2026-03-27"},
		{r1, "fp8", "b200-sxm", 8, 1024, 1024, 128, 879.109, 20.49, 0, "trtllm", "1.2.0rc6.post3", "2026-02-05"},
		{r1, "fp8", "b200-sxm", 8, 8192, 1024, 8, 606.629, 10.269, 0, "sglang", "0.5.9", "2026-03-25"},
		{r1, "fp8", "h200-sxm", 8, 1024, 1024, 32, 337.535, 23.307, 0, "sglang", "0.5.9", "2026-03-25"},
		{r1, "fp8", "h200-sxm", 8, 8192, 1024, 16, 793.931, 17.639, 0, "trtllm", "1.1.0rc2.post2", "2026-01-14"},
		{qwen, "fp8", "b200-sxm", 4, 1024, 1024, 16, 600.76, 10.02, 0, "sglang", "0.5.9", "2026-03-20"},
		{qwen, "fp8", "h200-sxm", 8, 1024, 8192, 32, 341.33, 16.518, 0, "sglang", "0.5.9", "2026-03-04"},
		{llama70, "nvfp4", "rtx-pro-6000-blackwell-server", 1, 8192, 1024, 0, 0, 0, 296, "trtllm", "", ""},
		{llama70, "fp8", "h100-sxm", 2, 1000, 1000, 0, 0, 0, 2209, "trtllm", "", ""},
		{gptOSS, "mxfp4", "gb200-nvl72", 1, 1024, 32768, 0, 0, 0, 5556, "trtllm", "", ""},
		{llama405, "fp8", "h200-sxm", 8, 0, 0, 0, 0, 0, 202.8 / 8, "tensorrt", "10.11", "2025-09"},
		{llama8, "fp8", "h100-sxm", 1, 0, 0, 0, 0, 0, 5104, "vllm", "0.10.0", "2025-09"},
		{llama8, "fp8", "l40s", 1, 0, 0, 0, 0, 0, 1642.2, "vllm", "0.10.0", "2025-09"},
		{llama8, "nvfp4", "b200-sxm", 8, 0, 0, 0, 0, 0, 145789. / 8, "tensorrt", "10.11", "2025-09"},
	} {
		q := Query{Model: c.model, Precision: c.precision, GPU: c.gpu, GPUs: c.gpus, Input: float64(c.input), Output: float64(c.output), Concurrency: float64(c.concurrency)}
		found := Near(q)
		if c.input == 0 {
			found = InDataSets(q)
		}
		equal := func(a, b float64) bool { return math.Abs(a-b) < 0.0101 }
		if !slices.ContainsFunc(found, func(f Figure) bool {
			return f.Concurrency == c.concurrency && equal(f.TTFTMs, c.ttft) && equal(f.TPOTMs, c.tpot) && equal(f.OutputPerGPU, c.perGPU) &&
				f.Engine == c.engine && f.Version == c.version && f.Date == c.date
		}) {
			t.Errorf("%+v:\nfound %+v", c, found)
		}
	}
}

// a curve of two engines, one of them with two figures at one concurrency, and a highest throughput.
var curve = func() []Figure {
	base := Figure{Source: "s", Model: "m", Precision: "fp8", GPU: "g", GPUs: 1, ExpertParallel: 1, Input: 1000, Output: 100}
	var all []Figure
	add := func(engine, date string, concurrency int, tpot float64) {
		f := base
		f.Engine, f.Date, f.Concurrency, f.TTFTMs, f.TPOTMs = engine, date, concurrency, 10*tpot, tpot
		all = append(all, f)
	}
	for _, c := range []int{4, 8, 16, 64} {
		add("sglang", "2026-01-01", c, 10)
		add("vllm", "2025-12-01", c, 12)
	}
	add("vllm", "2026-02-01", 16, 14)
	add("vllm", "2026-02-01", 16, 13)
	add("sglang", "2026-03-01", 16, 5)
	all[len(all)-1].Input = 1050
	most := base
	most.Engine, most.OutputPerGPU = "trtllm", 1000
	return append(all, most)
}()

func TestNear(t *testing.T) {
	type found struct {
		engine      string
		concurrency int
		tpot        float64
	}
	base := Query{Model: "m", Precision: "fp8", GPU: "g", GPUs: 1, Input: 1000, Output: 100, Concurrency: 16, Engine: "vllm"}
	most := found{"trtllm", 0, 0}
	for _, c := range []struct {
		name   string
		change func(*Query)
		want   []found
	}{
		{"own engine first, the newest figure, of these the fastest", func(*Query) {}, []found{{"vllm", 16, 13}, {"sglang", 16, 10}, most}},
		{"engine not known", func(q *Query) { q.Engine = "" }, []found{{"sglang", 16, 10}, most, {"vllm", 16, 13}}},
		{"within a tenth", func(q *Query) { q.Concurrency = 17.5 }, []found{{"vllm", 16, 13}, {"sglang", 16, 10}, most}},
		{"between two: both", func(q *Query) { q.Concurrency = 19 }, []found{{"vllm", 16, 13}, {"vllm", 64, 12}, {"sglang", 16, 10}, {"sglang", 64, 10}, most}},
		{"below all: the lowest", func(q *Query) { q.Concurrency = 1 }, []found{{"vllm", 4, 12}, {"sglang", 4, 10}, most}},
		{"above all: the highest", func(q *Query) { q.Concurrency = 500 }, []found{{"vllm", 64, 12}, {"sglang", 64, 10}, most}},
		{"no concurrency: the highest throughput", func(q *Query) { q.Concurrency = 0 }, []found{most}},
		{"lengths within a tenth, the nearest count", func(q *Query) { q.Input, q.Output = 910, 109 }, []found{{"vllm", 16, 13}, {"sglang", 16, 10}, most}},
		{"another input", func(q *Query) { q.Input = 1156 }, nil},
		{"another output", func(q *Query) { q.Output = 89 }, nil},
		{"no lengths", func(q *Query) { q.Input, q.Output = 0, 0 }, nil},
		{"another model", func(q *Query) { q.Model = "M" }, nil},
		{"another precision", func(q *Query) { q.Precision = "bf16" }, nil},
		{"another GPU", func(q *Query) { q.GPU = "h" }, nil},
		{"another number of GPUs", func(q *Query) { q.GPUs = 2 }, nil},
	} {
		q := base
		c.change(&q)
		var got []found
		for _, f := range near(curve, q) {
			got = append(got, found{f.Engine, f.Concurrency, f.TPOTMs})
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// TestNearMeanLengths: requests of 80 to 100 % of 1,000 tokens have 900 in the mean, which counts; so does what the
// source states.
func TestNearMeanLengths(t *testing.T) {
	spread := curve[0]
	spread.LeastLength, spread.Output = 0.8, 1000
	for length, want := range map[float64]int{809: 0, 811: 1, 900: 1, 989: 1, 1000: 1, 1009: 1, 1011: 0, 1050: 0} {
		q := Query{Model: "m", Precision: "fp8", GPU: "g", GPUs: 1, Input: length, Output: length, Concurrency: 4}
		if got := near([]Figure{spread}, q); len(got) != want {
			t.Errorf("lengths of %g tokens have %d figures, want %d", length, len(got), want)
		}
	}
	if spread.MeanInput() != 900 || spread.MeanOutput() != 900 || curve[0].MeanInput() != 1000 {
		t.Errorf("means are %g, %g and %g", spread.MeanInput(), spread.MeanOutput(), curve[0].MeanInput())
	}
	same := Query{Model: "m", Precision: "fp8", GPU: "g", GPUs: 1, Input: 1000, Output: 1000, Concurrency: 4}
	exact := spread
	exact.LeastLength, exact.TPOTMs = 0, 11
	if got := near([]Figure{spread, exact}, same); len(got) != 1 || got[0].TPOTMs != 11 {
		t.Errorf("the figure of the same mean is nearer: %+v", got)
	}
}

// TestInferenceXLengths: the built-in figures of InferenceX are those of its recipes' lengths.
func TestInferenceXLengths(t *testing.T) {
	q := Query{Model: "deepseek-ai/DeepSeek-R1", Precision: "fp8", GPU: "h200-sxm", GPUs: 8, Concurrency: 16}
	for length, want := range map[float64]int{830: 3, 921: 3, 1024: 3, 1100: 0} {
		q.Input, q.Output = length, length
		if got := Near(q); len(got) != want {
			t.Errorf("lengths of %g tokens have %d figures, want %d", length, len(got), want)
		}
	}
	q.Input, q.Output = 1024, 1024
	var all []Compared
	for _, f := range Near(q) {
		all = append(all, f.Beside(Own{}))
	}
	if got, want := LengthsNote(all), "InferenceX: lengths 80–100 % of 1,024/1,024"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestMeasured: figures of another model of the same shape say so.
func TestMeasured(t *testing.T) {
	q := Query{Model: "moonshotai/Kimi-K2-Instruct", Precision: "nvfp4", GPU: "b200-sxm", GPUs: 4, Input: 1024, Output: 1024, Concurrency: 8, Engine: "vllm"}
	got := Near(q)
	if len(got) == 0 {
		t.Fatal("no figure")
	}
	for _, f := range got {
		if from := f.From(); f.Measured != "Kimi-K2.5" || !strings.HasPrefix(from, "InferenceX, Kimi-K2.5") {
			t.Errorf("%q is from %q", f.Measured, from)
		}
	}
}

// TestNearIsNearest: no figure of an engine that Near leaves out is nearer than one that it returns on that side.
func TestNearIsNearest(t *testing.T) {
	holds := func(seed uint16) bool {
		c := 0.5 + float64(seed%2000)/10
		q := Query{Model: "deepseek-ai/DeepSeek-R1", Precision: "fp8", GPU: "h200-sxm", GPUs: 8, Input: 1024, Output: 1024, Concurrency: c}
		got := Near(q)
		if len(got) == 0 {
			return false
		}
		for _, f := range got {
			for _, other := range All() {
				if other.layout() == f.layout() && q.matches(other) && other.Concurrency > 0 &&
					min(float64(f.Concurrency), c) < float64(other.Concurrency) && float64(other.Concurrency) < max(float64(f.Concurrency), c) {
					return false
				}
			}
		}
		return true
	}
	if err := quick.Check(holds, nil); err != nil {
		t.Error(err)
	}
}

func TestBeside(t *testing.T) {
	f := Figure{TTFTMs: 100, TPOTMs: 10}
	got := f.Beside(Own{TPOTMs: 13, OutputPerGPU: 5})
	if got.TTFTRatio != nil || got.OutputRatio != nil || got.TPOTRatio == nil || *got.TPOTRatio != 1.3 {
		t.Errorf("got %+v", got)
	}
	for ratio, want := range map[float64]string{1: "as published", 1.004: "as published", 1.06: "6 % slower", 0.8: "20 % faster", 2.5: "2.50 times the published", 0.1: "90 % faster"} {
		if got := Slower(ratio); got != want {
			t.Errorf("Slower(%g) = %q, want %q", ratio, got, want)
		}
	}
}

func TestShapesOf(t *testing.T) {
	q := Query{Model: "meta-llama/Llama-3.1-70B-Instruct", Precision: "fp8", GPU: "h100-sxm", GPUs: 2}
	if got := ShapesOf(q).String(); got != "13 figures: fp8 on 2 GPUs at 1,024/1,024, 1,024/8,192, 8,192/1,024, 1,000/1,000 tokens" {
		t.Errorf("got %s", got)
	}
	q.Precision = "bf16"
	if got := ShapesOf(q); got == nil || len(got.GPUs) < 3 {
		t.Errorf("of the other setups: got %v", got)
	}
	q.GPU = "a10"
	if got := ShapesOf(q); got != nil {
		t.Errorf("got %v", got)
	}
}

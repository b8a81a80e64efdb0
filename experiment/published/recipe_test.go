package published

import "testing"

func TestRecipe(t *testing.T) {
	figure := func(source, model, precision, gpu, engine, version string, concurrency int) Figure {
		return Figure{Source: source, Model: model, Precision: precision, GPU: gpu, GPUs: 4,
			Input: 1024, Output: 1024, Engine: engine, Version: version, Concurrency: concurrency}
	}
	const r1, kimi = "deepseek-ai/DeepSeek-R1", "moonshotai/Kimi-K2-Instruct"
	for _, c := range []struct {
		figure Figure
		want   Recipe
	}{
		{figure("aiconfigurator", "Qwen/Qwen3-32B", "fp8", "h100-sxm", "trtllm", "1.0.0rc3", 64), Recipe{}},
		{figure("aiconfigurator", llama, "fp8", "b200-sxm", "sglang", "", 64), Recipe{}},
		{figure("inferencex", llama, "fp8", "h100-sxm", "vllm", "", 1), Recipe{"fp8", 0, 0}},
		{figure("inferencex", llama, "fp8", "h200-sxm", "trtllm", "", 41), Recipe{"fp8", 20, 2}},
		{figure("inferencex", r1, "fp8", "h200-sxm", "sglang", "0.5.9", 21), Recipe{"", 0, 1}},
		{figure("inferencex", r1, "fp8", "h200-sxm", "trtllm", "", 21), Recipe{"fp8", 0, 1}},
		{figure("inferencex", r1, "fp8", "b200-sxm", "sglang", "0.5.9", 11), Recipe{"fp8", 5, 0.5}},
		{figure("inferencex", r1, "nvfp4", "b200-sxm", "sglang", "0.5.9", 21), Recipe{"fp8", 15, 1}},
		{figure("inferencex", qwen, "fp8", "b200-sxm", "sglang", "0.5.9", 11), Recipe{"fp8", 15, 0.5}},
		{figure("inferencex", qwen, "bf16", "b200-sxm", "sglang", "0.5.9", 11), Recipe{"", 5, 0.5}},
		{figure("inferencex", glm, "fp8", "b200-sxm", "sglang", "", 21), Recipe{"fp8", 0, 1}},
		{figure("inferencex", kimi, "int4_g32", "b200-sxm", "vllm", "0.15.1", 21), Recipe{"", 0, 1}},
		{figure("inferencex", miniMax, "fp8", "b200-sxm", "vllm", "0.17.0", 21), Recipe{"", 0, 1}},
		{figure("inferencex", miniMax, "fp8", "b300-sxm", "vllm", "0.19.0", 21), Recipe{"fp8", 0, 1}},
		{figure("inferencex", miniMax, "fp8", "h200-sxm", "vllm", "0.18.0", 21), Recipe{"", 0, 1}},
	} {
		if got := c.figure.Recipe(); got != c.want {
			t.Errorf("%+v: got %+v, want %+v", c.figure, got, c.want)
		}
	}
}

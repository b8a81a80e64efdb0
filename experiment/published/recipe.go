package published

type Recipe struct {
	KV      string  // precision of the KV cache; "" = the default for the weights
	Steps   float64 // decode steps that a request waits until the scheduler takes it, mean
	Prompts float64 // prompts that a request waits for, since they started together with it, mean
}

// Recipe is what the InferenceX benchmark does, by its recipes (github.com/SemiAnalysisAI/InferenceX, benchmarks/,
// 2025-10 to 2026-08): the first of 10 · concurrency requests start together. Of other sources nothing is known.
func (f Figure) Recipe() Recipe {
	if f.Source != "inferencex" {
		return Recipe{}
	}
	return Recipe{KV: cacheOf(f), Steps: stepsOf(f), Prompts: together(f.Concurrency)}
}

// together is (c − 1)/2 for one request in ten.
func together(concurrency int) float64 { return float64(concurrency-1) / 20 }

// cacheOf is the --kv-cache-dtype: fp8 in all of Llama's recipes, in those of R1 on TensorRT-LLM, and in those of
// 8- and 4-bit models on Blackwell, but for Kimi's of int4 and MiniMax's first ones.
func cacheOf(f Figure) string {
	blackwell := f.GPU == "b200-sxm" || f.GPU == "b300-sxm"
	auto := f.Precision == "bf16" || f.Precision == "int4_g32" || f.Model == miniMax && f.Version == "0.17.0"
	if f.Model == llama || blackwell && !auto || f.Engine == "trtllm" && f.Precision == "fp8" {
		return "fp8"
	}
	return ""
}

const (
	llama   = "meta-llama/Llama-3.1-70B-Instruct"
	qwen    = "Qwen/Qwen3.5-397B-A17B"
	glm     = "zai-org/GLM-5"
	miniMax = "MiniMaxAI/MiniMax-M2.5"
)

// stepsOf is half the steps between two looks for new requests: --scheduler-recv-interval of SGLang on B200 (10 at
// low concurrency, else 30; not in GLM's recipes), and batch_wait_timeout_iters of TensorRT-LLM.
func stepsOf(f Figure) float64 {
	switch {
	case f.Engine == "sglang" && f.GPU == "b200-sxm" && f.Model != glm:
		few := 16
		if f.Model == qwen && f.Precision != "bf16" {
			few = 5
		}
		if f.Concurrency < few {
			return 5
		}
		return 15
	case f.Engine == "trtllm" && f.Model == llama && f.GPUs < 8 && f.Input == 1024 && f.Output == 1024:
		return 20
	}
	return 0
}

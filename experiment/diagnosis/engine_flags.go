package diagnosis

import "bench/experiment/record"

type engineSetting struct {
	name  string
	flags map[string]string // by engine, as telemetry.ServerReading names it; an engine without one is missing
}

// Sources: vLLM 0.32 vllm serve --help, SGLang server_args.py, llama.cpp llama-server --help, TensorRT-LLM
// trtllm-serve --help.
var (
	batchLimit = engineSetting{"the batch limit", map[string]string{
		"vllm": "--max-num-seqs", "sglang": "--max-running-requests", "llamacpp": "--parallel",
		"trtllm": "--max_batch_size"}}
	stepBudget = engineSetting{"the token budget of a step", map[string]string{
		"vllm": "--max-num-batched-tokens", "sglang": "--chunked-prefill-size", "llamacpp": "--batch-size",
		"trtllm": "--max_num_tokens"}}
	cacheMemory = engineSetting{"the memory of the KV cache", map[string]string{
		"vllm": "--gpu-memory-utilization", "sglang": "--mem-fraction-static",
		"trtllm": "--kv_cache_free_gpu_memory_fraction"}}
	tensorParallel = engineSetting{"tensor parallelism", map[string]string{
		"vllm": "--tensor-parallel-size", "sglang": "--tp-size", "trtllm": "--tp_size"}}
	prefixCaching = engineSetting{"prefix caching", map[string]string{"vllm": "--enable-prefix-caching"}}
	apiProcesses  = engineSetting{"API server processes", map[string]string{"vllm": "--api-server-count"}}
)

func (s engineSetting) of(engine string) string {
	if flag := s.flags[engine]; flag != "" {
		return s.name + " (" + flag + ")"
	}
	return s.name
}

func engineOf(r *record.Row) string {
	if r.Server.Metrics == nil {
		return ""
	}
	return r.Server.Metrics.Engine
}

func (v *pointMetrics) engine() string { return engineOf(v.p.Rows[0]) }

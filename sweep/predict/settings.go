package predict

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"bench/experiment/mock"
	"bench/sweep/matrix"
)

// numbers are the engine flags with a number that the simulated engine has, by their names with underscores. Sources:
// vLLM 0.32 vllm serve --help, SGLang server_args.py, TensorRT-LLM trtllm-serve --help.
var numbers = map[string]func(*mock.Config) *int{
	"max_num_seqs max_running_requests max_batch_size": func(c *mock.Config) *int { return &c.MaxNumSeqs },
	"max_num_batched_tokens chunked_prefill_size max_num_tokens": func(c *mock.Config) *int {
		return &c.MaxNumBatchedTokens
	},
	"max_model_len context_length max_seq_len": func(c *mock.Config) *int { return &c.MaxModelLen },
	"num_gpu_blocks_override":                  func(c *mock.Config) *int { return &c.KVBlocks },
	"block_size page_size":                     func(c *mock.Config) *int { return &c.BlockSize },
	"tensor_parallel_size tp_size tp":          func(c *mock.Config) *int { return &c.GPUs },
}

// set puts a flag into the config; of an unknown one, or a wrong value, it changes nothing.
func set(c *mock.Config, name, value string) {
	switch name {
	case "kv_cache_dtype":
		kvPrecision(c, value)
	case "enable_prefix_caching", "no_enable_prefix_caching", "disable_radix_cache":
		// alone, or with true or false behind
		stated, err := strconv.ParseBool(value)
		c.NoPrefixCaching = (name == "enable_prefix_caching") == (err == nil && !stated)
	}
	for names, of := range numbers {
		if n, err := strconv.Atoi(value); err == nil && n > 0 && slices.Contains(strings.Fields(names), name) {
			*of(c) = n
		}
	}
}

func kvPrecision(c *mock.Config, value string) {
	switch {
	case value == "auto" || value == "bfloat16" || value == "bf16":
		c.KVPrecision = ""
	case strings.HasPrefix(value, "fp8"): // fp8_e4m3, fp8_e5m2
		c.KVPrecision = "fp8"
	}
}

// lacked are the beginnings of engine flags, by their names with underscores, that change how long a step takes or
// how many requests fit, which the simulated engine lacks. Sources as for settings.
var lacked = []string{
	"attention_backend", "compilation_config", "cpu_offload", "cuda_graph", "data_parallel", "decode_context_parallel",
	"disable_cuda_graph", "disable_overlap_schedule", "dp", "enable_chunked_prefill", "enable_dbo",
	"enable_dp_attention", "enable_eplb", "enable_expert_parallel", "enable_lora", "enable_torch_compile",
	"enforce_eager", "ep", "expert_parallel", "gpu_memory_utilization", "hf_overrides",
	"kv_cache_free_gpu_memory_fraction", "kv_transfer_config", "max_num_partial_prefills", "mem_fraction_static",
	"no_async_scheduling", "no_enable_chunked_prefill", "pipeline_parallel", "pp", "quantization", "schedule_policy",
	"scheduling_policy", "speculative", "swap_space",
}

type flag struct{ name, value string }

// flagsOf are the flags among the words of a command: "--max-num-seqs 32", "--max-num-seqs=32" or "--enforce-eager".
// Their names have underscores.
func flagsOf(command []string) []flag {
	var flags []flag
	for i, word := range command {
		name, isFlag := strings.CutPrefix(word, "-")
		if !isFlag {
			continue
		}
		name, value, joined := strings.Cut(strings.TrimPrefix(name, "-"), "=")
		if !joined && i+1 < len(command) && !strings.HasPrefix(command[i+1], "-") {
			value = command[i+1]
		}
		if key, own := strings.CutPrefix(value, "mock."); own && name == "set" { // of bench mock
			name, value, _ = strings.Cut(key, "=")
		}
		flags = append(flags, flag{strings.ReplaceAll(name, "-", "_"), value})
	}
	return flags
}

// ignored are the flags of a command that change step times or limits, and change nothing in the simulated engine.
func ignored(command []string) []string {
	var names []string
	for _, f := range flagsOf(command) {
		if slices.ContainsFunc(lacked, func(begin string) bool { return strings.HasPrefix(f.name+"_", begin+"_") }) {
			names = append(names, "--"+strings.ReplaceAll(f.name, "_", "-"))
		}
	}
	return names
}

func apply(c *mock.Config, command []string) {
	for _, f := range flagsOf(command) {
		set(c, f.name, f.value)
	}
}

// unknownKnobs are the knobs of a variant that have another value than in the first one, and that change nothing in the
// simulated engine.
func unknownKnobs(m *matrix.Matrix, base mock.Config, v *matrix.Variant) []string {
	var unknown []string
	first := m.Variants[0].Settings
	for i, s := range v.Settings {
		if s == first[i] {
			continue
		}
		without := slices.Clone(v.Settings)
		without[i] = first[i]
		with, other := base, base
		apply(&with, m.Server.Config(v.Settings).Command)
		apply(&other, m.Server.Config(without).Command)
		if reflect.DeepEqual(with, other) {
			unknown = append(unknown, s.Knob)
		}
	}
	return unknown
}

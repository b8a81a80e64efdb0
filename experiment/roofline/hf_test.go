package roofline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// repeated is a JSON list of layer types.
func repeated(n int, types ...string) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("%q", types[i%len(types)]))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// hfConfigs are the keys about shape of the models' config.json files, with some others; the table has the
// same models from other sources.
var hfConfigs = map[string]string{
	"meta-llama/Llama-3.1-8B-Instruct": `{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
		"num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "max_position_embeddings": 131072, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
		"attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 128000, "eos_token_id": [128001, 128008], "hidden_act": "silu", "initializer_range": 0.02, "mlp_bias": false,
		"pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_scaling": {"factor": 8.0, "rope_type": "llama3"}, "rope_theta": 500000.0, "transformers_version": "4.42.3", "use_cache": true}`,
	"Qwen/Qwen2.5-7B-Instruct": `{"model_type": "qwen2", "hidden_size": 3584, "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4, "intermediate_size": 18944,
		"vocab_size": 152064, "max_position_embeddings": 32768, "max_window_layers": 28, "sliding_window": 131072, "use_sliding_window": false, "torch_dtype": "bfloat16"}`,
	"mistralai/Mixtral-8x7B-Instruct-v0.1": `{"model_type": "mixtral", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
		"intermediate_size": 14336, "vocab_size": 32000, "max_position_embeddings": 32768, "num_local_experts": 8, "num_experts_per_tok": 2, "sliding_window": null, "router_aux_loss_coef": 0.02, "torch_dtype": "bfloat16"}`,
	"Qwen/Qwen3-30B-A3B-Instruct-2507": `{"model_type": "qwen3_moe", "hidden_size": 2048, "num_hidden_layers": 48, "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128,
		"intermediate_size": 6144, "moe_intermediate_size": 768, "num_experts": 128, "num_experts_per_tok": 8, "decoder_sparse_step": 1, "mlp_only_layers": [], "norm_topk_prob": true,
		"vocab_size": 151936, "max_position_embeddings": 262144, "max_window_layers": 48, "sliding_window": null, "use_sliding_window": false, "torch_dtype": "bfloat16"}`,
	"openai/gpt-oss-120b": `{"model_type": "gpt_oss", "hidden_size": 2880, "num_hidden_layers": 36, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64, "intermediate_size": 2880,
		"num_local_experts": 128, "num_experts_per_tok": 4, "experts_per_token": 4, "sliding_window": 128, "initial_context_length": 4096, "max_position_embeddings": 131072, "swiglu_limit": 7.0,
		"vocab_size": 201088, "quantization_config": {"modules_to_not_convert": ["model.layers.*.self_attn"], "quant_method": "mxfp4"}, "layer_types": ` + repeated(36, "sliding_attention", "full_attention") + `}`,
	"google/gemma-2-9b-it": `{"model_type": "gemma2", "hidden_size": 3584, "num_hidden_layers": 42, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 256, "intermediate_size": 14336,
		"vocab_size": 256000, "max_position_embeddings": 8192, "sliding_window": 4096, "sliding_window_size": 0, "cache_implementation": "hybrid", "query_pre_attn_scalar": 256, "torch_dtype": "bfloat16"}`,
	"google/gemma-3-27b-it": `{"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "hidden_size": 5376, "num_hidden_layers": 62, "num_attention_heads": 32, "num_key_value_heads": 16,
		"head_dim": 128, "intermediate_size": 21504, "vocab_size": 262208, "max_position_embeddings": 131072, "sliding_window": 1024, "sliding_window_pattern": 6},
		"vision_config": {"hidden_size": 1152}, "mm_tokens_per_image": 256, "torch_dtype": "bfloat16"}`,
	"meta-llama/Llama-4-Maverick-17B-128E-Instruct": `{"model_type": "llama4", "text_config": {"model_type": "llama4_text", "hidden_size": 5120, "num_hidden_layers": 48, "num_attention_heads": 40,
		"num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 8192, "intermediate_size_mlp": 16384, "num_local_experts": 128, "num_experts_per_tok": 1, "interleave_moe_layer_step": 2,
		"attention_chunk_size": 8192, "no_rope_layers": [], "vocab_size": 202048, "max_position_embeddings": 1048576, "torch_dtype": "bfloat16"}}`,
	"Qwen/Qwen3-Next-80B-A3B-Instruct": `{"model_type": "qwen3_next", "hidden_size": 2048, "num_hidden_layers": 48, "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 256,
		"full_attention_interval": 4, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_value_head_dim": 128,
		"intermediate_size": 5120, "moe_intermediate_size": 512, "num_experts": 512, "num_experts_per_tok": 10, "shared_expert_intermediate_size": 512, "decoder_sparse_step": 1, "mlp_only_layers": [],
		"partial_rotary_factor": 0.25, "vocab_size": 151936, "max_position_embeddings": 262144, "use_sliding_window": false, "tie_word_embeddings": false, "torch_dtype": "bfloat16"}`,
	"Qwen/Qwen3.5-397B-A17B": `{"model_type": "qwen3_5_moe", "tie_word_embeddings": false, "text_config": {"model_type": "qwen3_5_moe_text", "hidden_size": 4096, "num_hidden_layers": 60,
		"num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 256, "attn_output_gate": true, "full_attention_interval": 4, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128,
		"linear_num_key_heads": 16, "linear_num_value_heads": 64, "linear_value_head_dim": 128, "moe_intermediate_size": 1024, "num_experts": 512, "num_experts_per_tok": 10,
		"shared_expert_intermediate_size": 1024, "mtp_num_hidden_layers": 1, "mtp_use_dedicated_embeddings": false, "vocab_size": 248320, "max_position_embeddings": 262144, "dtype": "bfloat16",
		"layer_types": ` + repeated(60, "linear_attention", "linear_attention", "linear_attention", "full_attention") + `}, "vision_config": {"depth": 27}}`,
	"deepseek-ai/DeepSeek-V3": `{"model_type": "deepseek_v3", "hidden_size": 7168, "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": 128, "intermediate_size": 18432,
		"moe_intermediate_size": 2048, "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 3, "moe_layer_freq": 1, "n_group": 8, "topk_group": 4,
		"kv_lora_rank": 512, "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "num_nextn_predict_layers": 1, "ep_size": 1, "vocab_size": 129280,
		"max_position_embeddings": 163840, "torch_dtype": "bfloat16", "quantization_config": {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}}`,
	"zai-org/GLM-5": `{"model_type": "glm_moe_dsa", "hidden_size": 6144, "num_hidden_layers": 78, "num_attention_heads": 64, "num_key_value_heads": 64, "head_dim": 64, "intermediate_size": 12288,
		"vocab_size": 154880, "max_position_embeddings": 202752, "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "moe_layer_freq": 1,
		"first_k_dense_replace": 3, "kv_lora_rank": 512, "q_lora_rank": 2048, "qk_nope_head_dim": 192, "qk_rope_head_dim": 64, "v_head_dim": 256, "index_head_dim": 128, "index_n_heads": 32,
		"index_topk": 2048, "torch_dtype": "bfloat16"}`,
	"zai-org/GLM-4.5-Air": `{"model_type": "glm4_moe", "hidden_size": 4096, "num_hidden_layers": 46, "num_attention_heads": 96, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 10944,
		"moe_intermediate_size": 1408, "n_routed_experts": 128, "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 1, "num_nextn_predict_layers": 1, "use_qk_norm": false,
		"vocab_size": 151552, "max_position_embeddings": 131072, "torch_dtype": "bfloat16"}`,
	"microsoft/Phi-4-mini-instruct": `{"model_type": "phi3", "hidden_size": 3072, "num_hidden_layers": 32, "num_attention_heads": 24, "num_key_value_heads": 8, "intermediate_size": 8192,
		"vocab_size": 200064, "max_position_embeddings": 131072, "sliding_window": 262144, "tie_word_embeddings": true, "torch_dtype": "bfloat16"}`,
}

// What ParseHF makes of a config.json is the entry of the table, but for names
// and what vendors publish.
func TestParseHFGivesTheTablesEntries(t *testing.T) {
	for id, text := range hfConfigs {
		want := model(t, id)
		want.Aliases, want.PublishedParams, want.PublishedActive, want.Note, want.Source = nil, 0, 0, "", "its Hugging Face config.json"
		if strings.HasPrefix(id, "Qwen/Qwen2.5") {
			want.MaxContext = 32768 // the table has what YaRN stretches it to
		}
		got, _, err := ParseHF([]byte(text), id)
		if err != nil {
			t.Errorf("%s: %v", id, err)
			continue
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s:\n%s", id, d)
		}
	}
}

// families that the table has no model of give the numbers of parameters that are published.
func TestParseHFGivesPublishedCounts(t *testing.T) {
	for text, want := range map[string]float64{
		`{"model_type": "granite", "hidden_size": 4096, "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 12800, "vocab_size": 49155,
			"tie_word_embeddings": true, "embedding_multiplier": 12.0, "logits_scaling": 16.0, "residual_multiplier": 0.22}`: 8.17e9, // 3.1 8B
		`{"model_type": "olmo2", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32, "intermediate_size": 11008, "vocab_size": 100352}`: 7.3e9,
		`{"model_type": "glm4", "hidden_size": 4096, "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128, "intermediate_size": 13696,
			"vocab_size": 151552, "partial_rotary_factor": 0.5}`: 9.4e9,
		`{"model_type": "seed_oss", "hidden_size": 5120, "num_hidden_layers": 64, "num_attention_heads": 80, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 27648,
			"vocab_size": 155136}`: 36.15e9,
		`{"model_type": "smollm3", "hidden_size": 2048, "num_hidden_layers": 36, "num_attention_heads": 16, "num_key_value_heads": 4, "intermediate_size": 11008, "vocab_size": 128256,
			"no_rope_layer_interval": 4, "sliding_window": null, "use_sliding_window": false, "max_window_layers": 28}`: 3.08e9,
		`{"model_type": "granitemoe", "hidden_size": 1536, "num_hidden_layers": 32, "num_attention_heads": 24, "num_key_value_heads": 8, "intermediate_size": 512, "vocab_size": 49155,
			"num_local_experts": 40, "num_experts_per_tok": 8, "tie_word_embeddings": true}`: 3.3e9,
		`{"model_type": "olmoe", "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 16, "num_key_value_heads": 16, "intermediate_size": 1024, "vocab_size": 50304,
			"num_experts": 64, "num_experts_per_tok": 8, "norm_topk_prob": false}`: 6.92e9,
		`{"model_type": "phimoe", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 6400, "vocab_size": 32064,
			"num_local_experts": 16, "num_experts_per_tok": 2, "lm_head_bias": true, "sliding_window": 131072, "max_position_embeddings": 131072}`: 41.9e9,
	} {
		m, _, err := ParseHF([]byte(text), "x")
		if err != nil {
			t.Errorf("%v: %s", err, text)
			continue
		}
		within(t, text, float64(m.Params()), want, 0.003)
		if len(m.KVGroups) > 0 {
			t.Errorf("windows %+v: %s", m.KVGroups, text)
		}
	}
}

// small is a llama with one more key.
func small(key string) []byte {
	return []byte(`{"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 100` + key + `}`)
}

func TestParseHFSaysWhatItCantRead(t *testing.T) {
	for name, c := range map[string]struct {
		text []byte
		want string
	}{
		"not JSON":       {[]byte(`{`), "config.json: unexpected end"},
		"unknown type":   {[]byte(`{"model_type": "mamba2"}`), `model_type is "mamba2", not one of deepseek_v2`},
		"no type":        {[]byte(`{}`), `model_type is ""`},
		"missing":        {[]byte(`{"model_type": "llama"}`), "num_hidden_layers is missing\nhidden_size is missing\nnum_attention_heads is missing\nvocab_size is missing"},
		"wrong type":     {small(`, "num_key_value_heads": "two"`), "num_key_value_heads: json: cannot unmarshal"},
		"unread shape":   {small(`, "altup_num_inputs_dim": 4, "num_kv_shared_layers": 10`), "altup_num_inputs_dim is unknown and may change the shape: write the entry by hand\nthe key num_kv_shared_layers"},
		"heads":          {small(`, "num_key_value_heads": 3`), "kv_heads is 3, not a divisor of heads (4)"},
		"head_dim":       {[]byte(`{"model_type": "llama", "hidden_size": 65, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 100}`), "head_dim is missing, and hidden_size 65"},
		"layer types":    {small(`, "layer_types": ["full_attention", "ring_attention"]`), `layer_types has "ring_attention"`},
		"too few types":  {small(`, "layer_types": ["full_attention"]`), "layer_types has 1 entries, but num_hidden_layers is 2"},
		"dtype":          {small(`, "torch_dtype": "float8"`), `torch_dtype is "float8"`},
		"quantization":   {small(`, "quantization_config": {"quant_method": "bitsandbytes", "bits": 4}`), "bitsandbytes"},
		"odd bits":       {small(`, "quantization_config": {"quant_method": "gptq", "bits": 3, "group_size": 128}`), "weights of 3 bits (int) in groups of 128"},
		"no indexer":     {[]byte(strings.ReplaceAll(hfConfigs["zai-org/GLM-5"], `"index_head_dim": 128, `, "")), "index_head_dim is missing"},
		"moe frequency":  {small(`, "num_experts": 4, "num_experts_per_tok": 1, "moe_intermediate_size": 8, "moe_layer_freq": 2`), "moe_layer_freq is 2"},
		"linear alone":   {small(`, "layer_types": ["linear_attention", "full_attention"]`), "linear_num_key_heads is missing"},
		"negative width": {small(`, "head_dim": -4`), "head_dim is -4"},
	} {
		if _, _, err := ParseHF(c.text, "x"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestParseHFPrecision(t *testing.T) {
	for q, want := range map[string]string{
		`"torch_dtype": "float16"`: "fp16",
		`"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128}`:                                                                               "int4_g128",
		`"quantization_config": {"quant_method": "gptq", "bits": 8, "group_size": 128}`:                                                                              "int8",
		`"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"}`:                                                                                 "nvfp4",
		`"quantization_config": {"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float"}}}}`:                 "fp8",
		`"quantization_config": {"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "int", "group_size": 32}}}}`: "int4_g32",
	} {
		if m, _, err := ParseHF(small(", "+q), "x"); err != nil || m.Weights != want {
			t.Errorf("%s: %q, %v; want %s", q, m.Weights, err, want)
		}
	}
	_, notes, err := ParseHF(small(""), "x")
	if err != nil || len(notes) != 1 || !strings.Contains(notes[0], "bf16 assumed") {
		t.Errorf("%q, %v", notes, err)
	}
}

func FuzzParseHF(f *testing.F) {
	for _, text := range hfConfigs {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, _, err := ParseHF(data, "fuzzed")
		if err != nil {
			return
		}
		if err := (Setup{Model: m, Device: Device{ID: "x", BandwidthGBs: 1}}).Check(); err != nil {
			t.Fatalf("read, but not valid: %v", err)
		}
	})
}

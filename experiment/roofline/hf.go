package roofline

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// family is what a config.json of this model_type does not contain: the transformers library's defaults.
type family struct {
	tied        bool // embeddings and output layer share one table by default
	gated       bool // the query projection has double width
	wideExperts bool // the experts' width is intermediate_size
	sparse      bool // has an indexer
	window      layering
}

var families = map[string]family{
	"llama": {}, "mistral": {window: allLayers}, "phi3": {window: allLayers},
	"qwen2": {window: ifUsed}, "qwen3": {window: ifUsed}, "qwen3_vl": {}, "qwen3_vl_moe": {}, "mimo": {window: ifUsed},
	"gemma": {tied: true}, "gemma2": {tied: true, window: everyOther}, "gemma3": {tied: true, window: fiveOfSix},
	"mixtral": {wideExperts: true, window: allLayers}, "qwen2_moe": {window: ifUsed}, "qwen3_moe": {window: ifUsed},
	"gpt_oss": {wideExperts: true, window: everyOther}, "minimax_m2": {wideExperts: true}, "glm4_moe": {},
	"granite": {}, "olmo2": {}, "glm4": {}, "seed_oss": {}, "smollm3": {tied: true, window: ifUsed},
	"granitemoe": {wideExperts: true}, "olmoe": {wideExperts: true}, "phimoe": {wideExperts: true, window: allLayers},
	"llama4":     {wideExperts: true, window: chunkedOf4},
	"qwen3_next": {gated: true, window: ifUsed}, "qwen3_5": {gated: true}, "qwen3_5_moe": {gated: true},
	"deepseek_v2": {}, "deepseek_v3": {}, "kimi_k2": {}, "deepseek_v32": {sparse: true}, "glm_moe_dsa": {sparse: true},
}

// ParseHF reads a model's shape from a Hugging Face config.json. An unknown key that may change the shape is a
// mistake; the notes state what was ignored or assumed.
func ParseHF(data []byte, id string) (Model, []string, error) {
	c := &hfConfig{read: map[string]bool{}}
	if err := json.Unmarshal(data, &c.keys); err != nil {
		return Model{}, nil, fmt.Errorf("config.json: %w", err)
	}
	c.descend()
	kind := strings.TrimSuffix(c.text("model_type"), "_text")
	f, ok := families[kind]
	if !ok {
		return Model{}, nil, fmt.Errorf("config.json: model_type is %q, not one of %s: write the entry by hand", kind,
			strings.Join(slices.Sorted(maps.Keys(families)), ", "))
	}
	m := Model{ID: cmp.Or(id, c.text("_name_or_path")), Source: "its Hugging Face config.json"}
	c.shape(&m, f)
	c.mixture(&m, f)
	c.latent(&m, f)
	c.layers(&m, f)
	c.precision(&m)
	c.unread()
	if err := errors.Join(c.errs...); err != nil {
		return Model{}, nil, fmt.Errorf("config.json: %w", err)
	}
	if err := m.check(); err != nil {
		return Model{}, nil, fmt.Errorf("config.json: invalid shape: %w", err)
	}
	return m, c.notes, nil
}

type hfConfig struct {
	keys  map[string]json.RawMessage
	read  map[string]bool
	errs  []error
	notes []string
}

func (c *hfConfig) descend() {
	var inner map[string]json.RawMessage
	if c.decode("text_config", &inner); inner == nil {
		return
	}
	for _, key := range []string{"quantization_config", "tie_word_embeddings", "torch_dtype", "dtype"} {
		if _, own := inner[key]; !own && c.keys[key] != nil {
			inner[key] = c.keys[key]
		}
	}
	if inner["model_type"] == nil {
		inner["model_type"] = c.keys["model_type"]
	}
	c.keys = inner
	c.notes = append(c.notes, "only text_config was read: image and audio encoders are ignored")
}

func (c *hfConfig) decode(key string, into any) bool {
	raw, ok := c.keys[key]
	c.read[key] = true
	if !ok || string(raw) == "null" {
		return false
	}
	if err := json.Unmarshal(raw, into); err != nil {
		c.errs = append(c.errs, fmt.Errorf("%s: %w", key, err))
		return false
	}
	return true
}

func (c *hfConfig) text(key string) (s string) {
	c.decode(key, &s)
	return s
}

func (c *hfConfig) is(key string, otherwise bool) bool {
	c.decode(key, &otherwise)
	return otherwise
}

func (c *hfConfig) number(keys ...string) int {
	found := 0
	for _, key := range keys {
		var n int
		if c.decode(key, &n) && found == 0 {
			found = n
		}
	}
	return found
}

func (c *hfConfig) need(keys ...string) int {
	n := c.number(keys...)
	if n == 0 {
		c.bad("%s is missing", strings.Join(keys, " or "))
	}
	return n
}

func (c *hfConfig) bad(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf(format, args...))
}

func (c *hfConfig) shape(m *Model, f family) {
	m.Layers, m.Hidden, m.Heads = c.need("num_hidden_layers"), c.need("hidden_size"), c.need("num_attention_heads")
	m.Vocab, m.MaxContext = c.need("vocab_size"), c.number("max_position_embeddings")
	m.TiedEmbeddings = c.is("tie_word_embeddings", f.tied)
	m.GatedAttention = c.is("attn_output_gate", f.gated)
	kv, dim := c.number("num_key_value_heads"), c.number("head_dim")
	if c.number("kv_lora_rank") > 0 { // its heads share the latent vector
		return
	}
	m.KVHeads, m.HeadDim = cmp.Or(kv, m.Heads), dim
	if dim == 0 && m.Heads > 0 {
		if m.Hidden%m.Heads != 0 {
			c.bad("head_dim is missing, and hidden_size %d is not a multiple of %d heads", m.Hidden, m.Heads)
		}
		m.HeadDim = m.Hidden / m.Heads
	}
}

func (c *hfConfig) mixture(m *Model, f family) {
	m.Intermediate = c.number("intermediate_size")
	experts := c.number("num_local_experts", "num_experts", "n_routed_experts")
	if experts == 0 {
		if m.Intermediate == 0 {
			c.bad("intermediate_size is missing")
		}
		return
	}
	m.MoE = MoE{Experts: experts, TopK: c.need("num_experts_per_tok", "num_experts_per_token", "experts_per_token")}
	if f.wideExperts {
		m.MoE.ExpertIntermediate = m.Intermediate
		m.Intermediate = c.number("intermediate_size_mlp")
	} else {
		m.MoE.ExpertIntermediate = c.need("moe_intermediate_size")
	}
	m.MoE.SharedIntermediate = cmp.Or(c.number("shared_expert_intermediate_size"),
		c.number("n_shared_experts", "num_shared_experts")*m.MoE.ExpertIntermediate)
	if f.window == chunkedOf4 { // Llama 4: one shared expert, which the file does not name
		m.MoE.SharedIntermediate = m.MoE.ExpertIntermediate
	}
	m.MoE.Layers = c.moeLayers(m.Layers)
	if m.MoE.Layers == m.Layers {
		m.Intermediate = 0
	}
}

func (c *hfConfig) moeLayers(layers int) int {
	first := c.number("first_k_dense_replace")
	step := max(1, c.number("decoder_sparse_step", "interleave_moe_layer_step"))
	if f := c.number("moe_layer_freq"); f > 1 {
		c.bad("moe_layer_freq is %d: write the entry by hand", f)
	}
	var dense []int
	c.decode("mlp_only_layers", &dense)
	var kinds []string
	if c.decode("mlp_layer_types", &kinds) {
		return len(slices.DeleteFunc(kinds, func(kind string) bool { return kind == "dense" }))
	}
	n := 0
	for i := range layers {
		if i >= first && (i+1)%step == 0 && !slices.Contains(dense, i) {
			n++
		}
	}
	return n
}

func (c *hfConfig) latent(m *Model, f family) {
	rank := c.number("kv_lora_rank")
	if rank == 0 {
		return
	}
	m.MLA = MLA{
		KVLoraRank: rank, QLoraRank: c.number("q_lora_rank"),
		QKNopeDim: c.need("qk_nope_head_dim"), QKRopeDim: c.need("qk_rope_head_dim"), ValueDim: c.need("v_head_dim"),
	}
	if f.sparse {
		m.MLA.IndexDim, m.MLA.IndexTopK = c.need("index_head_dim"), c.need("index_topk")
		c.read["index_n_heads"] = true // its projections are below 1 % of a layer
	}
}

// shapely are parts of key names that may change the number of bytes or operations; the keys in harmless do not.
var shapely = regexp.MustCompile(`layer|head|expert|dim|size|rank|window|chunk|interleave|intermediate|width|depth|conv|ssm|mamba|state|block|shared`)

var harmless = []string{
	"num_nextn_predict_layers", "mamba_ssm_dtype", "rope_interleave", "indexer_rope_interleave", "qk_head_dim",
	"rotary_dim", "layer_norm_eps", "layernorm_epsilon",
	"num_expert_group", "ep_size", "chunk_size_feed_forward", "lm_head_bias",
	"max_window_layers", "sliding_window_pattern", "full_attention_interval",
	"no_rope_layers", "no_rope_layer_interval", "attention_chunk_size",
}

func (c *hfConfig) unread() {
	for _, key := range slices.Sorted(maps.Keys(c.keys)) {
		if c.read[key] || slices.Contains(harmless, key) || !shapely.MatchString(key) ||
			strings.HasPrefix(key, "mtp_") {
			continue // multi-token prediction only drafts
		}
		if v := string(c.keys[key]); slices.Contains([]string{"null", "false", "0", "0.0", "[]", "{}", `""`}, v) {
			continue
		}
		c.bad("the key %s is unknown and may change the shape: write the entry by hand", key)
	}
}

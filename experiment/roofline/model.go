package roofline

import (
	"encoding/json"
	"fmt"
)

type Models []Model

// Model is the shape of one model, as in its config.json. Zero means absent.
type Model struct {
	ID      string   `json:"id"`
	Aliases []string `json:"aliases,omitempty"`
	// Match are fragments of names, for a user's own served names: a name that contains one is this model. The
	// built-in table has none, because a fragment would also match quantised copies.
	Match []string `json:"match,omitempty"`

	Layers         int  `json:"layers"`
	Hidden         int  `json:"hidden"`
	Heads          int  `json:"heads"`
	KVHeads        int  `json:"kv_heads,omitempty"`     // not with MLA
	HeadDim        int  `json:"head_dim,omitempty"`     // not with MLA
	Intermediate   int  `json:"intermediate,omitempty"` // of the dense MLP layers
	MLPMatrices    int  `json:"mlp_matrices,omitempty"` // 3 gated, 2 plain; 0 = 3
	Vocab          int  `json:"vocab"`
	TiedEmbeddings bool `json:"tied_embeddings,omitempty"`
	MaxContext     int  `json:"max_context,omitempty"` // tokens; 0 = unknown
	GatedAttention bool `json:"gated_attention,omitempty"`

	KVGroups []KVGroup `json:"kv_groups,omitempty"` // nil = all layers full
	MoE      MoE       `json:"moe,omitzero"`
	MLA      MLA       `json:"mla,omitzero"`
	Linear   Linear    `json:"linear,omitzero"`

	Weights       string `json:"weights,omitempty"`        // precision as published; "" = bf16
	ExpertWeights string `json:"expert_weights,omitempty"` // of the routed experts; "" = Weights
	// PublishedParams and PublishedActive are the vendor's numbers; the first must agree with the shape within 10 %.
	PublishedParams int64  `json:"params,omitempty"`
	PublishedActive int64  `json:"active_params,omitempty"`
	Source          string `json:"source"`
	Note            string `json:"note,omitempty"`
}

type KVGroup struct {
	Kind     string `json:"kind"` // full, window, chunked
	Layers   int    `json:"layers"`
	Window   int    `json:"window,omitempty"`    // tokens; not with kind full
	KVHeads  int    `json:"kv_heads,omitempty"`  // 0 = the model's
	HeadDim  int    `json:"head_dim,omitempty"`  // 0 = the model's
	ValueDim int    `json:"value_dim,omitempty"` // 0 = HeadDim
	SharedKV bool   `json:"shared_kv,omitempty"` // one projection makes K and V
}

type MoE struct {
	Layers             int `json:"layers"`
	Experts            int `json:"experts"`
	TopK               int `json:"top_k"`
	ExpertIntermediate int `json:"expert_intermediate"`
	SharedIntermediate int `json:"shared_intermediate,omitempty"`
}

// MLA is multi-head latent attention, with DeepSeek's sparse attention if it has an index.
type MLA struct {
	KVLoraRank int `json:"kv_lora_rank"`
	QLoraRank  int `json:"q_lora_rank,omitempty"`
	QKNopeDim  int `json:"qk_nope_dim"`
	QKRopeDim  int `json:"qk_rope_dim"`
	ValueDim   int `json:"value_dim"`
	IndexDim   int `json:"index_dim,omitempty"`
	IndexTopK  int `json:"index_top_k,omitempty"`
}

// Linear are layers with linear attention and a constant state (gated delta net).
type Linear struct {
	Layers     int `json:"layers"`
	KeyHeads   int `json:"key_heads"`
	KeyDim     int `json:"key_dim"`
	ValueHeads int `json:"value_heads"`
	ValueDim   int `json:"value_dim"`
	Conv       int `json:"conv"` // kernel width of the short convolution
}

func (m *Model) names() names { return names{m.ID, &m.Aliases, m.Match} }

func ParseModels(data []byte) (Models, error) {
	var file struct {
		About  string            `json:"about"`
		Models []json.RawMessage `json:"models"`
	}
	if err := strict(data, &file); err != nil {
		return nil, fmt.Errorf("model table: %w", err)
	}
	return parseEntries[Model]("model table", "models", file.Models)
}

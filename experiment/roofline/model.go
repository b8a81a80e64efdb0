package roofline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
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

// Params ignores norms, biases and the short convolutions of linear layers (below 0.02 %), vision encoders, and
// layers that only draft tokens.
func (m Model) Params() int64 { return m.endParams() + m.everyTokenParams() + m.routedParams() }

func (m Model) ActiveParams() int64 {
	return m.endParams() + m.everyTokenParams() + int64(m.MoE.Layers*m.MoE.TopK)*m.expertParams()
}

// headParams is the output layer, which every step reads; of the embedding table it reads single rows only.
func (m *Model) headParams() int64 { return int64(m.Vocab) * int64(m.Hidden) }

func (m *Model) endParams() int64 {
	if m.TiedEmbeddings {
		return m.headParams()
	}
	return 2 * m.headParams()
}

func (m *Model) expertParams() int64 {
	return m.mlpMatrices() * int64(m.Hidden) * int64(m.MoE.ExpertIntermediate)
}

func (m *Model) routedParams() int64 {
	return int64(m.MoE.Layers) * int64(m.MoE.Experts) * m.expertParams()
}

func (m *Model) everyTokenParams() int64 {
	h := int64(m.Hidden)
	dense := int64(m.Layers-m.MoE.Layers) * int64(m.Intermediate)
	shared := int64(m.MoE.Layers) * int64(m.MoE.SharedIntermediate)
	router := int64(m.MoE.Layers) * int64(m.MoE.Experts) * h
	return m.attentionParams() + m.mlpMatrices()*h*(dense+shared) + router
}

func (m *Model) mlpMatrices() int64 { return int64(cmp.Or(m.MLPMatrices, 3)) }

func (m *Model) attentionParams() int64 {
	h, heads := int64(m.Hidden), int64(m.Heads)
	if m.MLA.KVLoraRank > 0 {
		return int64(m.Layers) * m.MLA.params(h, heads)
	}
	sum := m.Linear.params(h)
	one := m.oneGroup()
	for _, g := range m.groups(&one) {
		query, k, v := g.headDim(m)*heads, g.headDim(m)*g.kvHeads(m), g.valueDim(m)*g.kvHeads(m)
		out := g.valueDim(m) * heads
		if m.GatedAttention {
			query *= 2
		}
		if g.SharedKV {
			v = 0
		}
		sum += int64(g.Layers) * h * (query + k + v + out)
	}
	return sum
}

// params: DeepSeek-V2, arXiv 2405.04434, section 2.1.
func (a MLA) params(h, heads int64) int64 {
	qk := int64(a.QKNopeDim + a.QKRopeDim)
	kv, v, q := int64(a.KVLoraRank), int64(a.ValueDim), int64(a.QLoraRank)
	query := h * heads * qk
	if q > 0 {
		query = h*q + q*heads*qk
	}
	return query + h*(kv+int64(a.QKRopeDim)) + kv*heads*(int64(a.QKNopeDim)+v) + heads*v*h
}

// params: the projections of a gated delta net (arXiv 2412.06464): q, k, v, an output gate and two scalars
// per value head.
func (l Linear) params(h int64) int64 {
	k, v := int64(l.KeyHeads*l.KeyDim), int64(l.ValueHeads*l.ValueDim)
	return int64(l.Layers) * (h*(2*k+2*v+2*int64(l.ValueHeads)) + v*h)
}

// kv is the size of one sequence of that many tokens, over all layers and GPUs of a tensor parallel group. A GPU holds
// at least one whole KV head of each layer, so that a wide group holds copies. The latent vector of MLA is copied to
// every GPU.
func (m *Model) kv(tokens, b float64, gpus int) float64 {
	if m.MLA.KVLoraRank > 0 {
		return tokens * float64(m.Layers*gpus) * (m.MLA.latentDim()*b + m.MLA.indexBytes())
	}
	sum := m.stateBytes()
	one := m.oneGroup()
	for _, g := range m.groups(&one) {
		perGPU := (g.kvHeads(m) + int64(gpus) - 1) / int64(gpus)
		elements := float64(perGPU*int64(gpus)) * float64(g.headDim(m)+g.valueDim(m))
		sum += min(tokens, g.span()) * float64(g.Layers) * elements * b
	}
	return sum
}

func (m *Model) kvRead(tokens, b float64, gpus int) float64 {
	all := m.kv(tokens, b, gpus)
	if skipped := tokens - float64(m.MLA.IndexTopK); m.MLA.IndexTopK > 0 && skipped > 0 {
		all -= skipped * float64(m.Layers*gpus) * m.MLA.latentDim() * b
	}
	return all
}

func (m *Model) growth(b float64) float64 {
	const far = 1 << 31 // above every window
	return m.kv(far+1, b, 1) - m.kv(far, b, 1)
}

func (a MLA) latentDim() float64 { return float64(a.KVLoraRank + a.QKRopeDim) }

// indexBytes per token and layer: the indexer's keys are stored in fp8 with one 4-byte scale for 128,
// whatever the cache's precision is (vLLM, DeepseekV32IndexerCache).
func (a MLA) indexBytes() float64 { return float64(a.IndexDim) * (1 + 4.0/128) }

// stateBytes of one sequence: for each linear layer the last inputs of the convolution in bf16, and a matrix
// per value head in fp32.
func (m *Model) stateBytes() float64 {
	l := m.Linear
	conv := 2 * l.Conv * (2*l.KeyHeads*l.KeyDim + l.ValueHeads*l.ValueDim)
	return float64(l.Layers) * float64(conv+4*l.ValueHeads*l.KeyDim*l.ValueDim)
}

// attentionFlops are the operations of softmax attention for the tokens after the cached ones: two per
// element of key and of value, for every head and every pair of tokens in the attention span.
func (m *Model) attentionFlops(input, cached float64) float64 {
	heads := float64(m.Heads)
	if m.MLA.KVLoraRank > 0 {
		dims := float64(m.MLA.QKNopeDim + m.MLA.QKRopeDim + m.MLA.ValueDim)
		span := math.Inf(1)
		if m.MLA.IndexTopK > 0 {
			span = float64(m.MLA.IndexTopK)
		}
		return 2 * float64(m.Layers) * heads * dims * (pairs(input, span) - pairs(cached, span))
	}
	sum := 0.0
	one := m.oneGroup()
	for _, g := range m.groups(&one) {
		dims := float64(g.headDim(m) + g.valueDim(m))
		sum += 2 * float64(g.Layers) * heads * dims * (g.pairs(input) - g.pairs(cached))
	}
	return sum
}

// scanFlops are the operations of attention for one token over a context. In MLA each head works on the
// latent vectors themselves ("absorbed"), as engines decode.
func (m *Model) scanFlops(context float64) float64 {
	heads := float64(m.Heads)
	if m.MLA.KVLoraRank > 0 {
		if m.MLA.IndexTopK > 0 {
			context = min(context, float64(m.MLA.IndexTopK))
		}
		return 2 * float64(m.Layers) * heads * (m.MLA.latentDim() + float64(m.MLA.KVLoraRank)) * context
	}
	sum := 0.0
	one := m.oneGroup()
	for _, g := range m.groups(&one) {
		sum += 2 * float64(g.Layers) * heads * float64(g.headDim(m)+g.valueDim(m)) * min(context, g.span())
	}
	return sum
}

// pairs is the number of token pairs of causal attention in one of the group's layers. A chunked layer
// attends only to the tokens since the start of its chunk.
func (g KVGroup) pairs(n float64) float64 {
	if g.Kind == "chunked" {
		c := g.span()
		whole := math.Floor(n / c)
		return whole*pairs(c, c) + pairs(n-whole*c, c)
	}
	return pairs(n, g.span())
}

// pairs is the number of token pairs of causal attention with a span: the area under min(n, span).
func pairs(n, span float64) float64 {
	if n <= span {
		return n * n / 2
	}
	return span*span/2 + (n-span)*span
}

// oneGroup and groups return the KV groups with the default, which the caller holds to avoid allocation.
func (m *Model) oneGroup() [1]KVGroup {
	return [1]KVGroup{{Kind: "full", Layers: m.Layers - m.Linear.Layers}}
}

func (m *Model) groups(one *[1]KVGroup) []KVGroup {
	if m.MLA.KVLoraRank > 0 {
		return nil
	}
	if len(m.KVGroups) > 0 {
		return m.KVGroups
	}
	return one[:]
}

func (g KVGroup) kvHeads(m *Model) int64  { return int64(cmp.Or(g.KVHeads, m.KVHeads)) }
func (g KVGroup) headDim(m *Model) int64  { return int64(cmp.Or(g.HeadDim, m.HeadDim)) }
func (g KVGroup) valueDim(m *Model) int64 { return int64(cmp.Or(g.ValueDim, g.HeadDim, m.HeadDim)) }

func (g KVGroup) span() float64 {
	if g.Kind != "full" {
		return float64(g.Window)
	}
	return math.Inf(1)
}

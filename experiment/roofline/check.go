package roofline

import (
	"errors"
	"fmt"
	"math"
)

// Far above any model or machine; the parameter count stays within an int64.
const (
	maxLayers = 2_000
	maxHidden = 200_000
	maxHeads  = 2_000
	maxDim    = 4_096
	maxRank   = 100_000
)

// mistakes are all that is wrong with a table's entry or a setup.
type mistakes []error

func (x *mistakes) bad(format string, args ...any) { *x = append(*x, fmt.Errorf(format, args...)) }

// of adds an error of a part; nil = it has none.
func (x *mistakes) of(part string, err error) {
	if err != nil {
		x.bad("%s: %w", part, err)
	}
}

func (x *mistakes) in(name string, value, least, most int) {
	if value < least || value > most {
		x.bad("%s is %d, not within %d to %d", name, value, least, most)
	}
}

func (x *mistakes) precision(name, value string) {
	if err := CheckPrecision(name, value); err != nil {
		*x = append(*x, err)
	}
}

type number struct {
	name  string
	value float64
}

// small accepts 0 and numbers between 10⁻⁶ and the limit, so that no quotient overflows.
func (x *mistakes) small(most float64, numbers []number) {
	for _, n := range numbers {
		if n.value != 0 && !(n.value >= 1e-6 && n.value <= most) {
			x.bad("%s is %g, neither 0 nor within 1e-06 to %g", n.name, n.value, most)
		}
	}
}

func (m *Model) check() error {
	var x mistakes
	x.in("layers", m.Layers, 1, maxLayers)
	x.in("hidden", m.Hidden, 1, maxHidden)
	x.in("heads", m.Heads, 1, maxHeads)
	x.in("intermediate", m.Intermediate, 0, 1_000_000)
	x.in("vocab", m.Vocab, 1, 100_000_000)
	x.in("max_context", m.MaxContext, 0, math.MaxInt)
	if m.MLPMatrices != 0 {
		x.in("mlp_matrices", m.MLPMatrices, 2, 3)
	}
	m.checkMoE(&x)
	m.checkAttention(&x)
	m.checkLinear(&x)
	if m.ID == "" {
		x.bad("id is missing")
	}
	x.precision("weights", m.Weights)
	x.precision("expert_weights", m.ExpertWeights)
	m.checkGroups(&x)
	if len(x) == 0 {
		m.checkParams(&x)
	}
	return errors.Join(x...)
}

func (m *Model) checkMoE(x *mistakes) {
	if e := m.MoE; e != (MoE{}) {
		x.in("moe.layers", e.Layers, 1, m.Layers)
		x.in("moe.experts", e.Experts, 1, 5_000)
		x.in("moe.top_k", e.TopK, 1, e.Experts)
		x.in("moe.expert_intermediate", e.ExpertIntermediate, 1, 200_000)
		x.in("moe.shared_intermediate", e.SharedIntermediate, 0, 1_000_000)
	}
	if m.MoE.Layers < m.Layers && m.Intermediate == 0 {
		x.bad("intermediate is missing: %d layers have a dense MLP", m.Layers-m.MoE.Layers)
	}
}

func (m *Model) checkAttention(x *mistakes) {
	a := m.MLA
	if a == (MLA{}) {
		x.in("kv_heads", m.KVHeads, 1, m.Heads)
		x.in("head_dim", m.HeadDim, 1, maxDim)
		if m.KVHeads > 0 && m.Heads%m.KVHeads != 0 {
			x.bad("kv_heads is %d, not a divisor of heads (%d)", m.KVHeads, m.Heads)
		}
		return
	}
	x.in("mla.kv_lora_rank", a.KVLoraRank, 1, maxRank)
	x.in("mla.q_lora_rank", a.QLoraRank, 0, maxRank)
	x.in("mla.qk_nope_dim", a.QKNopeDim, 1, maxDim)
	x.in("mla.qk_rope_dim", a.QKRopeDim, 0, maxDim)
	x.in("mla.value_dim", a.ValueDim, 1, maxDim)
	x.in("mla.index_dim", a.IndexDim, 0, maxDim)
	x.in("mla.index_top_k", a.IndexTopK, 0, math.MaxInt32)
	if m.KVHeads != 0 || m.HeadDim != 0 || len(m.KVGroups) > 0 || m.Linear != (Linear{}) {
		x.bad("mla cannot be combined with kv_heads, head_dim, kv_groups or linear")
	}
	if (a.IndexDim == 0) != (a.IndexTopK == 0) {
		x.bad("mla.index_dim and mla.index_top_k must be set together")
	}
}

func (m *Model) checkLinear(x *mistakes) {
	if l := m.Linear; l != (Linear{}) {
		x.in("linear.layers", l.Layers, 1, m.Layers)
		x.in("linear.key_heads", l.KeyHeads, 1, maxHeads)
		x.in("linear.key_dim", l.KeyDim, 1, maxDim)
		x.in("linear.value_heads", l.ValueHeads, 1, maxHeads)
		x.in("linear.value_dim", l.ValueDim, 1, maxDim)
		x.in("linear.conv", l.Conv, 0, maxDim)
	}
}

func (m *Model) checkGroups(x *mistakes) {
	layers := m.Linear.Layers
	for i, g := range m.KVGroups {
		name := fmt.Sprintf("kv_groups[%d].", i)
		windowLeast, windowMost := 0, 0
		switch g.Kind {
		case "full":
		case "window", "chunked":
			windowLeast, windowMost = 1, math.MaxInt32
		default:
			x.bad("%skind is %q, not one of full, window, chunked", name, g.Kind)
		}
		x.in(name+"layers", g.Layers, 1, m.Layers)
		x.in(name+"window", g.Window, windowLeast, windowMost)
		x.in(name+"kv_heads", g.KVHeads, 0, m.Heads)
		x.in(name+"head_dim", g.HeadDim, 0, maxDim)
		x.in(name+"value_dim", g.ValueDim, 0, maxDim)
		layers += g.Layers
	}
	if len(m.KVGroups) > 0 && layers != m.Layers {
		x.bad("kv_groups and linear have %d layers in total, but layers is %d", layers, m.Layers)
	}
}

func (m *Model) checkParams(x *mistakes) {
	computed, published := float64(m.Params()), float64(m.PublishedParams)
	if m.PublishedParams != 0 && math.Abs(computed/published-1) > 0.1 {
		x.bad("params is %.4g, but the shape gives %.4g: one of the fields is wrong", published, computed)
	} else if active := m.PublishedActive; active < 0 || float64(active) > 1.1*computed {
		x.bad("active_params is %d, which is negative or above params", active)
	}
}

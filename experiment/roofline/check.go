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

type field struct {
	name        string
	value       int
	least, most int
}

func checkFields(fields []field) (errs []error) {
	for _, f := range fields {
		if f.value < f.least || f.value > f.most {
			errs = append(errs, fmt.Errorf("%s is %d, not within %d to %d", f.name, f.value, f.least, f.most))
		}
	}
	return errs
}

func (m *Model) check() error {
	errs := checkFields(m.fields())
	errs = append(errs, m.checkParts()...)
	errs = append(errs, m.checkGroups()...)
	if len(errs) == 0 {
		errs = append(errs, m.checkParams())
	}
	return errors.Join(errs...)
}

func (m *Model) fields() []field {
	fields := []field{
		{"layers", m.Layers, 1, maxLayers}, {"hidden", m.Hidden, 1, maxHidden}, {"heads", m.Heads, 1, maxHeads},
		{"intermediate", m.Intermediate, 0, 1_000_000}, {"vocab", m.Vocab, 1, 100_000_000},
		{"max_context", m.MaxContext, 0, math.MaxInt},
	}
	if m.MLPMatrices != 0 {
		fields = append(fields, field{"mlp_matrices", m.MLPMatrices, 2, 3})
	}
	if m.MoE != (MoE{}) {
		fields = append(fields, m.MoE.fields(m.Layers)...)
	}
	if m.MLA != (MLA{}) {
		fields = append(fields, m.MLA.fields()...)
	} else {
		fields = append(fields, field{"kv_heads", m.KVHeads, 1, m.Heads}, field{"head_dim", m.HeadDim, 1, maxDim})
	}
	if m.Linear != (Linear{}) {
		fields = append(fields, m.Linear.fields(m.Layers)...)
	}
	return fields
}

func (m MoE) fields(layers int) []field {
	return []field{
		{"moe.layers", m.Layers, 1, layers}, {"moe.experts", m.Experts, 1, 5_000}, {"moe.top_k", m.TopK, 1, m.Experts},
		{"moe.expert_intermediate", m.ExpertIntermediate, 1, 200_000},
		{"moe.shared_intermediate", m.SharedIntermediate, 0, 1_000_000},
	}
}

func (a MLA) fields() []field {
	return []field{
		{"mla.kv_lora_rank", a.KVLoraRank, 1, maxRank}, {"mla.q_lora_rank", a.QLoraRank, 0, maxRank},
		{"mla.qk_nope_dim", a.QKNopeDim, 1, maxDim}, {"mla.qk_rope_dim", a.QKRopeDim, 0, maxDim},
		{"mla.value_dim", a.ValueDim, 1, maxDim}, {"mla.index_dim", a.IndexDim, 0, maxDim},
		{"mla.index_top_k", a.IndexTopK, 0, math.MaxInt32},
	}
}

func (l Linear) fields(layers int) []field {
	return []field{
		{"linear.layers", l.Layers, 1, layers}, {"linear.key_heads", l.KeyHeads, 1, maxHeads},
		{"linear.key_dim", l.KeyDim, 1, maxDim}, {"linear.value_heads", l.ValueHeads, 1, maxHeads},
		{"linear.value_dim", l.ValueDim, 1, maxDim}, {"linear.conv", l.Conv, 0, maxDim},
	}
}

func (m *Model) checkParts() (errs []error) {
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if m.ID == "" {
		bad("id is missing")
	}
	if m.MoE.Layers < m.Layers && m.Intermediate == 0 {
		bad("intermediate is missing: %d layers have a dense MLP", m.Layers-m.MoE.Layers)
	}
	if m.KVHeads > 0 && m.Heads%m.KVHeads != 0 {
		bad("kv_heads is %d, not a divisor of heads (%d)", m.KVHeads, m.Heads)
	}
	if m.MLA != (MLA{}) && (m.KVHeads != 0 || m.HeadDim != 0 || len(m.KVGroups) > 0 || m.Linear != (Linear{})) {
		bad("mla cannot be combined with kv_heads, head_dim, kv_groups or linear")
	}
	if (m.MLA.IndexDim == 0) != (m.MLA.IndexTopK == 0) {
		bad("mla.index_dim and mla.index_top_k must be set together")
	}
	for _, p := range []struct{ name, value string }{{"weights", m.Weights}, {"expert_weights", m.ExpertWeights}} {
		if err := CheckPrecision(p.name, p.value); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

func (m *Model) checkGroups() (errs []error) {
	layers := m.Linear.Layers
	for i, g := range m.KVGroups {
		name := fmt.Sprintf("kv_groups[%d].", i)
		windowLeast, windowMost := 0, 0
		switch g.Kind {
		case "full":
		case "window", "chunked":
			windowLeast, windowMost = 1, math.MaxInt32
		default:
			errs = append(errs, fmt.Errorf("%skind is %q, not one of full, window, chunked", name, g.Kind))
		}
		errs = append(errs, checkFields([]field{
			{name + "layers", g.Layers, 1, m.Layers}, {name + "window", g.Window, windowLeast, windowMost},
			{name + "kv_heads", g.KVHeads, 0, m.Heads}, {name + "head_dim", g.HeadDim, 0, maxDim},
			{name + "value_dim", g.ValueDim, 0, maxDim},
		})...)
		layers += g.Layers
	}
	if len(m.KVGroups) > 0 && layers != m.Layers {
		errs = append(errs, fmt.Errorf("kv_groups and linear have %d layers in total, but layers is %d", layers,
			m.Layers))
	}
	return errs
}

func (m *Model) checkParams() error {
	computed, published := float64(m.Params()), float64(m.PublishedParams)
	if m.PublishedParams != 0 && math.Abs(computed/published-1) > 0.1 {
		return fmt.Errorf("params is %.4g, but the shape gives %.4g: one of the fields is wrong", published, computed)
	}
	if active := m.PublishedActive; active < 0 || float64(active) > 1.1*computed {
		return fmt.Errorf("active_params is %d, which is negative or above params", active)
	}
	return nil
}

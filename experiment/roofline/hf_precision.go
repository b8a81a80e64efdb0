package roofline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

type quantization struct {
	Method    string `json:"quant_method"`
	Algorithm string `json:"quant_algo"` // modelopt
	Bits      int    `json:"bits"`       // awq, gptq
	GroupSize int    `json:"group_size"`
	Groups    map[string]struct {
		Weights storedAs `json:"weights"`
	} `json:"config_groups"` // compressed-tensors
}

type storedAs struct {
	Bits      int    `json:"num_bits"`
	Type      string `json:"type"` // int, float
	GroupSize int    `json:"group_size"`
}

func (c *hfConfig) precision(m *Model) {
	dtype := cmp.Or(c.text("torch_dtype"), c.text("dtype"))
	name, ok := map[string]string{"bfloat16": "bf16", "float16": "fp16", "float32": "fp32", "": "bf16"}[dtype]
	if !ok {
		c.bad("torch_dtype is %q, not one of bfloat16, float16, float32", dtype)
	}
	if dtype == "" {
		c.notes = append(c.notes, "torch_dtype is missing: bf16 assumed")
	}
	m.Weights = name
	var q quantization
	if !c.decode("quantization_config", &q) {
		return
	}
	stored, err := q.precision()
	switch {
	case err != nil:
		c.bad("quantization_config: %w", err)
	case stored == "mxfp4" && m.MoE.Experts > 0: // gpt-oss: the experts alone
		m.ExpertWeights = stored
	default:
		m.Weights = stored
		c.notes = append(c.notes, "all weights but embeddings and output layer are assumed to be "+stored+
			": the list of unquantized layers is ignored")
	}
}

func (q quantization) precision() (string, error) {
	switch q.Method {
	case "fp8", "fbgemm_fp8":
		return "fp8", nil
	case "mxfp4":
		return "mxfp4", nil
	case "awq", "gptq":
		return storedAs{Bits: q.Bits, Type: "int", GroupSize: q.GroupSize}.precision()
	case "modelopt", "":
		if name, ok := map[string]string{"FP8": "fp8", "NVFP4": "nvfp4"}[q.Algorithm]; ok {
			return name, nil
		}
	case "compressed-tensors":
		names := map[string]bool{}
		for _, g := range q.Groups {
			name, err := g.Weights.precision()
			if err != nil {
				return "", err
			}
			names[name] = true
		}
		if all := slices.Collect(maps.Keys(names)); len(all) == 1 {
			return all[0], nil
		}
	}
	text, _ := json.Marshal(q) // cannot fail
	return "", fmt.Errorf("unknown quantization %s: set the precision in the entry to one of %v", text,
		PrecisionNames())
}

func (s storedAs) precision() (string, error) {
	for name, as := range map[string]storedAs{
		"fp8": {Bits: 8, Type: "float"}, "int8": {Bits: 8, Type: "int"},
		"nvfp4":     {Bits: 4, Type: "float", GroupSize: 16},
		"int4_g128": {Bits: 4, Type: "int", GroupSize: 128}, "int4_g32": {Bits: 4, Type: "int", GroupSize: 32},
	} {
		if as.Bits == s.Bits && as.Type == s.Type && (s.Bits == 8 || as.GroupSize == s.GroupSize) {
			return name, nil
		}
	}
	return "", fmt.Errorf("unknown precision: weights of %d bits (%s) in groups of %d", s.Bits, s.Type, s.GroupSize)
}

package roofline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

type kind int

const (
	inBF16 kind = iota
	inFP8
	inFP4
	inINT8
)

type precision struct {
	name  string
	bytes float64 // per element, including scales
	kind  kind
	ends  bool // also used for embeddings and output layer
}

func (p precision) endBytes() float64 {
	if p.ends {
		return p.bytes
	}
	return 2
}

// precisions: mxfp4 has an 8-bit scale for 32 values (OCP MX 1.0), nvfp4 one for 16. int4 has a 16-bit scale
// and a 4-bit zero in a group of 128, or 16 bits in a group of 32. q4_0, q8_0 and q*_k are the block formats
// of llama.cpp (ggml-common.h). A Q4_K_M file stores some tensors in more bits: the bound of q4_k is slightly
// too fast for it.
var precisions = []precision{
	{"bf16", 2, inBF16, true}, {"fp16", 2, inBF16, true}, {"fp32", 4, inBF16, true},
	{"fp8", 1, inFP8, false}, {"int8", 1, inINT8, false},
	{"mxfp4", 4.25 / 8, inFP4, false}, {"nvfp4", 4.5 / 8, inFP4, false},
	{"int4_g128", 4.125 / 8, inBF16, false}, {"int4_g32", 4.5 / 8, inBF16, false},
	{"q8_0", 34. / 32, inBF16, true}, {"q6_k", 210. / 256, inBF16, true}, {"q5_k", 176. / 256, inBF16, true},
	{"q4_k", 144. / 256, inBF16, true}, {"q4_0", 18. / 32, inBF16, true},
}

func lookUpPrecision(name string) (precision, bool) {
	name = cmp.Or(name, "bf16")
	for _, p := range precisions {
		if strings.EqualFold(p.name, name) {
			return p, true
		}
	}
	return precision{}, false
}

func precisionOf(name string) precision {
	p, _ := lookUpPrecision(name)
	return p
}

func (s Setup) WeightPrecision() string { return s.experts().name }

// CheckPrecision reports a name that is no precision; empty is bf16. field names it in the error.
func CheckPrecision(field, name string) error {
	if _, ok := lookUpPrecision(name); ok {
		return nil
	}
	return fmt.Errorf("%s is %q, not one of %s", field, name, strings.Join(PrecisionNames(), ", "))
}

func PrecisionNames() []string {
	names := make([]string, 0, len(precisions))
	for _, p := range precisions {
		names = append(names, p.name)
	}
	slices.Sort(names)
	return names
}

// Rates is one number for each kind of arithmetic; 0 = unknown or absent.
type Rates struct {
	BF16 float64 `json:"bf16,omitempty"`
	FP8  float64 `json:"fp8,omitempty"`
	FP4  float64 `json:"fp4,omitempty"`
	INT8 float64 `json:"int8,omitempty"`
}

func (r Rates) of(k kind) float64 { return [...]float64{r.BF16, r.FP8, r.FP4, r.INT8}[k] }

func (r Rates) times(x float64) Rates {
	return Rates{min(1, r.BF16*x), min(1, r.FP8*x), min(1, r.FP4*x), min(1, r.INT8*x)}
}

// kind is the format in which the device computes with weights of kind k. If it lacks k, weights are widened
// to bf16.
func (r Rates) kind(k kind) kind {
	if r.of(k) > r.BF16 {
		return k
	}
	return inBF16
}

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

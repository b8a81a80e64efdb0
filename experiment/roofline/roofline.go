// Package roofline says what the hardware allows, with the arithmetic: the
// time of one decode step (TPOT) and of one prefill (TTFT), from the bytes a
// model must read and the operations it must do, over what a device can read
// and do in a second.
//
// The order of its steps: a Model and a Device are looked up in two tables
// (find.go), or a Model is read from a config.json (hf.go); a Setup joins them
// with a number of GPUs and two precisions; a pass (pass.go) counts bytes and
// operations; Setup.Decode and Setup.Prefill divide them by rates. Setup.Predict
// puts these together for a workload; Calibrate finds the rates that a server
// was seen to reach.
//
// Every Bound has a floor, an expected time, and a band around that. The floor
// takes the peak rates, overlaps all that can overlap, lets all tokens choose the
// same experts, and leaves out communication and overheads: a measurement below
// it is an error, a cache hit, speculative decoding, or a wrong precision. The
// expected time takes the usual efficiencies of gpus.json, evenly spread experts,
// tensor parallelism with its all-reduces, and a constant per step; the band
// takes the efficiencies that good and poor engines have.
//
// Units: GB and GB/s are decimal (10⁹), as is TFLOP (10¹²). memory_gb is what the
// vendor prints and is taken as decimal too; what is printed as 80 GB often
// holds up to 7 % more (80 GiB), which roughly pays for the activations and
// graphs that CapacityTokens leaves out.
//
// Left out: queueing, the operations of linear layers and of sparse-attention
// indexers, and layouts other than tensor parallelism (no expert or
// data-parallel attention). It never measures anything and never looks at a
// server.
//
// Equations: Pope et al., Efficiently Scaling Transformer Inference,
// arXiv 2211.05102; jax-ml/scaling-book, inference.md; the all-reduce as in
// NVIDIA nccl-tests, doc/PERFORMANCE.md.
package roofline

import (
	"errors"
	"fmt"
	"math"
)

// Setup is a model on a machine. Check it once; the other methods take it as
// valid.
type Setup struct {
	Model       Model
	Device      Device
	GPUs        int         // tensor parallel width; 0 = 1
	Precision   string      // of the weights, such as "fp8"; "" = as published
	KVPrecision string      // of the KV cache; "" = bf16
	Efficiency  *Efficiency // what of the peaks is reached; nil = the table's defaults
}

// Term is one line of the arithmetic: Ms = 1000 · Amount / Rate.
type Term struct {
	Name     string  `json:"name"`
	Of       string  `json:"of,omitempty"` // what the amount is made of
	Amount   float64 `json:"amount"`
	Unit     string  `json:"unit"`
	Rate     float64 `json:"rate"`
	RateUnit string  `json:"rate_unit"` // Unit per second
	Ms       float64 `json:"ms"`
	// Hidden says that a longer term runs at the same time, so that this one
	// adds nothing to the sum.
	Hidden bool `json:"hidden,omitempty"`
}

// Bound is what the hardware allows for one time, in milliseconds: FloorMs ≤
// LowMs ≤ ExpectedMs ≤ HighMs.
type Bound struct {
	FloorMs    float64 `json:"floor_ms"`          // at the peak rates: faster is impossible
	LowMs      float64 `json:"low_ms,omitempty"`  // what good engines reach; from there to HighMs is the band
	ExpectedMs float64 `json:"expected_ms"`       // at the usual efficiencies
	HighMs     float64 `json:"high_ms,omitempty"` // slower needs a reason
	Terms      []Term  `json:"terms"`             // of the expected time: those not hidden add up to it
	Note       string  `json:"note,omitempty"`    // what the bound does not know
}

// Check reports every mistake in s.
func (s Setup) Check() error {
	var errs []error
	if err := s.Model.check(); err != nil {
		errs = append(errs, fmt.Errorf("model %q: %w", s.Model.ID, err))
	}
	if err := s.Device.check(); err != nil {
		errs = append(errs, fmt.Errorf("device %q: %w", s.Device.ID, err))
	}
	if s.GPUs < 0 || s.GPUs > maxGPUs {
		errs = append(errs, fmt.Errorf("gpus is %d, not within 0 to %d", s.GPUs, maxGPUs))
	}
	if err := checkPrecision("precision", s.Precision); err != nil {
		errs = append(errs, err)
	}
	if err := s.CheckKV(); err != nil {
		errs = append(errs, err)
	}
	if s.Efficiency != nil {
		if err := s.Efficiency.check(); err != nil {
			errs = append(errs, fmt.Errorf("efficiency: %w", err))
		}
	}
	return errors.Join(errs...)
}

const maxGPUs = 4096

// Decode is the bound on TPOT: one decode step for batch sequences that hold
// context tokens each on average. A batch below 1 counts as 1. It is
//
//	max(weights, compute) + max(KV, attention) + all-reduce + overhead
func (s Setup) Decode(batch, context float64) Bound {
	return s.bound(s.decode(batch, context))
}

// Prefill is the bound on TTFT: one request of input tokens, of which cached
// ones lie in the KV cache already, alone on the machine and in one piece. At
// least one token is always computed. Its attention is part of the compute:
//
//	max(weights, compute + attention) + KV + all-reduce + overhead
func (s Setup) Prefill(input, cached float64) Bound {
	return s.bound(s.prefill(input, cached))
}

// Loaded is the bound on TPOT in a steady load, where the prompts of new requests
// are computed in the steps that decode: requests of input tokens, cached of
// them in the KV cache, and of output tokens. It is not a bound where prompts
// are computed elsewhere (disaggregation).
func (s Setup) Loaded(batch, context, input, cached, output float64) Bound {
	return s.bound(s.loaded(batch, context, input, cached, output))
}

// DecodeMs is Decode's ExpectedMs, without the arithmetic and without
// allocation.
func (s Setup) DecodeMs(batch, context float64) float64 {
	return s.expect(s.decode(batch, context), s.usual(s.efficiency())).ms()
}

// PrefillMs is Prefill's ExpectedMs, likewise.
func (s Setup) PrefillMs(input, cached float64) float64 {
	return s.expect(s.prefill(input, cached), s.usual(s.efficiency())).ms()
}

// WeightBytes is the size of all weights, over all GPUs. Embeddings and the
// output layer count at 2 bytes unless the precision covers them too.
func (s Setup) WeightBytes() float64 {
	w, e := s.weights(), s.experts()
	ends := float64(s.Model.endParams())
	routed := float64(s.Model.routedParams())
	return ends*w.endBytes() + (float64(s.Model.Params())-ends-routed)*w.bytes + routed*e.bytes
}

// KVBytesPerToken is what one more token takes in the KV cache, over all
// layers and once, in an engine that gives every layer the whole context (or
// while the token is within every window). Copies for tensor parallelism and
// the constant state of linear layers are not in it.
func (s Setup) KVBytesPerToken() float64 {
	return s.Model.kv(1, s.kvBytes(), 1) - s.Model.stateBytes()
}

// CheckKV says what is wrong with the precision of the KV cache; nil: nothing.
func (s Setup) CheckKV() error { return checkPrecision("KV precision", s.KVPrecision) }

// KVBytes is what one sequence of that many tokens holds in the KV cache, over all layers and once, as
// Model.KVBytes, at the precision of the cache.
func (s Setup) KVBytes(tokens float64) float64 { return s.Model.KVBytes(tokens, s.kvBytes()) }

// usableMemory is the share of a GPU's memory that engines take by default.
const usableMemory = 0.9

// CapacityTokens is the number of KV tokens that fit beside the weights in 90 %
// of the memory, at KVBytesPerToken and with the copies of tensor parallelism:
// an engine that frees what a window has left behind holds more. 0 means that
// the memory is unknown or that the weights don't fit.
func (s Setup) CapacityTokens() int {
	free := usableMemory*s.gpus()*s.Device.MemoryGB*1e9 - s.WeightBytes()
	perToken := s.Model.kv(1, s.kvBytes(), s.width()) - s.Model.stateBytes()
	if free <= 0 || perToken <= 0 {
		return 0
	}
	return int(min(free/perToken, math.MaxInt32))
}

func (s *Setup) width() int         { return max(1, s.GPUs) }
func (s *Setup) gpus() float64      { return float64(s.width()) }
func (s *Setup) kvBytes() float64   { return precisionOf(s.KVPrecision).bytes }
func (s *Setup) weights() precision { return precisionOf(or(s.Precision, s.Model.Weights)) }
func (s *Setup) experts() precision {
	return precisionOf(or(s.Precision, or(s.Model.ExpertWeights, s.Model.Weights)))
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

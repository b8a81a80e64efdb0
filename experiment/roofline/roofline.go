// Package roofline computes what the hardware allows: the time of one decode step (TPOT) and of one prefill
// (TTFT), from the bytes that a model must read and the operations that it must do, over the rates of a
// device.
//
// The order of its steps: a Model and a Device are looked up in two tables (tables.go), or a Model is read
// from a config.json (hf.go). A Setup combines them with a number of GPUs and two precisions. A pass
// (pass.go) counts bytes and operations, and Setup.Decode and Setup.Prefill divide them by rates.
// Setup.Predict combines these for a workload. Calibrate fits the rates to measured times.
//
// Every Bound has a floor, an expected time, and a typical range around that. The floor uses the peak rates,
// overlaps everything that can overlap, lets all tokens choose the same experts, and ignores communication
// and overheads. A measurement below it is an error, a cache hit, speculative decoding, or a wrong precision.
// The expected time uses the default efficiencies of gpus.json, evenly spread experts, tensor parallelism
// with its all-reduces, and a constant per step. The typical range uses the efficiencies of fast and slow
// engines.
//
// Units: GB and GB/s are decimal (10⁹), as is TFLOP (10¹²). memory_gb is the nominal size, also taken as
// decimal. A device with nominally 80 GB often has up to 7 % more (80 GiB), which roughly equals the
// activations and graphs that CapacityTokens ignores.
//
// Ignored: queueing, the operations of linear layers and of sparse-attention indexers, and layouts other than
// tensor parallelism (no expert or data-parallel attention). The package never measures anything or contacts
// a server.
//
// It is longer than other packages because it covers the shapes of all current models (GQA, MLA, sliding
// windows, linear attention, experts) and their storage formats, each with its checks: fewer would make the
// roofline wrong for a model that users measure.
//
// Equations: Pope et al., Efficiently Scaling Transformer Inference, arXiv 2211.05102; jax-ml/scaling-book,
// inference.md; the all-reduce as in NVIDIA nccl-tests, doc/PERFORMANCE.md.
package roofline

import (
	"cmp"
	"errors"
	"fmt"
	"math"
)

// Setup is a model on a machine. All methods but Check need a setup that passed Check.
type Setup struct {
	Model       Model
	Device      Device
	GPUs        int         // tensor parallel width; 0 = 1
	Precision   string      // of the weights, such as "fp8"; "" = as published
	KVPrecision string      // of the KV cache; "" = bf16
	Efficiency  *Efficiency // reachable share of the peaks; nil = the table's defaults
}

// Term is one line of the arithmetic: Ms = 1000 · Amount / Rate.
type Term struct {
	Name     string  `json:"name"`
	Of       string  `json:"of,omitempty"` // what the amount consists of
	Amount   float64 `json:"amount"`
	Unit     string  `json:"unit"`
	Rate     float64 `json:"rate"`
	RateUnit string  `json:"rate_unit"` // Unit per second
	Ms       float64 `json:"ms"`
	// Hidden means that a longer term runs at the same time, so that this one adds nothing to the sum.
	Hidden bool `json:"hidden,omitempty"`
}

// Bound is the roofline bound on one time, in milliseconds: FloorMs ≤ LowMs ≤ ExpectedMs ≤ HighMs.
type Bound struct {
	FloorMs    float64 `json:"floor_ms"`          // roofline floor, at the peak rates: faster is impossible
	LowMs      float64 `json:"low_ms,omitempty"`  // start of the typical range: fast engines
	ExpectedMs float64 `json:"expected_ms"`       // with default efficiencies
	HighMs     float64 `json:"high_ms,omitempty"` // end of the typical range: slower needs an explanation
	Terms      []Term  `json:"terms"`             // of the expected time: the terms that are not hidden add up to it
	Note       string  `json:"note,omitempty"`    // limits of the bound's validity
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
	if err := CheckPrecision("precision", s.Precision); err != nil {
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

// Decode is the bound on TPOT: one decode step for batch sequences with a mean context of context tokens. A
// batch below 1 counts as 1. It is
//
//	max(weights, compute) + max(KV, attention) + all-reduce + overhead
func (s Setup) Decode(batch, context float64) Bound {
	return s.bound(s.decode(batch, context))
}

// Prefill is the bound on TTFT: one request of input tokens, the first cached of which are in the KV cache,
// alone on the machine and in one piece. At least one token is always computed. Its attention is part of the
// compute:
//
//	max(weights, compute + attention) + KV + all-reduce + overhead
func (s Setup) Prefill(input, cached float64) Bound {
	return s.bound(s.prefill(input, cached))
}

// Loaded is the bound on TPOT in a steady load, in which decode steps also compute the prompts of new
// requests: requests of input tokens, cached of them in the KV cache, and of output tokens. It does not apply
// with disaggregated prefill.
func (s Setup) Loaded(batch, context, input, cached, output float64) Bound {
	return s.bound(s.loaded(batch, context, input, cached, output))
}

// DecodeMs is Decode's ExpectedMs, without the arithmetic and without allocation.
func (s Setup) DecodeMs(batch, context float64) float64 {
	return s.expect(s.decode(batch, context), s.usual(s.efficiency())).ms()
}

// PrefillMs is Prefill's ExpectedMs, without the arithmetic and without allocation.
func (s Setup) PrefillMs(input, cached float64) float64 {
	return s.expect(s.prefill(input, cached), s.usual(s.efficiency())).ms()
}

// WeightBytes is the size of all weights, over all GPUs. Embeddings and the output layer count 2 bytes an
// element unless the precision includes them.
func (s Setup) WeightBytes() float64 {
	w, e := s.weights(), s.experts()
	ends := float64(s.Model.endParams())
	routed := float64(s.Model.routedParams())
	return ends*w.endBytes() + (float64(s.Model.Params())-ends-routed)*w.bytes + routed*e.bytes
}

// KVBytesPerToken is the size of one more token in the KV cache, over all layers and without copies, in an
// engine that keeps the whole context in every layer (or while the token is within every window). The
// constant state of linear layers is not included.
func (s Setup) KVBytesPerToken() float64 {
	return s.Model.kv(1, s.kvBytes(), 1) - s.Model.stateBytes()
}

// CheckKV reports an unknown precision of the KV cache.
func (s Setup) CheckKV() error { return CheckPrecision("KV precision", s.KVPrecision) }

// KVBytes is the size of one sequence of that many tokens in the KV cache, as Model.KVBytes, at the cache's
// precision.
func (s Setup) KVBytes(tokens float64) float64 { return s.Model.KVBytes(tokens, s.kvBytes()) }

// usableMemory is the share of a GPU's memory that engines use by default.
const usableMemory = 0.9

// CapacityTokens is the number of KV tokens that fit beside the weights into 90 % of the memory, at
// KVBytesPerToken and with the copies of tensor parallelism. An engine that frees KV outside of sliding
// windows holds more. 0 means that the memory is unknown or that the weights do not fit.
func (s Setup) CapacityTokens() int {
	free := usableMemory*s.gpus()*s.Device.MemoryGB*1e9 - s.WeightBytes()
	perToken := s.Model.kv(1, s.kvBytes(), s.width()) - s.Model.stateBytes()
	if free <= 0 || perToken <= 0 {
		return 0
	}
	return int(min(free/perToken, math.MaxInt32))
}

func (s *Setup) width() int { return max(1, s.GPUs) }

func (s *Setup) gpus() float64 { return float64(s.width()) }

func (s *Setup) kvBytes() float64 { return precisionOf(s.KVPrecision).bytes }

func (s *Setup) weights() precision { return precisionOf(cmp.Or(s.Precision, s.Model.Weights)) }

func (s *Setup) experts() precision {
	return precisionOf(cmp.Or(s.Precision, s.Model.ExpertWeights, s.Model.Weights))
}

// Place is the position of a measured time relative to a bound.
type Place string

// The places, from fast to slow.
const (
	BelowFloor Place = "below_floor" // an error, a cache hit, speculation, or a wrong precision or device
	Fast       Place = "fast"        // faster than the typical range
	Inside     Place = "inside"
	Slow       Place = "slow" // slower than the typical range: the hardware does not explain it
)

// Place compares a measured time with the bound.
func (b Bound) Place(ms float64) Place {
	switch {
	case ms < b.FloorMs:
		return BelowFloor
	case ms < b.LowMs:
		return Fast
	case ms <= b.HighMs:
		return Inside
	}
	return Slow
}

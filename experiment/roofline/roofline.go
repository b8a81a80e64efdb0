// Package roofline computes what the hardware allows: the time of one decode step (TPOT) and of one prefill (TTFT),
// from the bytes that a model must read and the operations that it must do, over the rates of a device.
//
// A Model and a Device are looked up in two tables (tables.go), or a Model is read from a config.json (hf.go). A
// Setup combines them with a number of GPUs and two precisions. A pass (pass.go) counts bytes and operations, which
// Setup.Decode and Setup.Prefill divide by rates; load.go adds the queue and the prompts of other requests.
// Setup.Predict combines these for a workload.
//
// Every Bound has a floor, an expected time, and a typical range around that. The floor uses the peak rates, overlaps
// all that can overlap, lets all tokens choose the same experts, and ignores communication and overheads. A
// measurement below it is an error, a cache hit, speculative decoding, or a wrong precision. The expected time uses
// the efficiencies of gpus.json; most published figures lie in the typical range.
//
// Units: GB, GB/s and TFLOP are decimal. memory_gb is the nominal size: a device of 80 GB often has up to 7 % more
// (80 GiB), about the activations and graphs that CapacityTokens ignores. Also ignored: the operations of linear
// layers and of sparse-attention indexers, uneven routing, and disaggregated prefill.
//
// Equations: Pope et al., Efficiently Scaling Transformer Inference, arXiv 2211.05102; jax-ml/scaling-book,
// inference.md; the all-reduce as in NVIDIA nccl-tests, doc/PERFORMANCE.md.
package roofline

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"

	"bench/experiment/unit"
)

// Setup is a model on a machine. All methods but Check need a setup that passed Check.
type Setup struct {
	Model       Model
	Device      Device
	GPUs        int         // 0 = 1
	Layout                  // how the GPUs divide the model
	Engine      string      // vllm, sglang, trtllm: for the front end; "" = unknown
	Precision   string      // of the weights, such as "fp8"; "" = as published
	KVPrecision string      // of the KV cache; "" = fp8 for nvfp4 weights, else bf16
	Efficiency  *Efficiency // what engines reach; nil = the table's. The device's own takes precedence
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

func (s Setup) Check() error {
	var x mistakes
	x.of(fmt.Sprintf("model %q", s.Model.ID), s.Model.check())
	x.of(fmt.Sprintf("device %q", s.Device.ID), s.Device.check())
	x.in("gpus", s.GPUs, 0, maxGPUs)
	x.precision("precision", s.Precision)
	x.precision("KV precision", s.KVPrecision)
	if s.Efficiency != nil {
		x.of("efficiency", s.Efficiency.check())
	}
	return errors.Join(x...)
}

const maxGPUs = 4096

// Decode is the bound on TPOT: one decode step for batch sequences with a mean context of context tokens. A
// batch below 1 counts as 1. It is
//
//	max(weights, compute) + max(KV, attention) + all-reduce + overhead
func (s Setup) Decode(batch, context float64) Bound {
	return decodePass(&s, batch, context).bound(&s, s.efficiency().TPOT)
}

// Prefill is the bound on TTFT: one request of input tokens, the first cached of which are in the KV cache,
// alone on the machine and in one piece. At least one token is always computed. Its attention is part of the
// compute:
//
//	front end + max(weights, compute + attention) + KV + all-reduce + overhead
func (s Setup) Prefill(input, cached float64) Bound {
	return prefillPass(&s, input, cached).bound(&s, s.efficiency().TTFT).behind(&s)
}

// DecodeMs is Decode's ExpectedMs, without the arithmetic and without allocation.
func (s Setup) DecodeMs(batch, context float64) float64 {
	return decodePass(&s, batch, context).expect(&s).ms()
}

// PrefillMs is Prefill's ExpectedMs without the front end, without the arithmetic and without allocation.
func (s Setup) PrefillMs(input, cached float64) float64 {
	return prefillPass(&s, input, cached).expect(&s).ms()
}

// WeightBytes is the size of all weights, over all GPUs. Embeddings and the output layer count 2 bytes an
// element unless the precision includes them.
func (s Setup) WeightBytes() float64 {
	w, e := s.weights(), s.experts()
	ends := float64(s.Model.endParams())
	routed := float64(s.Model.routedParams())
	rest := float64(s.Model.Params()) - ends - routed + s.copiedParams(&s.Model, s.gpus())
	return ends*w.endBytes() + rest*w.bytes + routed*e.bytes
}

// KVBytesPerToken is the size of one more token in the KV cache, over all layers and without copies, before any
// window ends. The constant state of linear layers is not included.
func (s Setup) KVBytesPerToken() float64 {
	return s.Model.kv(1, s.kvBytes(), 1) - s.Model.stateBytes()
}

func (s Setup) KVBytes(tokens float64) float64 { return s.Model.kv(tokens, s.kvBytes(), 1) }

const usableMemory = 0.9

// CapacityTokens is the number of KV tokens that fit beside the weights into 90 % of the memory, with the copies of
// tensor parallelism. 0: the memory is unknown or the weights do not fit.
func (s Setup) CapacityTokens() int {
	free := usableMemory*float64(s.all())*s.Device.MemoryGB*1e9 - s.WeightBytes()
	perToken := s.Model.kv(1, s.kvBytes(), s.kvWidth()) - s.Model.stateBytes()
	if free <= 0 || perToken <= 0 {
		return 0
	}
	return int(min(free/perToken, math.MaxInt32))
}

func (s *Setup) kvBytes() float64 { return precisionOf(s.kvPrecision()).bytes }

// kvPrecision: NVFP4 checkpoints declare an fp8 cache (kv_cache_quant_algo of NVIDIA's ModelOpt), the engines'
// default.
func (s *Setup) kvPrecision() string {
	if s.KVPrecision == "" && s.weights().name == "nvfp4" {
		return "fp8"
	}
	return cmp.Or(s.KVPrecision, "bf16")
}

func (s *Setup) weights() precision { return precisionOf(cmp.Or(s.Precision, s.Model.Weights)) }

func (s *Setup) experts() precision {
	return precisionOf(cmp.Or(s.Precision, s.Model.ExpertWeights, s.Model.Weights))
}

type Place string

const (
	BelowFloor Place = "below_floor" // an error, a cache hit, speculation, or a wrong precision or device
	Fast       Place = "fast"        // faster than the typical range
	Inside     Place = "inside"
	Slow       Place = "slow" // slower than the typical range: the hardware does not explain it
)

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

func (p pass) bound(s *Setup, usual Ranges) Bound {
	if err := s.Check(); err != nil {
		return Bound{Note: "no roofline: " + strings.ReplaceAll(err.Error(), "\n", "; ")}
	}
	x := p.expect(s)
	ms, floor, typ := x.ms(), p.floorMs(s), s.efficiency().typical(s, usual)
	return Bound{
		FloorMs: floor, LowMs: max(floor, ms*cmp.Or(typ.Low, 1)), ExpectedMs: ms, HighMs: ms * cmp.Or(typ.High, 1),
		Terms: x.terms(p, &s.Model), Note: p.note(s),
	}
}

func (x expected) terms(p pass, m *Model) []Term {
	longer := !x.additive // only the longer one of reading and computing counts
	byCompute, byScan := longer && x.compute() > x.weights(), longer && x.scan > x.kv
	byReading, byKV := longer && !byCompute, longer && !byScan
	var t []Term
	add := func(x Term) {
		if x.Ms > 0 {
			t = append(t, x.withRate())
		}
	}
	read := func(name, of string, bytes, ms float64, hidden bool) {
		add(Term{Name: name, Of: of, Amount: bytes / 1e9, Unit: "GB", Rate: x.bytesPerS / 1e9, Ms: ms, Hidden: hidden})
	}
	compute := func(name, of string, flops, ms float64, hidden bool) {
		add(Term{Name: name, Of: of, Amount: flops / 1e12, Unit: "TFLOP", Ms: ms, Hidden: hidden})
	}
	everyStep := float64(m.everyTokenParams() + m.headParams())
	read("weights", fmt.Sprintf("%.4g G parameters", everyStep/1e9), p.dense, x.dense, byCompute)
	moe := &m.MoE
	read("experts", fmt.Sprintf("%.4g of %d experts in %d layers", moe.distinct(p.tokens), moe.Experts, moe.Layers),
		p.experts, x.experts, byCompute)
	compute("compute", fmt.Sprintf("tokens: %.4g", p.tokens), p.flops+p.expertFlops, x.linear, byReading)
	compute("attention", "over the prompt", p.attention, x.attention, byReading)
	read("KV cache", fmt.Sprintf("%.4g × %.5g tokens", p.sequences, p.context), p.kv, x.kv, byScan)
	compute("attention", "over the KV cache", p.scan, x.scan, byKV)
	add(Term{Name: "all-reduce", Of: fmt.Sprintf("%.3g GB over each link", x.reduceBytes/1e9), Amount: x.reduces,
		Unit: "calls", Ms: x.reduce})
	add(Term{Name: "overhead", Amount: 1, Unit: "steps", Ms: x.overhead})
	return t
}

func (t Term) withRate() Term {
	t.Rate, t.RateUnit = cmp.Or(t.Rate, 1e3*t.Amount/t.Ms), t.Unit+"/s"
	return t
}

func (p pass) note(s *Setup) string {
	var notes []string
	if s.Device.DenseTFLOPS.BF16 == 0 {
		notes = append(notes, "the device's compute peak is unknown: memory bandwidth only")
	}
	if s.all() > 1 && s.Device.LinkGBs == 0 {
		notes = append(notes, "the device's link bandwidth is unknown: all-reduces are counted at minimum latency")
	}
	have := float64(s.all()) * s.Device.MemoryGB
	if need := s.WeightBytes() / 1e9; have > 0 && need > have {
		notes = append(notes, fmt.Sprintf("the weights do not fit: %.4g GB, but the memory is %.4g GB", need, have))
	}
	if p.experts > 1.001*p.leastExperts { // more than rounding
		notes = append(notes,
			"experts: expected time for even routing, floor for tokens that all choose the same experts")
	}
	if f := s.efficiency().Fitted; f != nil && !f.to(s) {
		notes = append(notes,
			fmt.Sprintf("the device's constants were fitted to %s (%s, %s): the typical range of all models is used",
				f.Model, f.Precision, unit.Plural(f.GPUs, "GPU")))
	}
	return strings.Join(notes, "; ")
}

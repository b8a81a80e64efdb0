package roofline

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"bench/experiment/published"
)

type Workload struct {
	Input, Cached, Output float64   // tokens of a request; the first Cached tokens of Input are in the KV cache
	Batches               []int     // numbers of requests in flight; nil = 1
	Rates                 []float64 // rates of arrivals per second, in place of a number in flight
	MaxSeqs               int       // the engine's limit of concurrent sequences; 0 = the capacity of the KV cache
}

const SchemaPredict = "bench/predict/v2"

type Prediction struct {
	Schema      string `json:"schema"`
	Model       string `json:"model"`
	Hardware    string `json:"hardware"`
	GPUs        int    `json:"gpus"`
	Layout             // how the GPUs divide the model
	Engine      string `json:"engine,omitempty"` // "" = any
	Precision   string `json:"precision"`        // of the weights
	KVPrecision string `json:"kv_precision"`     // of the KV cache

	Params       int64 `json:"params"`
	ActiveParams int64 `json:"active_params"`
	// KVBytes is a token's size over all layers, without copies, while it is within every window. KVGrowth is
	// its size when it is beyond all windows.
	KVBytes  float64 `json:"kv_bytes_per_token"`
	KVGrowth float64 `json:"kv_bytes_per_token_beyond_windows"`

	Input  float64 `json:"input_tokens"`
	Cached float64 `json:"cached_tokens"`
	Output float64 `json:"output_tokens"`

	Rule     Rule      `json:"rule_of_thumb"`
	Capacity Capacity  `json:"capacity"`
	TTFT     Bound     `json:"ttft"` // at the lowest of the batches
	Decode   []Decoded `json:"decode"`
	Rates    []Load    `json:"rates,omitempty"`
	// batch at which computing takes as long as reading the weights; 0 = none, or unknown
	Critical float64 `json:"critical_batch"`
	Peak     Peak    `json:"peak"`

	// Published are figures that others published for this setup and these lengths, with the expected values over
	// them; PublishedFor is what others are for, if there are none. The caller sets both.
	Published    []published.Compared `json:"published,omitempty"`
	PublishedFor *published.Shapes    `json:"published_for,omitempty"`
}

// Rule is the common rule of thumb: each token reads all weights once (with experts: those that the token
// uses), at the peak.
type Rule struct {
	WeightsGB float64 `json:"weights_gb"`
	GBs       float64 `json:"bandwidth_gb_s"`
	Ms        float64 `json:"ms_per_token"`
	PerS      float64 `json:"tokens_per_s"`
}

// Capacity is what fits beside the weights into 90 % of the memory. Zero tokens: the weights do not fit, or
// the memory is unknown.
type Capacity struct {
	MemoryGB  float64 `json:"memory_gb"` // of all GPUs; 0 = unknown
	WeightsGB float64 `json:"weights_gb"`
	KVGB      float64 `json:"kv_gb"`          // memory for the KV cache
	Tokens    int     `json:"tokens"`         // in an engine that keeps the whole context in every layer
	Context   float64 `json:"context_tokens"` // of one sequence
	// Sequences of Context tokens that fit, in an engine that frees KV outside of sliding windows.
	Sequences int `json:"sequences"`
}

type Decoded struct {
	Batch   int     `json:"batch"`
	Context float64 `json:"context_tokens"` // mean during the answer: the input and half of the output
	Step    Bound   `json:"step"`           // of a step that decodes the whole batch and computes no prompt
	TPOT    Bound   `json:"tpot"`           // with the prompts of others between the steps
	TTFT    Bound   `json:"ttft"`           // with the queue
	PerS    float64 `json:"output_tokens_per_s"`
	MBU     float64 `json:"mbu"`  // memory bandwidth utilisation in the expected time of the step
	Fits    bool    `json:"fits"` // the KV cache and the engine's limit admit this many; true if both are unknown
}

// Peak is the expected peak throughput: with as many requests in flight as fit. It is no limit: engines in the fast
// half of the typical range exceed it.
type Peak struct {
	Batch     int     `json:"batch"`
	Why       string  `json:"why"` // what limits the batch
	TPOT      Bound   `json:"tpot"`
	TTFT      Bound   `json:"ttft"`
	OutputPer float64 `json:"output_tokens_per_s"`
	PerGPU    float64 `json:"output_tokens_per_s_per_gpu"`
	RequestsS float64 `json:"requests_per_s"`
	// LowPerS and HighPerS are the output tokens/s at the slow and fast end of the typical range of TPOT.
	LowPerS  float64 `json:"output_tokens_per_s_low"`
	HighPerS float64 `json:"output_tokens_per_s_high"`
}

const mostTokens = 10_000_000

func (w Workload) Check() error {
	var errs []error
	within := func(name string, x, least, most float64) {
		if !(x >= least && x <= most) {
			errs = append(errs, fmt.Errorf("%s is %g, not within %g to %g", name, x, least, most))
		}
	}
	within("input", w.Input, 1, mostTokens)
	within("output", w.Output, 1, mostTokens)
	within("cached", w.Cached, 0, atLeast(0, w.Input-1))
	within("max seqs", float64(w.MaxSeqs), 0, mostTokens)
	for _, b := range w.Batches {
		within("batch", float64(b), 1, mostTokens)
	}
	for _, rate := range w.Rates {
		within("rate", rate, 1e-6, mostTokens)
	}
	return errors.Join(errs...)
}

// Predict computes all bounds of a workload. Setup and workload must have passed Check.
func (s Setup) Predict(w Workload) Prediction {
	p := Prediction{
		Schema: SchemaPredict, Model: s.Model.ID, Hardware: s.Device.ID, GPUs: s.all(),
		Layout: s.Layout, Engine: s.Engine,
		Precision: s.precisionName(), KVPrecision: s.kvPrecision(),
		Params: s.Model.Params(), ActiveParams: s.Model.ActiveParams(), KVBytes: s.KVBytesPerToken(),
		KVGrowth: s.Model.growth(s.kvBytes()),
		Input:    w.Input, Cached: w.Cached, Output: w.Output,
		Rule: ruleOf(&s), Capacity: s.Capacity(w.Input + w.Output),
		Critical: criticalBatch(&s), Peak: s.Peak(w),
	}
	batches := w.Batches
	if len(batches) == 0 {
		batches = []int{1}
	}
	for _, b := range batches {
		p.Decode = append(p.Decode, served{&s, w}.decoded(b, p.Capacity))
	}
	p.TTFT = slices.MinFunc(p.Decode, func(a, b Decoded) int { return cmp.Compare(a.Batch, b.Batch) }).TTFT
	for _, rate := range w.Rates {
		p.Rates = append(p.Rates, s.AtRate(rate, w))
	}
	return p
}

func (v served) decoded(batch int, c Capacity) Decoded {
	context := v.w.Input + v.w.Output/2
	load, running := v.AtConcurrency(float64(batch), v.w), min(float64(batch), v.mostRunning())
	d := Decoded{Batch: batch, Context: context, Step: v.Decode(running, context), TPOT: load.TPOT, TTFT: load.TTFT,
		PerS: load.OutputPerS, Fits: !load.Saturated && (c.MemoryGB == 0 || c.Sequences > 0)}
	d.MBU = v.MBU(running, context, d.Step.ExpectedMs)
	return d
}

func (s *Setup) precisionName() string {
	if s.Model.MoE.Experts > 0 && s.weights() != s.experts() {
		return s.weights().name + ", experts " + s.experts().name
	}
	return s.weights().name
}

func ruleOf(s *Setup) Rule {
	bytes := s.WeightBytes()
	if m := &s.Model; m.MoE.Experts > 0 {
		p := weightsPass(s, 1)
		bytes = p.dense + p.experts
	}
	r := Rule{WeightsGB: bytes / 1e9, GBs: s.gpus() * s.Device.BandwidthGBs}
	r.Ms = 1e3 * r.WeightsGB / r.GBs
	r.PerS = 1e3 / r.Ms
	return r
}

func (s Setup) Capacity(context float64) Capacity {
	c := Capacity{MemoryGB: float64(s.all()) * s.Device.MemoryGB, WeightsGB: s.WeightBytes() / 1e9,
		Tokens: s.CapacityTokens(), Context: context}
	c.KVGB = max(0, usableMemory*c.MemoryGB-c.WeightsGB)
	if one := s.Model.kv(context, s.kvBytes(), s.kvWidth()); one > 0 {
		c.Sequences = int(min(c.KVGB*1e9/one, math.MaxInt32))
	}
	return c
}

// criticalBatch is the batch at which computing a decode step takes as long as reading its weights; 0 = none below a
// million, or the compute peak is unknown.
func criticalBatch(s *Setup) float64 {
	const most = 1e6
	computes := func(batch float64) bool {
		x := decodePass(s, batch, 0).expect(s)
		return x.compute() >= x.weights()
	}
	if !computes(most) {
		return 0
	}
	low, high := 1.0, most
	for high/low > 1.0001 {
		if mid := math.Sqrt(low * high); computes(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

func (s Setup) Peak(w Workload) Peak {
	held := s.Capacity(w.Input + w.Output)
	none := Bound{Terms: []Term{}}
	p := Peak{Batch: held.Sequences, Why: "capacity of the KV cache", TPOT: none, TTFT: none}
	switch {
	case w.MaxSeqs > 0 && (w.MaxSeqs < p.Batch || held.MemoryGB == 0):
		p.Batch, p.Why = w.MaxSeqs, "the engine's limit of concurrent sequences"
	case held.MemoryGB == 0:
		p.Why = "the device's memory is unknown: set the engine's limit of concurrent sequences"
	case p.Batch == 0:
		p.Why = "the weights leave no memory for a sequence"
	}
	if p.Batch == 0 {
		return p
	}
	n := float64(p.Batch)
	load := s.AtConcurrency(n, w)
	p.TTFT, p.TPOT, p.OutputPer, p.RequestsS = load.TTFT, load.TPOT, load.OutputPerS, load.RatePerS
	p.PerGPU = p.OutputPer / float64(s.all())
	perS := func(tpot float64) float64 {
		load.TPOT.ExpectedMs = tpot
		return load.perSecond(w).OutputPerS
	}
	p.LowPerS, p.HighPerS = perS(p.TPOT.HighMs), perS(p.TPOT.LowMs)
	return p
}

func (s Setup) MBU(batch, context, stepMs float64) float64 {
	p := decodePass(&s, batch, context)
	return 1e3 * (p.dense + p.experts + p.kv) / stepMs / (s.gpus() * s.Device.BandwidthGBs * 1e9)
}

// MFU is the share of the peak compute that these rates use, by the operations of the weights alone; ok is false if
// the peak is unknown. Only the last token of a prompt passes the output layer.
func (s Setup) MFU(promptPerS, outputPerS float64) (mfu float64, ok bool) {
	p := weightsPass(&s, promptPerS+outputPerS)
	p.flops += 2 * outputPerS * float64(s.Model.headParams())
	linear, _, _ := p.computeMs(&s, peaks)
	return linear / 1e3, s.Device.DenseTFLOPS.BF16 > 0
}

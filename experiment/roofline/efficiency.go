package roofline

import (
	"cmp"
	"errors"
	"math"
)

// Efficiency is how much of the peaks an engine reaches and what it adds to them; gpus.json states the source.
// A zero time adds nothing.
type Efficiency struct {
	Memory     float64 `json:"memory"`  // share of the memory bandwidth
	Compute    Rates   `json:"compute"` // share of the compute peak in products that every token passes
	ComputeOne float64 `json:"compute_one_token,omitempty"`
	// Experts is the share of the compute peak in the products of the routed experts if each has many tokens,
	// and ExpertTokens the number of tokens for each chosen expert at which they reach half of it; 0 = at once.
	Experts      float64 `json:"experts"`
	ExpertTokens float64 `json:"expert_tokens,omitempty"`
	Attention    float64 `json:"attention"` // share of the compute peak
	Link         float64 `json:"link"`      // share of the link's bandwidth
	// AllReduceUs is the least time of an all-reduce for each doubling of the GPUs, over NVLink or its like, and
	// BusAllReduceUs over slower links; 0 = AllReduceUs.
	AllReduceUs    float64 `json:"all_reduce_us,omitempty"`
	BusAllReduceUs float64 `json:"bus_all_reduce_us,omitempty"`
	// StepMs and Layer are added to each step: scheduling and sampling, and the part of kernels that overlaps with
	// nothing (launch, first and last block).
	StepMs float64    `json:"step_ms,omitempty"`
	Layer  LayerTimes `json:"layer_us,omitzero"`
	// FrontEndMs and FrontEndLayer are added to TTFT: HTTP, tokenizer, queue of the scheduler, and what the host does
	// for each layer of a prefill. They delay the request and not those that decode.
	FrontEndMs    float64    `json:"front_end_ms,omitempty"`
	FrontEndLayer LayerTimes `json:"front_end_layer_us,omitzero"`
	// Engines are factors on the front end of layers with experts and of special attention, by Setup.Engine: some
	// launch their kernels one by one, others as graphs. An engine that is not in it has 1.
	Engines map[string]float64 `json:"engines,omitempty"`
	// Additive means that reading and computing take turns, as on a CPU; otherwise they overlap. Devices with vendor
	// "cpu" are always additive.
	Additive bool `json:"additive,omitempty"`

	TTFT   Ranges     `json:"ttft_range,omitzero"`
	TPOT   Ranges     `json:"tpot_range,omitzero"`
	Fitted *FittedFor `json:"fitted,omitempty"` // to one server; nil = to published figures
	Source string     `json:"source"`
}

// FittedFor is what constants were fitted to. Only this has its own range: for other models, precisions and numbers of
// GPUs the constants are an estimate, with the ranges of all.
type FittedFor struct {
	Model     string `json:"model"`
	Precision string `json:"precision"` // of the weights
	GPUs      int    `json:"gpus"`
	Range     Range  `json:"range"`
}

type LayerTimes struct {
	Any     float64 `json:"any,omitempty"`
	Experts float64 `json:"experts,omitempty"` // more for a layer with experts
	Special float64 `json:"special_attention,omitempty"`
}

func (l LayerTimes) ms(m *Model) float64 {
	return (float64(m.Layers)*l.Any + l.additional(m)) / 1e3
}

func (l LayerTimes) additional(m *Model) float64 {
	us := float64(m.MoE.Layers) * l.Experts
	if m.MLA.KVLoraRank > 0 || m.Linear.Layers > 0 {
		us += float64(m.Layers) * l.Special
	}
	return us
}

type Ranges struct {
	Dense  Range `json:"dense,omitzero"`
	Sparse Range `json:"sparse,omitzero"` // mixtures of experts
}

// Range is the typical range of measured times, as factors on the expected time. Zero = no range.
type Range struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

func (r Ranges) of(m *Model) Range {
	if m.MoE.Layers > 0 {
		return r.Sparse
	}
	return r.Dense
}

// typical is the range of a time, of which these are the table's.
func (e *Efficiency) typical(s *Setup, usual Ranges) Range {
	if e.Fitted != nil && e.Fitted.to(s) {
		return e.Fitted.Range
	}
	return usual.of(&s.Model)
}

func (f *FittedFor) to(s *Setup) bool {
	return *f == FittedFor{s.Model.ID, s.precisionName(), s.all(), f.Range}
}

var EngineNames = []string{"vllm", "sglang", "trtllm"}

func (s *Setup) efficiency() *Efficiency {
	switch {
	case s.Device.Efficiency != nil:
		return s.Device.Efficiency
	case s.Efficiency != nil:
		return s.Efficiency
	}
	return &defaults().Efficiency
}

func (s Setup) FrontEndMs() float64 {
	e := s.efficiency()
	more := e.FrontEndLayer.additional(&s.Model) / 1e3
	return e.FrontEndMs + e.FrontEndLayer.ms(&s.Model) + more*(cmp.Or(e.Engines[s.Engine], 1)-1)
}

func (e *Efficiency) expertShare(m MoE, tokens float64) float64 {
	if m.Experts == 0 {
		return 1
	}
	each := tokens * float64(m.TopK) / m.distinct(tokens)
	return e.Experts * each / (each + e.ExpertTokens)
}

func (e *Efficiency) allReduceUs(linkGBs, gpus float64) float64 {
	const nvlink = 200 // GB/s in one direction; PCIe 5.0 x16 has 64
	us := e.AllReduceUs
	if linkGBs < nvlink {
		us = cmp.Or(e.BusAllReduceUs, us)
	}
	return us * math.Log2(gpus)
}

func (e Efficiency) check() error {
	c := e.Compute
	var x mistakes
	shares := []number{{"memory", e.Memory}, {"compute.bf16", c.BF16}, {"compute.fp8", c.FP8}, {"compute.fp4", c.FP4},
		{"compute.int8", c.INT8}, {"experts", e.Experts}, {"attention", e.Attention}, {"link", e.Link}}
	for _, s := range shares {
		if s.value == 0 {
			x.bad("%s is missing", s.name)
		}
	}
	x.small(1, append(shares, number{"compute_one_token", e.ComputeOne}))
	times := []number{{"expert_tokens", e.ExpertTokens}, {"all_reduce_us", e.AllReduceUs},
		{"bus_all_reduce_us", e.BusAllReduceUs}, {"step_ms", e.StepMs}, {"front_end_ms", e.FrontEndMs}}
	for name, l := range map[string]LayerTimes{"layer_us": e.Layer, "front_end_layer_us": e.FrontEndLayer} {
		times = append(times, number{name + ".any", l.Any}, number{name + ".experts", l.Experts},
			number{name + ".special_attention", l.Special})
	}
	for engine, factor := range e.Engines {
		times = append(times, number{"engines." + engine, factor})
	}
	x.small(1e6, times)
	if f := e.Fitted; f != nil && (f.Model == "" || f.Precision == "" || f.GPUs < 1) {
		x.bad("fitted needs a model, a precision and gpus")
	}
	for name, r := range e.ranges() {
		if r != (Range{}) && !(r.Low > 0 && r.Low <= 1 && r.High >= 1 && r.High <= 100) {
			x.bad("%s is %g to %g: low must be above 0 and at most 1, high 1 to 100", name, r.Low, r.High)
		}
	}
	return errors.Join(x...)
}

func (e *Efficiency) ranges() map[string]Range {
	all := map[string]Range{"ttft_range.dense": e.TTFT.Dense, "ttft_range.sparse": e.TTFT.Sparse,
		"tpot_range.dense": e.TPOT.Dense, "tpot_range.sparse": e.TPOT.Sparse}
	if e.Fitted != nil {
		all["fitted.range"] = e.Fitted.Range
	}
	return all
}

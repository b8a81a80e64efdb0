package roofline

import (
	"cmp"
	"errors"
	"fmt"
)

// Efficiency is the reachable share of the peaks; gpus.json states the source.
type Efficiency struct {
	ByGPUs []ByGPUs `json:"by_gpus"` // ascending; a width between two entries takes the smaller one
	// SmallBelowParams is the number of parameters below which a model is small: its matrices use less of the
	// bandwidth when they are divided among many GPUs.
	SmallBelowParams float64 `json:"small_below_params"`
	Compute          Rates   `json:"compute"`          // share of the compute peak, end to end
	Link             float64 `json:"link"`             // share of the link's bandwidth
	StepOverheadMs   float64 `json:"step_overhead_ms"` // scheduling, sampling and launching
	// Low and High are the ends of the typical range: the efficiencies of fast and slow engines. Zero = no
	// range.
	Low    Scale  `json:"low,omitzero"`
	High   Scale  `json:"high,omitzero"`
	Source string `json:"source"`
}

// ByGPUs are the numbers that depend on the tensor parallel width.
type ByGPUs struct {
	GPUs        int     `json:"gpus"`
	MemorySmall float64 `json:"memory_small"` // share of the memory bandwidth, small models
	MemoryLarge float64 `json:"memory_large"`
	AllReduceUs float64 `json:"all_reduce_us"` // minimum latency of one all-reduce
}

// Scale is one end of the typical range, as factors on an Efficiency. 0 = 1; a share stays at most 1.
type Scale struct {
	Memory    float64 `json:"memory,omitempty"`
	Compute   float64 `json:"compute,omitempty"`
	Link      float64 `json:"link,omitempty"`
	AllReduce float64 `json:"all_reduce,omitempty"` // on its minimum latency
	Overhead  float64 `json:"overhead,omitempty"`
	// MoELayerUs is added for each layer with experts: routing and the launches of small kernels.
	MoELayerUs float64 `json:"moe_layer_us,omitempty"`
}

// reached are the reachable rates of a setup: an Efficiency for one model at one width.
type reached struct {
	memory, link, allReduceUs, overheadMs float64

	compute Rates
}

// rates are the rates at the low end of the typical range, the default ones, and the rates at the high end.
func (s *Setup) rates() (low, usual, high reached) {
	e := s.efficiency()
	usual = s.usual(e)
	return s.scale(usual, e.Low), usual, s.scale(usual, e.High)
}

func (s *Setup) usual(e *Efficiency) reached {
	n := e.forWidth(s.width())
	r := reached{memory: n.MemoryLarge, link: e.Link, allReduceUs: n.AllReduceUs, overheadMs: e.StepOverheadMs, compute: e.Compute}
	if float64(s.Model.Params()) < e.SmallBelowParams {
		r.memory = n.MemorySmall
	}
	return r
}

func (s *Setup) scale(r reached, by Scale) reached {
	r.memory = min(1, r.memory*cmp.Or(by.Memory, 1))
	r.link = min(1, r.link*cmp.Or(by.Link, 1))
	r.allReduceUs *= cmp.Or(by.AllReduce, 1)
	r.overheadMs = r.overheadMs*cmp.Or(by.Overhead, 1) + float64(s.Model.MoE.Layers)*by.MoELayerUs/1e3
	r.compute = r.compute.times(cmp.Or(by.Compute, 1))
	return r
}

// times multiplies shares of a peak.
func (r Rates) times(x float64) Rates {
	return Rates{min(1, r.BF16*x), min(1, r.FP8*x), min(1, r.FP4*x), min(1, r.INT8*x)}
}

// forWidth is the entry of the widest group that is not wider than gpus.
func (e *Efficiency) forWidth(gpus int) ByGPUs {
	found := e.ByGPUs[0]
	for _, n := range e.ByGPUs {
		if n.GPUs <= gpus {
			found = n
		}
	}
	return found
}

func (s *Setup) efficiency() *Efficiency {
	if s.Efficiency != nil {
		return s.Efficiency
	}
	return &defaults().Efficiency
}

func (e Efficiency) check() error {
	c := e.Compute
	shares := []number{{"compute.bf16", c.BF16}, {"compute.fp8", c.FP8}, {"compute.fp4", c.FP4}, {"compute.int8", c.INT8}, {"link", e.Link}}
	times := []number{{"small_below_params", e.SmallBelowParams}, {"step_overhead_ms", e.StepOverheadMs}}
	last := 0
	var errs []error
	for i, n := range e.ByGPUs {
		name := fmt.Sprintf("by_gpus[%d].", i)
		shares = append(shares, number{name + "memory_small", n.MemorySmall}, number{name + "memory_large", n.MemoryLarge})
		times = append(times, number{name + "all_reduce_us", n.AllReduceUs})
		if n.GPUs <= last || (i == 0 && n.GPUs != 1) {
			errs = append(errs, fmt.Errorf("%sgpus is %d: the values must start at 1 and ascend", name, n.GPUs))
		}
		last = n.GPUs
	}
	if len(e.ByGPUs) == 0 {
		errs = append(errs, errors.New("by_gpus is empty"))
	}
	for _, s := range shares {
		if s.value == 0 {
			errs = append(errs, fmt.Errorf("%s is missing", s.name))
		}
	}
	errs = append(errs, checkNumbers(1, shares)...)
	errs = append(errs, checkNumbers(1e18, times)...)
	errs = append(errs, e.Low.check("low", 1, 100, 0.01, 1)...)
	return errors.Join(append(errs, e.High.check("high", 0.01, 1, 1, 100)...)...)
}

// check checks that an end of the range is on its side: shares and times move in opposite directions.
func (s Scale) check(end string, leastShare, mostShare, leastTime, mostTime float64) (errs []error) {
	within := func(name string, x, least, most float64) {
		if x != 0 && !(x >= least && x <= most) {
			errs = append(errs, fmt.Errorf("%s.%s is %g, not within %g to %g", end, name, x, least, most))
		}
	}
	within("memory", s.Memory, leastShare, mostShare)
	within("compute", s.Compute, leastShare, mostShare)
	within("link", s.Link, leastShare, mostShare)
	within("all_reduce", s.AllReduce, leastTime, mostTime)
	within("overhead", s.Overhead, leastTime, mostTime)
	if mostTime <= 1 {
		within("moe_layer_us", s.MoELayerUs, 0, 0)
	} else {
		within("moe_layer_us", s.MoELayerUs, 0, 1e4)
	}
	return errs
}

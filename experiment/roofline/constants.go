package roofline

import (
	"cmp"
	"math"
)

type constant struct {
	name, of string // "step overhead"; of what it is a share, empty for a time
	additive bool   // only where reading and computing take turns
	memory   bool   // of the memory bandwidth: without it there is no fit
	get      func(s *Setup) float64
	// set changes e, which belongs to the caller. A factor on the table's value keeps what was not measured (other
	// precisions, other models, more GPUs) in proportion.
	set func(e *Efficiency, s *Setup, value float64)
}

// constants, the first one that the points leave open to be given up first.
var constants = []constant{
	{
		name: "attention", of: "of the compute peak",
		get: func(s *Setup) float64 { return s.efficiency().Attention },
		set: func(e *Efficiency, _ *Setup, value float64) { e.Attention = value },
	},
	{
		name: "step overhead",
		get:  stepMs,
		set: func(e *Efficiency, s *Setup, ms float64) {
			if usual := stepMs(s); usual > 0 {
				by := ms / usual
				e.StepMs, e.Layer = e.StepMs*by, e.Layer.times(by)
				e.AllReduceUs, e.BusAllReduceUs = e.AllReduceUs*by, e.BusAllReduceUs*by
				return
			}
			e.StepMs = ms
		},
	},
	{
		name: "compute of one token", of: "of the compute peak", additive: true,
		get: func(s *Setup) float64 { return cmp.Or(s.efficiency().ComputeOne, computeShare(s)) },
		set: func(e *Efficiency, _ *Setup, value float64) { e.ComputeOne = value },
	},
	{
		name: "front end",
		get:  func(s *Setup) float64 { return s.FrontEndMs() },
		set: func(e *Efficiency, s *Setup, ms float64) {
			e.Engines = nil // ms is the measured engine's: no factor on it
			plain := *s
			plain.Engine = ""
			if usual := plain.FrontEndMs(); usual > 0 {
				e.FrontEndMs, e.FrontEndLayer = e.FrontEndMs*ms/usual, e.FrontEndLayer.times(ms/usual)
				return
			}
			e.FrontEndMs = ms
		},
	},
	{
		name: "compute", of: "of the compute peak",
		get: computeShare,
		set: func(e *Efficiency, s *Setup, value float64) {
			by := value / computeShare(s)
			e.Compute, e.Experts = e.Compute.times(by), min(1, e.Experts*by)
		},
	},
	{
		name: "memory", of: "of the memory bandwidth", memory: true,
		get: func(s *Setup) float64 { return s.efficiency().Memory },
		set: func(e *Efficiency, _ *Setup, value float64) { e.Memory = value },
	},
}

// stepMs is what a step takes beside reading and computing, with the least times of its all-reduces: no measurement
// on one number of GPUs tells them apart.
func stepMs(s *Setup) float64 {
	e := s.efficiency()
	ms := e.StepMs + e.Layer.ms(&s.Model)
	if s.gpus() > 1 {
		ms += 2 * float64(s.Model.Layers) * s.allReduceUs() / 1e3
	}
	return ms
}

func computeShare(s *Setup) float64 {
	if s.Model.MoE.Experts > 0 {
		return s.efficiency().Experts
	}
	return s.efficiency().Compute.of(s.Device.DenseTFLOPS.kind(s.weights().kind))
}

func (l LayerTimes) times(x float64) LayerTimes {
	return LayerTimes{l.Any * x, l.Experts * x, l.Special * x}
}

func (c *constant) variable(value float64) float64 {
	if c.of == "" {
		return value
	}
	return math.Log(value)
}

func (c *constant) value(variable float64) float64 {
	if c.of == "" {
		return variable
	}
	return math.Min(1, math.Exp(variable))
}

func (c *constant) limits(longest float64) (low, high float64) {
	if c.of == "" {
		return 0, longest
	}
	return math.Log(0.01), 0
}

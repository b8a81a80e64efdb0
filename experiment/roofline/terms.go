package roofline

import (
	"fmt"
	"strings"
)

// bound is the pass's time at the peak, with default rates, and at both ends of the typical range.
func (s *Setup) bound(p pass) Bound {
	if err := s.Check(); err != nil {
		return Bound{Note: "no roofline: " + strings.ReplaceAll(err.Error(), "\n", "; ")}
	}
	low, usual, high := s.rates()
	x := s.expect(p, usual)
	return Bound{
		FloorMs: s.floorMs(p), LowMs: s.expect(p, low).ms(), ExpectedMs: x.ms(), HighMs: s.expect(p, high).ms(),
		Terms: s.terms(p, x), Note: s.note(p),
	}
}

func (s *Setup) terms(p pass, x expected) []Term {
	byCompute, byScan := x.compute() > x.weights(), x.scan > x.kv
	gbs := x.bytesPerS / 1e9
	t := []Term{{Name: "weights", Of: fmt.Sprintf("%.4g G parameters", s.readParams()/1e9), Amount: p.dense / 1e9, Unit: "GB", Rate: gbs, RateUnit: "GB/s", Ms: x.dense, Hidden: byCompute}}
	if moe := s.Model.MoE; p.experts > 0 {
		of := fmt.Sprintf("%.4g of %d experts in %d layers", moe.distinct(p.tokens), moe.Experts, moe.Layers)
		t = append(t, Term{Name: "experts", Of: of, Amount: p.experts / 1e9, Unit: "GB", Rate: gbs, RateUnit: "GB/s", Ms: x.experts, Hidden: byCompute})
	}
	t = appendCompute(t, "compute", fmt.Sprintf("tokens: %.4g", p.tokens), p.flops+p.expertFlops, x.linear, !byCompute)
	t = appendCompute(t, "attention", "over the prompt", p.attention, x.attention, !byCompute)
	if x.kv > 0 {
		of := fmt.Sprintf("%.4g × %.5g tokens", p.sequences, p.context)
		t = append(t, Term{Name: "KV cache", Of: of, Amount: p.kv / 1e9, Unit: "GB", Rate: gbs, RateUnit: "GB/s", Ms: x.kv, Hidden: byScan})
	}
	t = appendCompute(t, "attention", "over the KV cache", p.scan, x.scan, !byScan)
	t = s.appendReduce(t, x)
	if x.overhead > 0 {
		t = append(t, Term{Name: "overhead", Amount: 1, Unit: "steps", Rate: 1e3 / x.overhead, RateUnit: "steps/s", Ms: x.overhead})
	}
	return t
}

// readParams is the number of parameters that every step reads.
func (s *Setup) readParams() float64 {
	return float64(s.Model.everyTokenParams() + s.Model.headParams())
}

func appendCompute(t []Term, name, of string, flops, ms float64, hidden bool) []Term {
	if ms == 0 {
		return t
	}
	tflop := flops / 1e12
	return append(t, Term{Name: name, Of: of, Amount: tflop, Unit: "TFLOP", Rate: 1e3 * tflop / ms, RateUnit: "TFLOP/s", Ms: ms, Hidden: hidden})
}

func (s *Setup) appendReduce(t []Term, x expected) []Term {
	switch {
	case x.reduce == 0:
	case x.latencyBound:
		t = append(t, Term{Name: "all-reduce", Of: "at minimum latency", Amount: x.reduces, Unit: "calls", Rate: 1e3 * x.reduces / x.reduce, RateUnit: "calls/s", Ms: x.reduce})
	default:
		of := fmt.Sprintf("%.4g calls", x.reduces)
		t = append(t, Term{Name: "all-reduce", Of: of, Amount: x.reduceBytes / 1e9, Unit: "GB", Rate: x.linkPerS / 1e9, RateUnit: "GB/s", Ms: x.reduce})
	}
	return t
}

// note reports unknown inputs, and weights that do not fit.
func (s *Setup) note(p pass) string {
	var notes []string
	if s.Device.DenseTFLOPS.BF16 == 0 {
		notes = append(notes, "the device's compute peak is unknown: memory bandwidth only")
	}
	if s.width() > 1 && s.Device.LinkGBs == 0 {
		notes = append(notes, "the device's link bandwidth is unknown: all-reduces are counted at minimum latency")
	}
	have := s.gpus() * s.Device.MemoryGB
	if need := s.WeightBytes() / 1e9; have > 0 && need > have {
		notes = append(notes, fmt.Sprintf("the weights do not fit: %.4g GB, but the memory is %.4g GB", need, have))
	}
	if p.experts > 1.001*p.leastExperts { // more than rounding
		notes = append(notes, "experts: expected time for even routing, floor for tokens that all choose the same experts")
	}
	return strings.Join(notes, "; ")
}

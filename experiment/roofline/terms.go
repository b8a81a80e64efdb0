package roofline

import (
	"cmp"
	"fmt"
	"strings"

	"bench/experiment/unit"
)

func (s *Setup) bound(p pass, usual Ranges) Bound {
	if err := s.Check(); err != nil {
		return Bound{Note: "no roofline: " + strings.ReplaceAll(err.Error(), "\n", "; ")}
	}
	x := s.expect(p)
	ms, floor, typ := s.ms(x), s.floorMs(p), s.typical(usual)
	return Bound{
		FloorMs: floor, LowMs: max(floor, ms*cmp.Or(typ.Low, 1)), ExpectedMs: ms, HighMs: ms * cmp.Or(typ.High, 1),
		Terms: s.terms(p, x), Note: s.note(p),
	}
}

func (s *Setup) terms(p pass, x expected) []Term {
	longer := !s.additive() // only the longer one of reading and computing counts
	byCompute, byScan := longer && x.compute() > x.weights(), longer && x.scan > x.kv
	byReading, byKV := longer && !byCompute, longer && !byScan
	gbs := x.bytesPerS / 1e9
	t := []Term{{Name: "weights", Of: fmt.Sprintf("%.4g G parameters", s.readParams()/1e9), Amount: p.dense / 1e9,
		Unit: "GB", Rate: gbs, RateUnit: "GB/s", Ms: x.dense, Hidden: byCompute}}
	if moe := s.Model.MoE; p.experts > 0 {
		of := fmt.Sprintf("%.4g of %d experts in %d layers", moe.distinct(p.tokens), moe.Experts, moe.Layers)
		t = append(t, Term{Name: "experts", Of: of, Amount: p.experts / 1e9, Unit: "GB", Rate: gbs, RateUnit: "GB/s",
			Ms: x.experts, Hidden: byCompute})
	}
	t = appendCompute(t, "compute", fmt.Sprintf("tokens: %.4g", p.tokens), p.flops+p.expertFlops, x.linear, byReading)
	t = appendCompute(t, "attention", "over the prompt", p.attention, x.attention, byReading)
	if x.kv > 0 {
		of := fmt.Sprintf("%.4g × %.5g tokens", p.sequences, p.context)
		t = append(t, Term{Name: "KV cache", Of: of, Amount: p.kv / 1e9, Unit: "GB", Rate: gbs, RateUnit: "GB/s",
			Ms: x.kv, Hidden: byScan})
	}
	t = appendCompute(t, "attention", "over the KV cache", p.scan, x.scan, byKV)
	t = appendReduce(t, x)
	if x.overhead > 0 {
		t = append(t, Term{Name: "overhead", Amount: 1, Unit: "steps", Rate: 1e3 / x.overhead, RateUnit: "steps/s",
			Ms: x.overhead})
	}
	return t
}

func (s *Setup) readParams() float64 {
	return float64(s.Model.everyTokenParams() + s.Model.headParams())
}

func appendCompute(t []Term, name, of string, flops, ms float64, hidden bool) []Term {
	if ms == 0 {
		return t
	}
	tflop := flops / 1e12
	return append(t, Term{Name: name, Of: of, Amount: tflop, Unit: "TFLOP", Rate: 1e3 * tflop / ms, RateUnit: "TFLOP/s",
		Ms: ms, Hidden: hidden})
}

func appendReduce(t []Term, x expected) []Term {
	if x.reduce == 0 {
		return t
	}
	of := fmt.Sprintf("%.3g GB over each link", x.reduceBytes/1e9)
	return append(t, Term{Name: "all-reduce", Of: of, Amount: x.reduces, Unit: "calls",
		Rate: 1e3 * x.reduces / x.reduce, RateUnit: "calls/s", Ms: x.reduce})
}

func (s *Setup) note(p pass) string {
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
	if f := s.efficiency().Fitted; f != nil && *f != s.fittedFor(f.Range) {
		notes = append(notes,
			fmt.Sprintf("the device's constants were fitted to %s (%s, %s): the typical range of all models is used",
				f.Model, f.Precision, unit.Plural(f.GPUs, "GPU")))
	}
	return strings.Join(notes, "; ")
}

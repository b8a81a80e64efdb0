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
	m := &s.Model
	everyStep := float64(m.everyTokenParams() + m.headParams())
	read("weights", fmt.Sprintf("%.4g G parameters", everyStep/1e9), p.dense, x.dense, byCompute)
	read("experts", fmt.Sprintf("%.4g of %d experts in %d layers", m.MoE.distinct(p.tokens), m.MoE.Experts, m.MoE.Layers),
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

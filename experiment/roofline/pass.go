package roofline

import (
	"fmt"
	"math"
	"strings"
)

// pass counts what one forward pass reads, does and sends, over all GPUs and
// before any efficiency.
type pass struct {
	weights      float64 // bytes of weights, the experts of evenly spread tokens among them
	leastWeights float64 // the same, if all tokens choose the same experts
	kv           float64 // bytes of KV read, with the copies of tensor parallelism
	leastKV      float64 // the same, each once
	flops        float64 // operations at the precision of the weights
	expertFlops  float64 // operations at the precision of the experts
	message      float64 // bytes of one all-reduce
}

func (s *Setup) decode(batch, context float64) pass {
	batch, context = atLeast(1, batch), atLeast(0, context)
	p := s.read(batch)
	p.kv = batch * s.Model.kvRead(context, s.kvBytes(), s.width())
	p.leastKV = batch * s.Model.kvRead(context, s.kvBytes(), 1)
	p.flops += 2 * batch * float64(s.Model.headParams())
	return p
}

// prefill attends causally, and computes the output layer for the last token
// only.
func (s *Setup) prefill(input, cached float64) pass {
	input = atLeast(1, input)
	cached = min(atLeast(0, cached), input-1)
	p := s.read(input - cached)
	if cached > 0 {
		p.kv = s.Model.kvRead(cached, s.kvBytes(), s.width())
		p.leastKV = s.Model.kvRead(cached, s.kvBytes(), 1)
	}
	p.flops += 2*float64(s.Model.headParams()) + s.Model.attentionFlops(input, cached)
	return p
}

// atLeast takes a NaN, the mean of nothing, as too small.
func atLeast(least, v float64) float64 {
	if v > least {
		return v
	}
	return least
}

// read is the pass of a number of tokens without attention and output layer.
func (s *Setup) read(tokens float64) pass {
	m, w, e := &s.Model, s.weights(), s.experts()
	layers := float64(m.everyTokenParams())
	head := float64(m.headParams()) * w.endBytes()
	expert := float64(m.MoE.Layers) * float64(m.expertParams())
	topK := float64(m.MoE.TopK)
	return pass{
		weights:      layers*w.bytes + head + m.MoE.distinct(tokens)*expert*e.bytes,
		leastWeights: layers*w.bytes + head + topK*expert*e.bytes,
		flops:        2 * tokens * layers,
		expertFlops:  2 * tokens * topK * expert,
		message:      tokens * float64(m.Hidden) * 2,
	}
}

// distinct is the expected number of experts in one layer that at least one of
// the tokens chooses, if the router spreads them evenly: E·(1−(1−k/E)^tokens).
func (m MoE) distinct(tokens float64) float64 {
	if m.Experts == 0 {
		return 0
	}
	e, k := float64(m.Experts), float64(m.TopK)
	return e * (1 - math.Pow(1-k/e, tokens))
}

// expected holds the parts of the expected time in ms, and the rates behind
// them.
type expected struct {
	weights, compute, kv, reduce, overhead float64

	bytesPerS    float64
	reduces      float64 // all-reduces in a pass
	reduceBytes  float64 // bytes through each GPU's link in a pass
	linkPerS     float64
	latencyBound bool // the all-reduces take their least time
}

func (x expected) ms() float64 { return max(x.weights, x.compute) + x.kv + x.reduce + x.overhead }

func (s *Setup) expect(p pass) expected {
	e := s.efficiency()
	n := e.at(s.width())
	x := expected{overhead: e.StepOverheadMs}
	share := n.MemoryLarge
	if float64(s.Model.Params()) < e.SmallBelowParams {
		share = n.MemorySmall
	}
	x.bytesPerS = s.gpus() * s.Device.BandwidthGBs * 1e9 * share
	x.weights = 1e3 * p.weights / x.bytesPerS
	x.kv = 1e3 * p.kv / x.bytesPerS
	x.compute = s.computeMs(p, e.Compute)
	s.allReduce(&x, p, n, e.Link)
	return x
}

// allReduce adds two all-reduces in each layer, after attention and after the
// MLP (Megatron-LM, arXiv 1909.08053), in a ring: 2·(g−1)/g of the message
// through each link, but never in less than the latency floor.
func (s *Setup) allReduce(x *expected, p pass, n ByGPUs, link float64) {
	g := s.gpus()
	if g < 2 {
		return
	}
	x.reduces = 2 * float64(s.Model.Layers)
	floor := x.reduces * n.AllReduceUs / 1e3
	x.reduceBytes = x.reduces * 2 * (g - 1) / g * p.message
	x.linkPerS = s.Device.LinkGBs * 1e9 * link
	if x.linkPerS > 0 {
		x.reduce = 1e3 * x.reduceBytes / x.linkPerS
	}
	if x.reduce <= floor {
		x.reduce, x.latencyBound = floor, true
	}
}

// computeMs is 0 where the device's peak is unknown.
func (s *Setup) computeMs(p pass, share Rates) float64 {
	kw, ke := s.Device.DenseTFLOPS.kind(s.weights().kind), s.Device.DenseTFLOPS.kind(s.experts().kind)
	return s.flopsMs(p.flops, kw, share) + s.flopsMs(p.expertFlops, ke, share)
}

func (s *Setup) flopsMs(flops float64, k kind, share Rates) float64 {
	rate := s.gpus() * s.Device.DenseTFLOPS.of(k) * 1e12 * share.of(k)
	if rate == 0 {
		return 0
	}
	return 1e3 * flops / rate
}

// floorMs overlaps reading with computing.
func (s *Setup) floorMs(p pass) float64 {
	read := 1e3 * (p.leastWeights + p.leastKV) / (s.gpus() * s.Device.BandwidthGBs * 1e9)
	return max(read, s.computeMs(p, Rates{1, 1, 1, 1}))
}

func (s *Setup) bound(p pass) Bound {
	if err := s.Check(); err != nil {
		return Bound{Note: "no bound: " + strings.ReplaceAll(err.Error(), "\n", "; ")}
	}
	x := s.expect(p)
	return Bound{FloorMs: s.floorMs(p), ExpectedMs: x.ms(), Terms: s.terms(p, x), Note: s.note(p)}
}

func (s *Setup) terms(p pass, x expected) []Term {
	gbs := x.bytesPerS / 1e9
	t := []Term{{Name: "weights", Amount: p.weights / 1e9, Unit: "GB", Rate: gbs, RateUnit: "GB/s", Ms: x.weights, Hidden: x.weights < x.compute}}
	if x.compute > 0 {
		tflop := (p.flops + p.expertFlops) / 1e12
		t = append(t, Term{Name: "compute", Amount: tflop, Unit: "TFLOP", Rate: 1e3 * tflop / x.compute, RateUnit: "TFLOP/s", Ms: x.compute, Hidden: x.compute <= x.weights})
	}
	if x.kv > 0 {
		t = append(t, Term{Name: "KV cache", Amount: p.kv / 1e9, Unit: "GB", Rate: gbs, RateUnit: "GB/s", Ms: x.kv})
	}
	switch {
	case x.reduce > 0 && x.latencyBound:
		t = append(t, Term{Name: "all-reduce", Amount: x.reduces, Unit: "calls", Rate: 1e3 * x.reduces / x.reduce, RateUnit: "calls/s", Ms: x.reduce})
	case x.reduce > 0:
		t = append(t, Term{Name: "all-reduce", Amount: x.reduceBytes / 1e9, Unit: "GB", Rate: x.linkPerS / 1e9, RateUnit: "GB/s", Ms: x.reduce})
	}
	if x.overhead > 0 {
		t = append(t, Term{Name: "overhead", Amount: 1, Unit: "steps", Rate: 1e3 / x.overhead, RateUnit: "steps/s", Ms: x.overhead})
	}
	return t
}

// note says what the tables don't know, and whether the weights fit at all.
func (s *Setup) note(p pass) string {
	var notes []string
	if s.Device.DenseTFLOPS.BF16 == 0 {
		notes = append(notes, "the device's compute peak is unknown: memory only")
	}
	if s.width() > 1 && s.Device.LinkGBs == 0 {
		notes = append(notes, "the device's link is unknown: the all-reduces take their least time")
	}
	have := s.gpus() * s.Device.MemoryGB
	if need := s.WeightBytes() / 1e9; have > 0 && need > have {
		notes = append(notes, fmt.Sprintf("the weights don't fit: %.4g GB into %.4g GB", need, have))
	}
	if p.weights > 1.001*p.leastWeights { // more than rounding
		notes = append(notes, "experts: expected for even routing, floor for tokens that all choose the same")
	}
	return strings.Join(notes, "; ")
}

package roofline

import "math"

// pass counts what one step of an engine reads, computes and sends, over all GPUs and before any efficiency:
// some prompt tokens, and one token for each of some decoding sequences.
type pass struct {
	dense        float64 // bytes of weights that every token passes, and of the output layer
	experts      float64 // bytes of the routed experts that evenly spread tokens choose
	leastExperts float64 // bytes of the routed experts if all tokens choose the same ones
	kv           float64 // bytes of KV read, including the copies of tensor parallelism
	leastKV      float64 // bytes of KV read without copies
	flops        float64 // operations at the precision of the weights
	expertFlops  float64 // operations at the precision of the experts
	attention    float64 // operations of the prompt's attention
	scan         float64 // operations of the decoding sequences' attention, during the reading of their KV
	message      float64 // bytes of one all-reduce

	tokens, sequences, context float64 // of the step
}

func (s *Setup) decode(batch, context float64) pass {
	return s.step(0, 0, atLeast(1, batch), atLeast(0, context))
}

func (s *Setup) prefill(input, cached float64) pass {
	input = atLeast(1, input)
	cached = min(atLeast(0, cached), input-1)
	return s.step(input-cached, cached, 0, 0)
}

// loaded is a decode step that also computes prompts, as in a steady load: when sequences end, new ones take
// their place, which makes input over output tokens of prompt per output token.
func (s *Setup) loaded(batch, context, input, cached, output float64) pass {
	batch, output = atLeast(1, batch), atLeast(1, output)
	input = atLeast(0, input)
	cached = min(atLeast(0, cached), input)
	ended := batch / output
	p, decode := s.read(batch+ended*(input-cached)), s.decode(batch, context)
	p.kv, p.leastKV, p.scan = decode.kv, decode.leastKV, decode.scan
	p.flops += 2 * (batch + ended) * float64(s.Model.headParams())
	p.attention = ended * s.Model.attentionFlops(input, cached)
	p.sequences, p.context = batch, decode.context
	return p
}

// step computes fresh tokens of a prompt after the cached ones, causally and with the output layer for the
// last one only, and decodes batch sequences.
func (s *Setup) step(fresh, cached, batch, context float64) pass {
	p := s.read(fresh + batch)
	outputs := batch
	if fresh > 0 {
		outputs++
		p.attention = s.Model.attentionFlops(cached+fresh, cached)
	}
	if fresh > 0 && cached > 0 {
		p.kv = s.Model.kvRead(cached, s.kvBytes(), s.width())
		p.leastKV = s.Model.kvRead(cached, s.kvBytes(), 1)
	}
	if batch > 0 {
		p.kv += batch * s.Model.kvRead(context, s.kvBytes(), s.width())
		p.leastKV += batch * s.Model.kvRead(context, s.kvBytes(), 1)
		p.scan = batch * s.Model.scanFlops(context)
	}
	p.flops += 2 * outputs * float64(s.Model.headParams())
	p.sequences, p.context = batch, context
	if batch == 0 {
		p.sequences, p.context = 1, cached
	}
	return p
}

// atLeast is at least least, also for NaN.
func atLeast(least, v float64) float64 {
	if v > least {
		return v
	}
	return least
}

// read is the pass of a number of tokens, without attention and output layer.
func (s *Setup) read(tokens float64) pass {
	m, w, e := &s.Model, s.weights(), s.experts()
	layers := float64(m.everyTokenParams())
	head := float64(m.headParams()) * w.endBytes()
	expert := float64(m.MoE.Layers) * float64(m.expertParams())
	topK := float64(m.MoE.TopK)
	return pass{
		dense:        layers*w.bytes + head,
		experts:      m.MoE.distinct(tokens) * expert * e.bytes,
		leastExperts: topK * expert * e.bytes,
		flops:        2 * tokens * layers,
		expertFlops:  2 * tokens * topK * expert,
		message:      tokens * float64(m.Hidden) * 2,
		tokens:       tokens,
	}
}

// distinct is the expected number of experts in one layer that at least one of the tokens chooses, with even
// routing: E·(1−(1−k/E)^tokens).
func (m MoE) distinct(tokens float64) float64 {
	if m.Experts == 0 {
		return 0
	}
	e, k := float64(m.Experts), float64(m.TopK)
	return e * (1 - math.Pow(1-k/e, tokens))
}

// expected are the parts of a step's time in ms, and the rates that give them.
type expected struct {
	dense, experts, linear, attention, kv, scan, reduce, overhead float64

	bytesPerS    float64
	reduces      float64 // all-reduces in a pass
	reduceBytes  float64 // bytes through each GPU's link in a pass
	linkPerS     float64
	latencyBound bool // the all-reduces take their minimum latency
}

func (x expected) weights() float64 { return x.dense + x.experts }
func (x expected) compute() float64 { return x.linear + x.attention }

func (x expected) ms() float64 {
	return max(x.weights(), x.compute()) + max(x.kv, x.scan) + x.reduce + x.overhead
}

func (s *Setup) expect(p pass, r reached) expected {
	x := expected{overhead: r.overheadMs}
	x.bytesPerS = s.gpus() * s.Device.BandwidthGBs * 1e9 * r.memory
	x.dense = 1e3 * p.dense / x.bytesPerS
	x.experts = 1e3 * p.experts / x.bytesPerS
	x.kv = 1e3 * p.kv / x.bytesPerS
	x.linear, x.attention, x.scan = s.computeMs(p, r.compute)
	s.allReduce(&x, p, r)
	return x
}

// allReduce adds two all-reduces in each layer, after attention and after the MLP (Megatron-LM, arXiv
// 1909.08053), in a ring: 2·(g−1)/g of the message over each link, but at least the minimum latency.
func (s *Setup) allReduce(x *expected, p pass, r reached) {
	g := s.gpus()
	if g < 2 {
		return
	}
	x.reduces = 2 * float64(s.Model.Layers)
	floor := x.reduces * r.allReduceUs / 1e3
	x.reduceBytes = x.reduces * 2 * (g - 1) / g * p.message
	x.linkPerS = s.Device.LinkGBs * 1e9 * r.link
	if x.linkPerS > 0 {
		x.reduce = 1e3 * x.reduceBytes / x.linkPerS
	}
	if x.reduce <= floor {
		x.reduce, x.latencyBound = floor, true
	}
}

// computeMs is 0 if the device's peak is unknown. Attention computes in fp8 only if the KV cache is fp8,
// whatever the weights are.
func (s *Setup) computeMs(p pass, share Rates) (linear, attention, scan float64) {
	peak := s.Device.DenseTFLOPS
	kw, ke, ka := peak.kind(s.weights().kind), peak.kind(s.experts().kind), inBF16
	if precisionOf(s.KVPrecision).kind == inFP8 {
		ka = peak.kind(inFP8)
	}
	linear = s.flopsMs(p.flops, kw, share) + s.flopsMs(p.expertFlops, ke, share)
	return linear, s.flopsMs(p.attention, ka, share), s.flopsMs(p.scan, ka, share)
}

func (s *Setup) flopsMs(flops float64, k kind, share Rates) float64 {
	rate := s.gpus() * s.Device.DenseTFLOPS.of(k) * 1e12 * share.of(k)
	if rate == 0 {
		return 0
	}
	return 1e3 * flops / rate
}

// floorMs assumes that reading and computing overlap completely.
func (s *Setup) floorMs(p pass) float64 {
	read := 1e3 * (p.dense + p.leastExperts + p.leastKV) / (s.gpus() * s.Device.BandwidthGBs * 1e9)
	linear, attention, scan := s.computeMs(p, Rates{1, 1, 1, 1})
	return max(read, linear+attention+scan)
}

package roofline

import (
	"cmp"
	"math"
)

// pass counts what one step reads, computes and sends, over all GPUs and before any efficiency.
type pass struct {
	dense        float64 // bytes of weights that every token passes, with copies, and of the output layer
	leastDense   float64 // without copies
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

func decodePass(s *Setup, batch, context float64) pass {
	return stepPass(s, 0, 0, atLeast(1, batch), atLeast(0, context))
}

func prefillPass(s *Setup, input, cached float64) pass {
	input = atLeast(1, input)
	cached = min(atLeast(0, cached), input-1)
	return stepPass(s, input-cached, cached, 0, 0)
}

// stepPass computes fresh tokens of a prompt after the cached ones, and decodes batch sequences.
func stepPass(s *Setup, fresh, cached, batch, context float64) pass {
	p := weightsPass(s, fresh+batch)
	outputs := batch
	if fresh > 0 {
		outputs++
		p.attention = s.Model.attentionFlops(cached+fresh, cached)
		s.concentrate(&p, &s.Model, fresh, 1, s.gpus())
	}
	if fresh > 0 && cached > 0 {
		p.readKV(s, 1, 1, cached)
	}
	if batch > 0 {
		held := s.held(batch, s.gpus())
		p.readKV(s, held, batch, context)
		p.scan = held * s.Model.scanFlops(context)
	}
	p.flops += 2 * outputs * float64(s.Model.headParams())
	p.sequences, p.context = batch, context
	if batch == 0 {
		p.sequences, p.context = 1, cached
	}
	return p
}

// readKV adds the KV of sequences of that many tokens; held is as many as the GPUs seem to hold.
func (p *pass) readKV(s *Setup, held, sequences, tokens float64) {
	p.kv += held * s.Model.kvRead(tokens, s.kvBytes(), s.kvWidth())
	p.leastKV += sequences * s.Model.kvRead(tokens, s.kvBytes(), 1)
}

// atLeast is at least least, also for NaN.
func atLeast(least, v float64) float64 {
	if v > least {
		return v
	}
	return least
}

func weightsPass(s *Setup, tokens float64) pass {
	m, w, e := &s.Model, s.weights(), s.experts()
	layers := float64(m.everyTokenParams())
	head := float64(m.headParams()) * w.endBytes()
	expert := float64(m.MoE.Layers) * float64(m.expertParams())
	topK := float64(m.MoE.TopK)
	return pass{
		dense:        (layers+s.copiedParams(m, s.gpus()))*w.bytes + head,
		leastDense:   layers*w.bytes + head,
		experts:      s.busiest(m.MoE.distinct(tokens), float64(m.MoE.Experts), s.gpus()) * expert * e.bytes,
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

type expected struct {
	dense, experts, linear, attention, kv, scan, reduce, overhead float64

	bytesPerS   float64
	reduces     float64 // all-reduces in a pass
	reduceBytes float64 // bytes through each GPU's link in a pass
	additive    bool    // reading and computing take turns
}

func (x expected) weights() float64 { return x.dense + x.experts }
func (x expected) compute() float64 { return x.linear + x.attention }

func (x expected) ms() float64 {
	return x.together(x.weights(), x.compute()) + x.together(x.kv, x.scan) + x.reduce + x.overhead
}

func (x expected) together(read, compute float64) float64 {
	if x.additive {
		return read + compute
	}
	return max(read, compute)
}

func (p pass) expect(s *Setup) expected {
	e := s.efficiency()
	x := expected{overhead: e.StepMs + e.Layer.ms(&s.Model), additive: s.Device.Vendor == "cpu" || e.Additive}
	x.bytesPerS = s.gpus() * s.Device.BandwidthGBs * 1e9 * min(1, e.Memory*cmp.Or(s.Device.Reach.Memory, 1))
	x.dense = 1e3 * p.dense / x.bytesPerS
	x.experts = 1e3 * p.experts / x.bytesPerS
	x.kv = 1e3 * p.kv / x.bytesPerS
	x.linear, x.attention, x.scan = p.computeMs(s, e.shares(s.Device.Reach, s.Model.MoE, p.tokens))
	x.allReduce(s, p.message)
	return x
}

// allReduce adds two all-reduces in each layer, after attention and after the MLP (Megatron-LM, arXiv
// 1909.08053): a least time, and 2·(g−1)/g of the message over each link. With data-parallel attention the first
// one is missing, and gathering the tokens for the MLP and scattering its results send as much as the second.
func (x *expected) allReduce(s *Setup, message float64) {
	g, e := s.gpus(), s.efficiency()
	if g < 2 {
		return
	}
	x.reduces = 2 * float64(s.Model.Layers)
	if s.AttentionDP {
		x.reduces /= 2
	}
	x.reduce = x.reduces * e.allReduceUs(s.Device.LinkGBs, g) / 1e3
	x.reduceBytes = x.reduces * 2 * (g - 1) / g * message
	if link := s.Device.LinkGBs * 1e9 * e.Link; link > 0 {
		x.reduce += 1e3 * x.reduceBytes / link
	}
}

type shares struct {
	linear             Rates
	experts, attention float64
}

func (e *Efficiency) shares(reach Reach, m MoE, tokens float64) shares {
	by := cmp.Or(reach.Compute, 1)
	if x := e.ComputeOne; x > 0 && tokens < 1.5 {
		return shares{Rates{x, x, x, x}, x, min(1, by*e.Attention)}
	}
	return shares{e.Compute.times(by), min(1, by*e.expertShare(m, tokens)), min(1, by*e.Attention)}
}

// computeMs is 0 if the device's peak is unknown. Attention computes in fp8 only if the KV cache is fp8,
// whatever the weights are.
func (p pass) computeMs(s *Setup, share shares) (linear, attention, scan float64) {
	peak, gpus := s.Device.DenseTFLOPS, s.gpus()
	kw, ke, ka := peak.kind(s.weights().kind), peak.kind(s.experts().kind), inBF16
	if precisionOf(s.kvPrecision()).kind == inFP8 {
		ka = peak.kind(inFP8)
	}
	linear = peak.ms(p.flops, kw, gpus, share.linear.of(kw)) + peak.ms(p.expertFlops, ke, gpus, share.experts)
	return linear, peak.ms(p.attention, ka, gpus, share.attention), peak.ms(p.scan, ka, gpus, share.attention)
}

// ms is the time of operations at a share of these TFLOP/s of each GPU.
func (r Rates) ms(flops float64, k kind, gpus, share float64) float64 {
	rate := gpus * r.of(k) * 1e12 * share
	if rate == 0 {
		return 0
	}
	return 1e3 * flops / rate
}

var peaks = shares{Rates{1, 1, 1, 1}, 1, 1}

// floorMs assumes that reading and computing overlap completely.
func (p pass) floorMs(s *Setup) float64 {
	read := 1e3 * (p.leastDense + p.leastExperts + p.leastKV) / (s.gpus() * s.Device.BandwidthGBs * 1e9)
	linear, attention, scan := p.computeMs(s, peaks)
	return max(read, linear+attention+scan)
}

// Chunk is a part of one prompt in a step: Tokens of it are computed, after Before tokens that are in the KV cache.
type Chunk struct{ Tokens, Before float64 }

// StepMs is the expected time of one step with continuous batching: chunks of prompts, and one token for each of
// decodes sequences with a mean context. The weights are read once, KV and attention are those of each.
func (s Setup) StepMs(chunks []Chunk, decodes, context float64) float64 {
	return mixedPass(&s, chunks, decodes, context).expect(&s).ms()
}

func mixedPass(s *Setup, chunks []Chunk, decodes, context float64) pass {
	fresh, before := 0.0, 0.0
	for _, c := range chunks {
		fresh += c.Tokens
		before += c.Before
	}
	p := stepPass(s, 0, 0, decodes, context)
	if fresh == 0 {
		return p
	}
	read := weightsPass(s, fresh+decodes)
	read.kv, read.leastKV, read.scan = p.kv, p.leastKV, p.scan
	for _, c := range chunks {
		read.attention += s.Model.attentionFlops(c.Before+c.Tokens, c.Before)
		if c.Before > 0 {
			read.readKV(s, 1, 1, c.Before)
		}
	}
	s.concentrate(&read, &s.Model, fresh, len(chunks), s.gpus())
	read.flops += 2 * (decodes + float64(len(chunks))) * float64(s.Model.headParams())
	read.sequences, read.context = decodes, context
	if decodes == 0 {
		read.sequences, read.context = float64(len(chunks)), before/float64(len(chunks))
	}
	return read
}

// Layout divides a model among GPUs. The zero value is tensor parallelism over all of them.
type Layout struct {
	// AttentionDP computes each sequence's attention on one GPU (data-parallel attention): the attention's weights are
	// copied, the KV cache is not.
	AttentionDP bool `json:"attention_dp,omitempty"`
	// ExpertParallel keeps each expert whole on one GPU; a layer waits for the GPU with the most experts to read.
	ExpertParallel bool `json:"expert_parallel,omitempty"`
}

func (s *Setup) all() int { return max(1, s.GPUs) }

func (s *Setup) gpus() float64 { return float64(s.all()) }

func (s *Setup) kvWidth() int {
	if s.AttentionDP {
		return 1
	}
	return s.all()
}

// held is the number of sequences that all GPUs seem to hold if each takes as long as the one with the most.
func (l Layout) held(batch, gpus float64) float64 {
	if !l.AttentionDP {
		return batch
	}
	return math.Ceil(batch/gpus) * gpus
}

func (l Layout) concentrate(p *pass, m *Model, fresh float64, prompts int, gpus float64) {
	if !l.AttentionDP {
		return
	}
	idle := gpus/min(gpus, float64(prompts)) - 1
	p.attention += idle * p.attention
	p.flops += idle * 2 * fresh * float64(m.attentionParams())
}

func (l Layout) copiedParams(m *Model, gpus float64) float64 {
	if !l.AttentionDP {
		return 0
	}
	return float64(m.attentionParams()) * (gpus - 1)
}

// busiest is the number of experts that all GPUs seem to read if each takes as long as the busiest: the mean of a GPU
// and √(2·ln g) standard deviations (about the largest of g normal numbers).
func (l Layout) busiest(distinct, experts, gpus float64) float64 {
	if !l.ExpertParallel || gpus < 2 || distinct <= 0 || distinct >= experts {
		return distinct
	}
	mean := distinct / gpus
	deviation := math.Sqrt(mean * (1 - distinct/experts))
	return min(experts, gpus*(mean+math.Sqrt(2*math.Log(gpus))*deviation))
}

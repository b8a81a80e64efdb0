package roofline

import (
	"math"

	"bench/experiment/published"
)

// Load is the expected times of a server in a steady load: a number of requests in flight, or a rate of Poisson
// arrivals. Prompts and decoding sequences share steps (continuous batching). It does not apply with disaggregated
// prefill.
type Load struct {
	Concurrency float64 `json:"concurrency"`               // requests in flight, mean
	Requested   float64 `json:"requested_per_s,omitempty"` // rate of arrivals, by AtRate
	RatePerS    float64 `json:"requests_per_s"`            // ended per second
	OutputPerS  float64 `json:"output_tokens_per_s"`       // of all requests
	TTFT        Bound   `json:"ttft"`                      // from sending: front end, queue, prefill
	TPOT        Bound   `json:"tpot"`                      // decode steps, and the prompts of others between them
	// more requests than the KV cache or the engine's limit admits wait
	Saturated bool `json:"saturated,omitempty"`
}

// served is a setup with what it serves.
type served struct {
	*Setup
	w Workload
}

// AtConcurrency is the load with this many requests in flight, of which a new one follows each that ends.
func (s Setup) AtConcurrency(requests float64, w Workload) Load {
	v := served{&s, w}
	most := v.mostRunning()
	active := min(atLeast(1, requests), most)
	x := v.occupied(active)
	if requests > most { // the others wait until one ends, each for an equal part of the cycle
		x.wait("for an earlier request to end", (requests-most)/most*x.cycleMs(w))
		x.Saturated = true
	}
	x.Concurrency = max(requests, active)
	return x.perSecond(w)
}

// AtRate is the load of this many Poisson arrivals per second. Saturated: the server ends fewer, and the queue grows
// as long as the load lasts; its times are those at the highest rate that it can serve.
func (s Setup) AtRate(perS float64, w Workload) Load {
	const enough = 1e-9 // relative change
	v := served{&s, w}
	most := v.mostRunning()
	for active := 0.0; ; {
		x, ok := v.arriving(perS, active)
		if !ok || x.Concurrency > most {
			break
		}
		if x.Concurrency-active <= enough*x.Concurrency {
			return x
		}
		active = x.Concurrency
	}
	x := s.AtConcurrency(min(most, mostTokens), w)
	x.Requested, x.Saturated = perS, true
	if x.RatePerS > perS { // a closed loop is steadier than arrivals
		x.RatePerS, x.OutputPerS = perS, perS*w.Output
	}
	return x
}

// arriving is the load of arrivals that find a number of running requests. Prompts take a share ρ of the time: a
// prompt waits for ρ/(2·(1−ρ)) others (Pollaczek–Khinchine, equal prompts). ok: time is left for decode steps.
func (v served) arriving(perS, active float64) (x Load, ok bool) {
	step, prompt, more := v.parts(active, active)
	busy := perS * more / 1e3
	if busy >= 1 || prompt.ExpectedMs == 0 {
		return x, false
	}
	x = Load{Requested: perS, RatePerS: perS, OutputPerS: perS * v.w.Output, TPOT: step, TTFT: prompt.behind(v.Setup)}
	x.stall(busy/(1-busy)*step.ExpectedMs/max(more, 1e-9), more)
	x.wait("for the step before", step.ExpectedMs/2*min(1, active))
	x.wait("for prompts before", busy/(2*(1-busy))*more)
	x.Concurrency = perS * x.cycleMs(v.w) / 1e3 // Little's law
	return x, true
}

func (v served) mostRunning() float64 {
	most := math.Inf(1)
	if c := v.Capacity(v.w.Input + v.w.Output); c.Sequences > 0 { // a model that does not fit: as if it did
		most = float64(c.Sequences)
	}
	if v.w.MaxSeqs > 0 {
		most = min(most, float64(v.w.MaxSeqs))
	}
	return most
}

// occupied is a closed loop with this many running requests. A new one waits for the end of a step and for ρ/(2−ρ)
// prompts, as no more can come than there are; in a cycle it waits at least once for the prompt of every other.
func (v served) occupied(active float64) Load {
	others := active - 1
	step, prompt, more := v.parts(active, others)
	x := Load{TPOT: step, TTFT: prompt.behind(v.Setup)}
	if prompt.ExpectedMs == 0 {
		return x
	}
	between := others / v.w.Output // prompts between two tokens
	if v.w.Output > 1 {            // else there is no second token
		x.stall(between, more)
	}
	busy := between * more / (step.ExpectedMs + between*more)
	x.wait("for the step before", step.ExpectedMs/2*min(1, others))
	x.wait("for prompts before", max(between, busy/(2-busy))*more)
	return x
}

// parts are a decode step, the step that computes a prompt beside others, and what the prompt adds to a step, in ms.
func (v served) parts(active, others float64) (step, prompt Bound, more float64) {
	s, w := v.Setup, v.w
	context := w.Input + w.Output/2
	step = decodePass(s, active, context).bound(s, s.efficiency().TPOT)
	if others > 0 {
		others = atLeast(1, others)
	}
	chunks := []Chunk{{w.Input - w.Cached, w.Cached}}
	prompt = mixedPass(s, chunks, others, context).bound(s, s.efficiency().TTFT)
	prompt.FloorMs = min(prompt.FloorMs, prefillPass(s, w.Input, w.Cached).floorMs(s))
	return step, prompt, max(0, prompt.ExpectedMs-step.ExpectedMs)
}

func (x *Load) stall(prompts, ms float64) {
	x.TPOT = x.TPOT.with(Term{Name: "prompts of others", Amount: prompts, Unit: "prompts", Rate: 1e3 / ms,
		Ms: prompts * ms})
}

// behind adds the front end.
func (b Bound) behind(s *Setup) Bound {
	return b.with(Term{Name: "front end", Of: s.Engine, Amount: 1, Unit: "requests", Ms: s.FrontEndMs()})
}

func (x *Load) wait(why string, ms float64) {
	x.TTFT = x.TTFT.with(Term{Name: "queue", Of: why, Amount: 1, Unit: "waits", Ms: ms})
}

func (x *Load) cycleMs(w Workload) float64 { return x.TTFT.ExpectedMs + (w.Output-1)*x.TPOT.ExpectedMs }

func (x Load) perSecond(w Workload) Load {
	if cycle := x.cycleMs(w); cycle > 0 {
		x.RatePerS = 1e3 * x.Concurrency / cycle
		x.OutputPerS = x.RatePerS * w.Output
	}
	return x
}

func (b Bound) with(t Term) Bound {
	if !(t.Ms > 0) || b.ExpectedMs <= 0 {
		return b
	}
	by := 1 + t.Ms/b.ExpectedMs
	b.LowMs, b.ExpectedMs, b.HighMs = max(b.FloorMs, b.LowMs*by), b.ExpectedMs*by, b.HighMs*by
	b.Terms = append(b.Terms[:len(b.Terms):len(b.Terms)], t.withRate())
	return b
}

// Published is the expected TTFT and TPOT of a published run, with the waits that its recipe adds to a steady load.
func (s Setup) Published(f published.Figure) (ttft, tpot Bound) {
	s.Engine, s.Layout = f.Engine, Layout{ExpertParallel: f.ExpertParallel > 1}
	recipe, w := f.Recipe(), Workload{Input: f.MeanInput(), Output: f.MeanOutput()}
	if recipe.KV != "" {
		s.KVPrecision = recipe.KV
	}
	x := s.AtConcurrency(float64(f.Concurrency), w)
	x.wait("for the scheduler", recipe.Steps*x.TPOT.ExpectedMs)
	x.wait("for requests that start together", recipe.Prompts*s.PrefillMs(w.Input, 0))
	return x.TTFT, x.TPOT
}

// DecodeSpeculated is decoding alone and under a load, for a server that drafts tokens and verifies them in one step of
// the model (Leviathan et al., arXiv 2211.17192): a step verifies a mean number of drafted tokens of each sequence, and
// yields a mean number of tokens. Drafting takes no time in it.
func (s Setup) DecodeSpeculated(batch, context, drafted, tokens float64, loaded Bound) (alone, underLoad Bound) {
	batch, context = atLeast(1, batch), atLeast(0, context)
	p := decodePass(&s, batch*(drafted+1), context)
	p.kv, p.leastKV, p.sequences = 0, 0, batch
	p.readKV(&s, batch, batch, context)
	plain := s.Decode(batch, context)
	alone = p.bound(&s, s.efficiency().TPOT)
	for i, x := range alone.times() {
		*x /= tokens
		*loaded.times()[i] += *x - *plain.times()[i]
	}
	for i := range alone.Terms {
		alone.Terms[i].Amount /= tokens
		alone.Terms[i].Ms /= tokens
	}
	return alone, loaded
}

func (b *Bound) times() [4]*float64 {
	return [4]*float64{&b.FloorMs, &b.LowMs, &b.ExpectedMs, &b.HighMs}
}

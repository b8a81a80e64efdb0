package verdict

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"bench/experiment/fixture"
	"bench/experiment/record"
	"bench/experiment/workload"
)

// engine is a server that batches continuously: a step prefills up to budget tokens, and all that run decode one.
type engine struct {
	name     string
	n        int
	workers  int
	rate     float64 // requests per second; 0 = closed loop
	constant bool
	ramp     bool // the rate grows from a half to one and a half
	closed   int  // concurrency

	base, perSeq, perToken float64 // ms of a step
	budget, maxSeqs        int
	input                  func(i int, rng *rand.Rand) int
	output                 int
	outputSpread           bool
	hits                   float64 // share of prompts whose prefill is cached, not reported
	tick                   float64 // steps end at its multiples, ms
	from                   float64 // ms of one worker that are found
	jitter, stalls         float64 // of a step's duration; share of steps that take 300 ms more
}

type sequence struct {
	i, worker                   int
	at, first, last             float64
	prompt, left, output, given int
}

// run sends the row; slow is added to the answers of the middle worker, ms.
func (p engine) run(slow float64, rng *rand.Rand) *Measured {
	e := &Measured{Row: &record.Row{Spec: fixture.Spec()}}
	e.Spec.Rate, e.Spec.Concurrency, e.Spec.Seed, e.Spec.Mix = workload.Rate(p.rate), p.closed, rng.Uint64(), nil
	e.Workers = make([]record.Worker, p.workers)
	deal := dealer{share: e.Spec.Share(0, p.workers), next: make([]int, p.workers)}
	coming := p.coming(&deal, rng)
	made := len(coming)
	var waiting, running []*sequence
	for now := 0.0; len(e.Records) < p.n; {
		for len(coming) > 0 && coming[0].at <= now {
			waiting, coming = append(waiting, coming[0]), coming[1:]
		}
		if len(waiting)+len(running) == 0 {
			now = p.ticked(coming[0].at)
			continue
		}
		for len(waiting) > 0 && len(running) < p.maxSeqs {
			running, waiting = append(running, waiting[0]), waiting[1:]
		}
		now = p.step(now, running, rng)
		kept := running[:0]
		for _, s := range running {
			if s.given < s.output {
				kept = append(kept, s)
				continue
			}
			delay := 0.0
			if s.worker == p.workers/2 {
				delay = slow
			}
			e.addRecord(s, delay)
			if p.rate == 0 && made < p.n {
				made++
				next := p.sequence(deal.take(s.worker), s.worker, s.last+delay+0.2*rng.Float64(), rng)
				at, _ := slices.BinarySearchFunc(coming, next, func(a, b *sequence) int { return cmp.Compare(a.at, b.at) })
				coming = slices.Insert(coming, at, next)
			}
		}
		running = kept
	}
	return e
}

func (p engine) sequence(i, worker int, at float64, rng *rand.Rand) *sequence {
	s := &sequence{i: i, worker: worker, at: at, prompt: p.input(i, rng), output: p.output}
	if s.left = s.prompt; rng.Float64() < p.hits {
		s.left = 1
	}
	if p.outputSpread {
		s.output = 2 + int(rng.ExpFloat64()*float64(p.output))
	}
	return s
}

func (p engine) coming(deal *dealer, rng *rand.Rand) (out []*sequence) {
	for i := range p.closed {
		w := deal.share.Owner(i)
		out = append(out, p.sequence(deal.take(w), w, 0, rng))
	}
	t := 0.0
	for i := 0; p.rate > 0 && i < p.n; i++ {
		gap := 1000 / p.rate
		if p.ramp {
			gap /= 0.5 + float64(i)/float64(p.n)
		}
		if !p.constant {
			gap *= rng.ExpFloat64()
		}
		t += gap
		out = append(out, p.sequence(i, deal.share.Owner(i), t, rng))
	}
	return out
}

// step is when the next step ends.
func (p engine) step(now float64, running []*sequence, rng *rand.Rand) float64 {
	budget, ms := p.budget, p.base
	var answered []*sequence
	for _, s := range running {
		if s.left == 0 {
			budget, ms, answered = budget-1, ms+p.perSeq, append(answered, s)
		}
	}
	for _, s := range running {
		if s.left > 0 && budget > 0 {
			n := min(s.left, budget)
			s.left, budget, ms = s.left-n, budget-n, ms+p.perToken*float64(n)
			if s.left == 0 {
				answered = append(answered, s)
			}
		}
	}
	ms *= math.Exp(p.jitter * rng.NormFloat64())
	if p.stalls > 0 && rng.Float64() < p.stalls {
		ms += 300
	}
	end := p.ticked(now + ms)
	for _, s := range answered {
		if s.given == 0 {
			s.first = end
		}
		s.given, s.last = s.given+1, end
	}
	return end
}

func (p engine) ticked(ms float64) float64 {
	if p.tick == 0 {
		return ms
	}
	return math.Ceil(ms/p.tick) * p.tick
}

func (e *Measured) addRecord(s *sequence, delay float64) {
	at := func(ms float64) record.Micros { return record.At(int64(math.Round(ms * 1000))) }
	r := &record.Record{I: s.i, Worker: &s.worker, Phase: record.PhaseWindow, Outcome: "ok", PromptTokens: &s.prompt, OutputTokens: s.output}
	r.Arrival, r.Ready, r.Sent = at(s.at), at(s.at), at(s.at)
	r.First, r.Last, r.End = at(s.first+delay), at(s.last+delay), at(s.last+delay)
	r.Gaps = record.Pack(r.Last.Us() - r.First.Us())
	e.Records = append(e.Records, r)
	e.Window.EndUs = max(e.Window.EndUs, r.End.Us())
}

func engines() (out []engine) {
	same := func(n int) func(int, *rand.Rand) int { return func(int, *rand.Rand) int { return n } }
	lengths := func(_ int, rng *rand.Rand) int { return 1 + int(300*math.Exp(0.98*rng.NormFloat64())) }
	two := func(_ int, rng *rand.Rand) int {
		if rng.Float64() < 0.1 {
			return 6000
		}
		return 100
	}
	period := func(i int, _ *rand.Rand) int { return []int{100, 400, 600, 2100, 900, 1300, 3000, 200}[i%8] }
	add := func(name string, change func(*engine)) {
		p := engine{from: 300, name: name, n: 400, workers: 4, rate: 20, base: 8, perSeq: 0.05, perToken: 0.02, budget: 2048, maxSeqs: 64, output: 16, input: lengths}
		change(&p)
		out = append(out, p)
	}
	add("engine 20/s", func(*engine) {})
	add("engine 60/s", func(p *engine) { p.rate = 60 })
	add("engine saturated", func(p *engine) { p.rate, p.maxSeqs = 100, 32 })
	add("engine two lengths", func(p *engine) { p.input, p.rate = two, 8 })
	add("engine periodic lengths", func(p *engine) { p.input, p.rate = period, 10 })
	add("engine hidden hits", func(p *engine) { p.hits, p.rate, p.input = 0.5, 10, same(2000) })
	add("engine constant", func(p *engine) { p.rate, p.constant, p.input = 100, true, same(100) })
	add("engine constant, jitter", func(p *engine) { p.rate, p.constant, p.input, p.jitter = 100, true, same(100), 0.01 })
	add("engine constant, ticks", func(p *engine) { p.rate, p.constant, p.input, p.tick = 100, true, same(100), 40 })
	add("engine constant, two workers", func(p *engine) { p.workers, p.rate, p.constant, p.input = 2, 40, true, same(100) })
	add("engine stalls", func(p *engine) { p.stalls = 0.01 })
	add("engine ramp", func(p *engine) { p.ramp, p.rate = true, 60 })
	add("engine long row", func(p *engine) { p.n, p.rate = 2000, 60 })
	closed := func(name string, concurrency int, input func(int, *rand.Rand) int, change func(*engine)) {
		add(name, func(p *engine) { p.rate, p.closed, p.input = 0, concurrency, input; change(p) })
	}
	closed("engine closed 4", 4, same(1000), func(*engine) {})
	closed("engine closed 8", 8, same(300), func(*engine) {})
	closed("engine closed 8, lengths", 8, lengths, func(*engine) {})
	closed("engine closed 6, two lengths", 6, two, func(*engine) {})
	closed("engine closed 10, jitter", 10, same(300), func(p *engine) { p.jitter = 0.02 })
	closed("engine closed 16, outputs", 16, lengths, func(p *engine) { p.outputSpread = true })
	closed("engine closed 64 in 32", 64, lengths, func(p *engine) { p.maxSeqs, p.n = 32, 800 })
	closed("engine closed 2, two workers", 2, same(300), func(p *engine) { p.workers = 2 })
	closed("engine closed 4, two workers", 4, same(100), func(p *engine) { p.workers, p.n = 2, 200 })
	return out
}

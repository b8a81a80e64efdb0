package mock

import (
	"slices"
	"time"

	"bench/experiment/mock/kv"
)

// simulated is an engine that works in steps as vLLM v1 does (v1/core/sched/scheduler.py): each step decodes one token for every running
// sequence, prefills prompts in chunks with what is left of the token budget, and takes as long as its contents say. Blocks are taken
// as sequences grow; when there are none left, the sequence that came last gives up its own, goes back to the head of the queue, and
// is computed anew when it is admitted again. Saturation, queueing, the slowing of decodes by prefills and the thrashing of a cache that is
// too small follow from that. There is no speculation.
type simulated struct {
	cfg       Config
	stepTime  func(*batch) time.Duration
	drift     drift
	counters  *counters
	pool      *kv.Pool
	offload   *offload // nil: there is no second tier
	waiting   []*seq   // by arrival
	loading   []*seq   // hold their blocks, and wait for the second tier; by the time at which that is done
	running   []*seq   // by admission; only the last can be in the middle of its prefill
	abandoned bool     // somebody among them is gone
	batch     batch
	busy      bool // a step is running, until end
	end       time.Duration
	idle      time.Duration // with nothing running: when a step was tried in vain, or before all
}

// batch is what a step computes.
type batch struct {
	decodes int     // sequences that get their next token
	context int     // tokens in their caches
	chunks  []chunk // of prompts, or of what was preempted
	tokens  int     // computed, of both kinds
}

type chunk struct{ tokens, before int }

const never time.Duration = -1

// newSimulated makes the engine of a resolved configuration.
func newSimulated(c Config, moves drift, books *counters) (*simulated, error) {
	e := &simulated{cfg: c, drift: moves, counters: books, offload: newOffload(c), stepTime: linearCost(c), idle: never}
	var below *kv.Tier
	if e.offload != nil {
		below = e.offload.tier
	}
	e.pool = kv.New(c.KVBlocks, below)
	if c.Hardware != "" {
		setup, err := c.setup()
		if err != nil {
			return nil, err
		}
		e.stepTime = rooflineCost(setup)
	}
	return e, nil
}

func (e *simulated) add(q *seq) { e.waiting, e.idle = append(e.waiting, q), never }

// drop marks q; its slot and its blocks are free at the next step.
func (e *simulated) drop(q *seq, _ time.Duration) { q.gone, e.abandoned = true, true }

func (e *simulated) advance(now time.Duration) (next time.Duration, pending bool) {
	for {
		if !e.busy {
			e.removeAbandoned()
			start, ok := e.nextStart()
			if !ok || start > now {
				return start, ok
			}
			e.startStep(start)
			continue
		}
		if e.end > now {
			return e.end, true
		}
		e.finishStep()
	}
}

// begin is when the next step starts: at the end of the last one, or with the arrival or the loaded blocks that end an idle
// time. It is never "now": a server that was woken late catches up.
func (e *simulated) nextStart() (start time.Duration, ok bool) {
	if len(e.running) > 0 {
		return e.end, true
	}
	try := func(at time.Duration) {
		if at > e.idle && (!ok || at < start) {
			start, ok = at, true
		}
	}
	for _, q := range e.waiting {
		try(max(q.arrival, e.end))
	}
	for _, q := range e.loading {
		try(max(q.loadedAt, e.end))
	}
	return start, ok
}

// prune forgets the sequences whose clients have left.
func (e *simulated) removeAbandoned() {
	if !e.abandoned {
		return
	}
	gone := func(q *seq) bool {
		if !q.gone {
			return false
		}
		e.pool.Release(q.held)
		q.held = nil
		e.counters.countAbort(q)
		return true
	}
	e.waiting = slices.DeleteFunc(e.waiting, gone)
	e.loading = slices.DeleteFunc(e.loading, gone)
	e.running = slices.DeleteFunc(e.running, gone)
	e.abandoned, e.idle = false, never
}

// compose decides what the step from start on computes, and how long that takes. With nothing to compute there is no step.
func (e *simulated) startStep(start time.Duration) {
	e.batch = batch{chunks: e.batch.chunks[:0]}
	budget := e.cfg.MaxNumBatchedTokens
	if preempted := e.scheduleRunning(&budget); !preempted || len(e.running) == 0 { // whoever lost its blocks is not to lose its turn, too
		e.admit(start, &budget)
	}
	if e.batch.tokens == 0 {
		e.idle = start
		return
	}
	e.counters.countStep(e.batch.tokens)
	took := time.Duration(float64(e.stepTime(&e.batch)) * e.drift.at(start))
	e.busy, e.end, e.idle = true, start+max(took, 1), never
}

// carryOn schedules the running sequences, in their order, and tells whether blocks had to be taken from one.
func (e *simulated) scheduleRunning(budget *int) (preempted bool) {
	for i := 0; i < len(e.running) && *budget > 0; i++ {
		q := e.running[i]
		share := min(q.total()-q.computed, *budget)
		for !e.grow(q, q.computed+share) {
			last := e.running[len(e.running)-1]
			e.preempt(last)
			preempted = true
			if last == q {
				return true
			}
		}
		e.schedule(q, budget)
	}
	return preempted
}

// grow gives q blocks for so many tokens.
func (e *simulated) grow(q *seq, tokens int) (ok bool) {
	q.held, ok = e.pool.Grow(q.held, kv.Blocks(tokens))
	return ok
}

// preempt takes everything from the last of the running. What it has computed may still be found in the cache when it comes back.
func (e *simulated) preempt(q *seq) {
	e.running = e.running[:len(e.running)-1]
	e.pool.Release(q.held)
	q.held, q.computed, q.scheduled = nil, 0, 0
	e.counters.countPreemption(q)
	e.waiting = slices.Insert(e.waiting, 0, q)
}

// admit starts those whose blocks have been loaded, and then as many of the queue, first come first served, as slots, budget and
// blocks allow.
func (e *simulated) admit(start time.Duration, budget *int) {
	room := func() bool { return *budget > 0 && len(e.running) < e.cfg.MaxNumSeqs }
	for len(e.loading) > 0 && e.loading[0].loadedAt <= start && room() {
		q := e.loading[0]
		e.loading = slices.Delete(e.loading, 0, 1)
		e.offload.finish(q, e.pool)
		e.run(q, start, budget)
	}
	for len(e.waiting) > 0 && e.waiting[0].arrival <= start && room() {
		q := e.waiting[0]
		if !e.allocate(q, start, *budget) {
			return
		}
		e.waiting = slices.Delete(e.waiting, 0, 1)
		if q.loadedAt > start {
			e.loading = append(e.loading, q)
			continue
		}
		if q.loading > 0 { // over a link that takes no time
			e.offload.finish(q, e.pool)
		}
		e.run(q, start, budget)
	}
}

// place gives q its blocks: those of a known prefix, and new ones for what it computes first or loads from the second tier. There must
// be room for all that it has to compute (vLLM's scheduler_reserve_full_isl) and, while others run, the watermark.
func (e *simulated) allocate(q *seq, start time.Duration, budget int) bool {
	total := q.total()
	// The last token is always computed: its logits are the next one.
	chain := q.hashes((total - 1) / kv.BlockTokens)
	hits := e.pool.Match(chain)
	need := e.pool.Needs(hits, kv.Blocks(total))
	if e.batch.tokens > 0 {
		need += int(e.cfg.Watermark * float64(e.pool.Capacity()))
	}
	if need > e.pool.Free() {
		return false
	}
	e.pool.Hold(hits)
	q.held, q.computed = hits, len(hits)*kv.BlockTokens
	q.loading = 0
	if e.offload != nil {
		q.loading = e.offload.find(chain[len(hits):])
	}
	first := min(total, q.computed+budget)
	if q.loading > 0 { // all at once, so that nobody waits with blocks for blocks
		first = total
		q.loadedAt = e.offload.load(start, chain[len(hits):len(hits)+q.loading])
	}
	e.grow(q, first) // the room was seen to
	e.counters.countLookup(q, e.offload != nil)
	return true
}

// run puts q among the running.
func (e *simulated) run(q *seq, start time.Duration, budget *int) {
	e.running = append(e.running, q)
	e.counters.countAdmission(q, start)
	e.schedule(q, budget)
}

// schedule gives q its share of the step. Blocks that get full are named at once, as in vLLM: whoever is scheduled after may count on
// them.
func (e *simulated) schedule(q *seq, budget *int) {
	q.scheduled = min(q.total()-q.computed, *budget)
	*budget -= q.scheduled
	e.batch.tokens += q.scheduled
	if q.decoding() {
		e.batch.decodes++
		e.batch.context += q.computed
	} else {
		e.batch.chunks = append(e.batch.chunks, chunk{q.scheduled, q.computed})
	}
	named := q.computed / kv.BlockTokens
	for i, hash := range q.hashes((q.computed + q.scheduled) / kv.BlockTokens)[named:] {
		e.pool.Name(q.held[named+i], hash)
	}
}

// complete ends the step: each sequence of which everything is computed gets a token, and those that have all of theirs leave.
func (e *simulated) finishStep() {
	e.busy = false
	e.running = slices.DeleteFunc(e.running, func(q *seq) bool {
		scheduled := q.scheduled > 0
		q.computed += q.scheduled
		q.scheduled = 0
		if q.gone || !scheduled || q.computed < q.total() {
			return false
		}
		e.counters.token(q, e.end)
		if q.stage != over {
			return false
		}
		e.pool.Release(q.held)
		q.held = nil
		return true
	})
}

// forget empties the prefix cache, as vLLM's reset does: not while a block is in use, unless the running are preempted for it (what the
// step computes is lost); and the second tier only if that is asked for.
func (e *simulated) resetCache(running, secondToo bool) bool {
	if running {
		for len(e.running) > 0 {
			e.preempt(e.running[len(e.running)-1])
		}
	}
	if secondToo && e.offload != nil {
		e.offload.tier.Forget()
	}
	return e.pool.Forget()
}

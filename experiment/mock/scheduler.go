package mock

import (
	"cmp"
	"slices"
	"time"

	"bench/experiment/kv"
)

// simulated is an engine that works in steps like vLLM v1 (v1/core/sched/scheduler.py). Each step decodes one
// token, and verifies its drafts, for every running sequence and prefills prompts in chunks with the rest of the token
// budget; its contents determine its duration. Sequences allocate blocks as they grow. Without free blocks, the
// sequence that was admitted last is preempted: it loses its blocks, returns to the head of the queue and is computed
// again. Saturation, queueing, interference of prefill with decode and cache thrashing follow from these
// rules.
type simulated struct {
	cfg       Config
	stepTime  func(*batch) time.Duration
	frontEnd  time.Duration // from the arrival of a request to the queue; only with hardware
	drift     drift
	counters  *counters
	pool      *kv.Pool
	offload   *offload // nil: no second cache tier
	waiting   []*seq   // by arrival
	turns     *turns   // of tenants; nil: fcfs
	loading   []*seq   // have blocks and wait for loads from the second tier; in the order of completion
	running   []*seq   // by admission; only the last can be in prefill
	abandoned bool     // one of these sequences is gone
	batch     batch
	busy      bool // a step runs until end
	end       time.Duration
	idle      time.Duration // when the last empty step was tried; never: none since the last change
}

type batch struct {
	decodes int     // sequences that get their next token
	context int     // sum of their context tokens
	chunks  []chunk // of prompts, or of preempted sequences
	tokens  int     // computed, decode, drafts and prefill
	slowest float64 // largest factor of an adapter; 0: 1
}

type chunk struct{ tokens, before int }

const never time.Duration = -1

func newSimulated(c Config, moves drift, books *counters) (*simulated, error) {
	e := &simulated{cfg: c, drift: moves, counters: books, offload: newOffload(c), stepTime: linearCost(c),
		turns: newTurns(c), idle: never}
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
		e.stepTime, e.frontEnd = rooflineCost(setup), millis(setup.FrontEndMs())
	}
	return e, nil
}

func (e *simulated) add(q *seq) {
	q.block, q.queued = e.cfg.BlockSize, q.arrival+e.frontEnd
	e.turns.arrive(q, e.waiting)
	e.waiting, e.idle = append(e.waiting, q), never
}

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

// nextStart is when the next step starts: at the end of the last step or, after idling, with an arrival or a
// finished load. It does not depend on the current time, so that a pacer that woke late catches up.
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
		try(max(q.queued, e.end))
	}
	for _, q := range e.loading {
		try(max(q.loadedAt, e.end))
	}
	return start, ok
}

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

// startStep composes the step that begins at start and sets its end. Without work there is no step.
func (e *simulated) startStep(start time.Duration) {
	e.batch = batch{chunks: e.batch.chunks[:0]}
	budget := e.cfg.MaxNumBatchedTokens
	// a preempted sequence is not overtaken in the same step
	if preempted := e.scheduleRunning(&budget); !preempted || len(e.running) == 0 {
		e.admit(start, &budget)
	}
	if e.batch.tokens == 0 {
		e.idle = start
		return
	}
	e.counters.stepTokens.observe(float64(e.batch.tokens))
	took := time.Duration(float64(e.stepTime(&e.batch)) * e.drift.at(start) * cmp.Or(e.batch.slowest, 1))
	e.busy, e.end, e.idle = true, start+max(took, 1), never
}

func (e *simulated) scheduleRunning(budget *int) (preempted bool) {
	for i := 0; i < len(e.running) && *budget > 0; i++ {
		q := e.running[i]
		share := min(q.next(e.cfg.MaxModelLen), *budget)
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

func (e *simulated) grow(q *seq, tokens int) (ok bool) {
	q.held, ok = e.pool.Grow(q.held, kv.Blocks(tokens, q.block))
	return ok
}

// preempt takes the blocks of q, the last running sequence. The prefix cache may keep them.
func (e *simulated) preempt(q *seq) {
	e.running = e.running[:len(e.running)-1]
	e.pool.Release(q.held)
	q.held, q.computed, q.scheduled, q.drafted = nil, 0, 0, 0
	e.counters.countPreemption(q)
	e.waiting = slices.Insert(e.waiting, 0, q)
}

// admit starts the sequences with finished loads, then the queue in the order of its schedule, as far as max_num_seqs,
// the token budget and free blocks allow.
func (e *simulated) admit(start time.Duration, budget *int) {
	room := func() bool { return *budget > 0 && len(e.running) < e.cfg.MaxNumSeqs }
	for len(e.loading) > 0 && e.loading[0].loadedAt <= start && room() {
		q := e.loading[0]
		e.loading = slices.Delete(e.loading, 0, 1)
		e.offload.finish(q, e.pool)
		e.run(q, start, budget)
	}
	for len(e.waiting) > 0 && e.waiting[0].queued <= start && room() {
		i := e.turns.next(e.waiting, start)
		q := e.waiting[i]
		if !e.allocate(q, start, *budget) {
			return
		}
		e.waiting = slices.Delete(e.waiting, i, i+1)
		e.turns.admit(q)
		if q.loadedAt > start {
			e.loading = append(e.loading, q)
			continue
		}
		if q.loading > 0 { // the load took no time
			e.offload.finish(q, e.pool)
		}
		e.run(q, start, budget)
	}
}

// allocate gives q the blocks of its cached prefix, and new blocks for its first chunk or its loads from the
// second tier. It fails unless all prompt blocks fit (vLLM's scheduler_reserve_full_isl).
func (e *simulated) allocate(q *seq, start time.Duration, budget int) bool {
	total := q.total()
	// The last token is always computed: its logits give the next token.
	var chain []uint64
	if !e.cfg.NoPrefixCaching {
		chain = q.hashes((total - 1) / q.block)
	}
	hits := e.pool.Match(chain)
	need := e.pool.Needs(hits, kv.Blocks(total, q.block))
	if need > e.pool.Free() {
		return false
	}
	e.pool.Hold(hits)
	q.held, q.computed, q.named = hits, len(hits)*q.block, len(hits)
	q.loading = 0
	if e.offload != nil {
		q.loading = e.offload.tier.Match(chain[len(hits):])
	}
	first := min(total, q.computed+budget)
	if q.loading > 0 { // all at once: no sequence waits for more blocks while it has some
		first = total
		q.loadedAt = e.offload.load(start, chain[len(hits):len(hits)+q.loading])
	}
	e.grow(q, first) // checked above
	e.counters.countLookup(q, e.offload != nil)
	return true
}

func (e *simulated) run(q *seq, start time.Duration, budget *int) {
	e.running = append(e.running, q)
	e.counters.countAdmission(q, start)
	e.schedule(q, budget)
}

// schedule adds tokens of q to the step. Full blocks get their hashes at once, as in vLLM: sequences that are
// scheduled later in the same step can use them. Drafts have none before they are accepted.
func (e *simulated) schedule(q *seq, budget *int) {
	decoding, missing := q.decoding(), q.total()-q.computed
	q.scheduled = min(q.next(e.cfg.MaxModelLen), *budget)
	q.drafted = max(0, q.scheduled-missing)
	*budget -= q.scheduled
	e.batch.tokens += q.scheduled
	e.batch.slowest = max(e.batch.slowest, q.factor)
	if decoding {
		e.batch.decodes++
		e.batch.context += q.computed
		if q.drafted > 0 { // their keys and values are read with the decoded token's
			e.batch.chunks = append(e.batch.chunks, chunk{q.drafted, 0})
		}
	} else {
		e.batch.chunks = append(e.batch.chunks, chunk{q.scheduled, q.computed})
	}
	if !e.cfg.NoPrefixCaching {
		q.name(e.pool, (q.computed+q.scheduled-q.drafted)/q.block)
	}
}

// finishStep ends the step: each fully computed sequence gets a token; sequences with all their tokens end.
func (e *simulated) finishStep() {
	e.busy = false
	e.running = slices.DeleteFunc(e.running, func(q *seq) bool {
		scheduled, drafted := q.scheduled > 0, q.drafted
		q.computed += q.scheduled - drafted
		q.scheduled, q.drafted = 0, 0
		if q.gone || !scheduled || q.computed < q.total() {
			return false
		}
		accepted := e.counters.verify(q, drafted)
		q.computed += accepted
		e.counters.tokens(q, e.end, 1+accepted)
		e.turns.serve(q, 1+accepted)
		if q.stage != over {
			return false
		}
		e.pool.Release(q.held)
		q.held = nil
		return true
	})
}

// resetCache empties the prefix cache, like vLLM's reset. It fails while a block is in use, unless running is
// set: then the running sequences are preempted and the work of the current step is lost.
func (e *simulated) resetCache(running bool) bool {
	for running && len(e.running) > 0 {
		e.preempt(e.running[len(e.running)-1])
	}
	return e.pool.Forget()
}

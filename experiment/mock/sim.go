package mock

import (
	"slices"
	"time"
)

// simulated is an engine that works in steps as vLLM v1 does (v1/core/sched/scheduler.py): each step decodes one token for every running
// sequence, prefills prompts in chunks with what is left of the token budget, and takes as long as its contents say. Saturation,
// queueing and the slowing of decodes by prefills follow from that. Two things are simpler: blocks for the whole of a
// sequence, output included, are taken when it is admitted, so that nothing is ever preempted; and there is no speculation.
type simulated struct {
	cfg     Config
	books   *ledger
	pool    *pool
	waiting []*seq
	running []*seq // in order of admission; only the last can be in the middle of its prefill
	busy    bool   // a step is running, until end
	end     time.Duration
}

func (e *simulated) add(q *seq) { e.waiting = append(e.waiting, q) }

// drop marks q; its slot and its blocks are free at the next step.
func (e *simulated) drop(q *seq, _ time.Duration) { q.gone = true }

func (e *simulated) advance(now time.Duration) (next time.Duration, pending bool) {
	for {
		if !e.busy {
			e.prune()
			start, ok := e.begin()
			if !ok {
				return 0, false
			}
			e.compose(start)
		}
		if e.end > now {
			return e.end, true
		}
		e.complete()
	}
}

// begin is when the next step starts: at the end of the last one, or with the arrival that ends an idle time. It is never
// "now": a server that was woken late catches up.
func (e *simulated) begin() (time.Duration, bool) {
	switch {
	case len(e.running) > 0:
		return e.end, true
	case len(e.waiting) > 0:
		return max(e.end, e.waiting[0].arrival), true
	}
	return 0, false
}

// prune forgets the sequences whose clients have left.
func (e *simulated) prune() {
	gone := func(q *seq) bool {
		if !q.gone {
			return false
		}
		e.pool.release(q.held)
		q.held = nil
		e.books.abandoned(q)
		return true
	}
	e.waiting = slices.DeleteFunc(e.waiting, gone)
	e.running = slices.DeleteFunc(e.running, gone)
}

// compose decides what the step from start on computes, and how long that takes.
func (e *simulated) compose(start time.Duration) {
	budget, took := e.cfg.MaxNumBatchedTokens, e.cfg.StepBase
	for _, q := range e.running {
		took += e.schedule(q, &budget)
	}
	for budget > 0 && len(e.running) < e.cfg.MaxNumSeqs && len(e.waiting) > 0 && e.admit(e.waiting[0], start) {
		q := e.waiting[0]
		e.waiting = slices.Delete(e.waiting, 0, 1)
		e.running = append(e.running, q)
		took += e.schedule(q, &budget)
	}
	e.busy, e.end = true, start+took
}

// admit gives q its blocks, those of a known prefix among them; false if it is not here yet or has no room.
func (e *simulated) admit(q *seq, start time.Duration) bool {
	if q.arrival > start {
		return false
	}
	// The last prompt token is always computed: its logits are the first output token.
	hits := e.pool.match(q.hashes((len(q.prompt) - 1) / blockTokens))
	held, ok := e.pool.hold(hits, blocksFor(len(q.prompt)+q.want))
	if !ok {
		return false
	}
	q.held = held
	q.cached = len(hits) * blockTokens
	q.computed = q.cached
	e.books.queried += len(q.prompt)
	e.books.hit += q.cached
	e.books.admitted(q, start)
	return true
}

// schedule gives q its share of the step and returns the time that it costs. Blocks that get full are named at once, as in vLLM:
// whoever is scheduled after may count on them.
func (e *simulated) schedule(q *seq, budget *int) time.Duration {
	var cost time.Duration
	if q.prefilling() {
		q.share = min(len(q.prompt)-q.computed, *budget)
		cost = time.Duration(q.share) * e.cfg.StepPerPrefillToken
	} else {
		q.share = 1
		cost = e.cfg.StepPerSeq + time.Duration(q.computed)*e.cfg.StepPerContextToken
	}
	*budget -= q.share
	full := (q.computed + q.share) / blockTokens
	for b, hash := range q.hashes(full)[q.computed/blockTokens:] {
		e.pool.name(q.held[q.computed/blockTokens+b], hash)
	}
	return cost
}

// complete ends the step: each sequence whose prompt is computed gets a token, and those that have all of theirs leave.
func (e *simulated) complete() {
	e.busy = false
	e.running = slices.DeleteFunc(e.running, func(q *seq) bool {
		q.computed += q.share
		if q.gone || q.prefilling() {
			return false
		}
		e.books.token(q, e.end)
		if q.stage != over {
			return false
		}
		e.pool.release(q.held)
		q.held = nil
		return true
	})
}

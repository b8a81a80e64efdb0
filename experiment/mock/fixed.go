package mock

import (
	"slices"
	"time"
)

// fixed is an engine with fixed times: the first token of a request is due TTFT after its admission, each further
// token, with speculation each further step, ITL later. Requests affect each other only in the queue for max_num_seqs.
type fixed struct {
	cfg       Config
	drift     drift
	counters  *counters
	waiting   []*seq
	freeSince []time.Duration // with a limit: when each free place became free, the earliest first
	// Two queues replace a heap: TTFT and ITL are the same for all, so both are filled almost in order.
	first, further dueQueue
}

func (e *fixed) add(q *seq) { e.waiting = append(e.waiting, q) }

// drop frees the place of q at once. Its token in the queue is skipped.
func (e *fixed) drop(q *seq, now time.Duration) {
	q.gone = true
	if q.stage == running {
		e.release(now)
	}
	e.counters.countAbort(q)
}

func (e *fixed) advance(now time.Duration) (next time.Duration, pending bool) {
	e.admit()
	for {
		a := e.earliest()
		if a.empty() {
			return 0, false
		}
		if a.next() > now {
			return a.next(), true
		}
		e.tick(a.pop())
		e.admit()
	}
}

func (e *fixed) earliest() *dueQueue {
	if e.first.empty() || (!e.further.empty() && e.further.next() <= e.first.next()) {
		return &e.further
	}
	return &e.first
}

func (e *fixed) tick(a dueToken) {
	if a.q.gone {
		return
	}
	drafted := 0
	if a.q.out > 0 {
		drafted = a.q.drafter.tokens
	}
	e.counters.tokens(a.q, a.at, 1+e.counters.verify(a.q, drafted))
	if a.q.stage == over {
		e.release(a.at)
		return
	}
	e.further.add(a.at+e.drifted(a.q.slowed(e.cfg.ITL), a.at), a.q)
}

func (e *fixed) release(at time.Duration) {
	if e.cfg.MaxNumSeqs > 0 {
		e.freeSince = append(e.freeSince, at)
	}
}

func (e *fixed) admit() {
	for len(e.waiting) > 0 && (e.cfg.MaxNumSeqs == 0 || len(e.freeSince) > 0) {
		q := e.waiting[0]
		e.waiting = e.waiting[1:]
		if q.gone {
			continue
		}
		at := q.arrival
		if e.cfg.MaxNumSeqs > 0 {
			at = max(at, e.freeSince[0])
			e.freeSince = e.freeSince[1:]
		}
		e.counters.countAdmission(q, at)
		e.first.add(at+e.drifted(q.slowed(e.cfg.TTFT), at), q)
	}
}

func (e *fixed) drifted(d, by time.Duration) time.Duration {
	if e.drift.none() {
		return d
	}
	return time.Duration(float64(d) * e.drift.at(by))
}

type dueQueue struct {
	list []dueToken
	head int // index of the first entry; earlier ones are done
}

type dueToken struct {
	at time.Duration
	q  *seq
}

// add inserts q by its time, usually at or near the end; among equal times it is the last.
func (a *dueQueue) add(at time.Duration, q *seq) {
	if a.head > len(a.list)/2 {
		a.list = slices.Delete(a.list, 0, a.head)
		a.head = 0
	}
	i := len(a.list)
	a.list = append(a.list, dueToken{})
	for ; i > a.head && a.list[i-1].at > at; i-- {
		a.list[i] = a.list[i-1]
	}
	a.list[i] = dueToken{at, q}
}

func (a *dueQueue) empty() bool { return a.head == len(a.list) }

func (a *dueQueue) next() time.Duration { return a.list[a.head].at }

func (a *dueQueue) pop() dueToken {
	x := a.list[a.head]
	a.list[a.head].q = nil
	a.head++
	return x
}

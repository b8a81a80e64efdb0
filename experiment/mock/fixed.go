package mock

import (
	"slices"
	"time"
)

// fixed is an engine without a mechanism: the first token of a request is due TTFT after its admission, each further one ITL
// after the one before, by absolute times. Requests meet only in the queue for a slot, where there is a limit.
type fixed struct {
	cfg       Config
	drift     drift
	counters  *counters
	waiting   []*seq
	freeSince []time.Duration // with a limit: since when each free slot is free, the longest first
	// Two agendas in place of one heap: as all have the same TTFT and ITL, both are filled nearly in order.
	first, further dueQueue
}

func newFixed(cfg Config, moves drift, books *counters) *fixed {
	return &fixed{cfg: cfg, drift: moves, counters: books, freeSince: make([]time.Duration, cfg.MaxNumSeqs)}
}

func (e *fixed) add(q *seq) { e.waiting = append(e.waiting, q) }

// drop frees the slot of q at once; what is left of it in the agenda is passed over.
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

// earliest is the agenda with the token that is due first, an empty one if there is none.
func (e *fixed) earliest() *dueQueue {
	if e.first.empty() || (!e.further.empty() && e.further.next() <= e.first.next()) {
		return &e.further
	}
	return &e.first
}

// tick emits a token.
func (e *fixed) tick(a dueToken) {
	if a.q.gone {
		return
	}
	e.counters.token(a.q, a.at)
	if a.q.stage == over {
		e.release(a.at)
		return
	}
	e.further.add(a.at+e.drifted(e.cfg.ITL, a.at), a.q)
}

// leave gives a slot back.
func (e *fixed) release(at time.Duration) {
	if e.cfg.MaxNumSeqs > 0 {
		e.freeSince = append(e.freeSince, at)
	}
}

// fill admits from the queue, first come first served, into the free slots.
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
		e.first.add(at+e.drifted(e.cfg.TTFT, at), q)
	}
}

// later is what drift has made of a time by then.
func (e *fixed) drifted(d, by time.Duration) time.Duration {
	if e.drift.none() {
		return d
	}
	return time.Duration(float64(d) * e.drift.at(by))
}

// agenda is a queue of sequences with the time of their next token, the earliest first.
type dueQueue struct {
	list []dueToken
	head int // of list: those before it are over
}

type dueToken struct {
	at time.Duration
	q  *seq
}

// add puts q in its place, which is the end, or near it: of those due at once it is the last.
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

// next is the earliest time, of an agenda that is not empty.
func (a *dueQueue) next() time.Duration { return a.list[a.head].at }

func (a *dueQueue) pop() dueToken {
	x := a.list[a.head]
	a.list[a.head].q = nil
	a.head++
	return x
}

package mock

import (
	"container/heap"
	"time"
)

// fixed is an engine without a mechanism: the first token of a request is due TTFT after its admission, each further one ITL
// after the one before, by absolute times. Requests meet only in the queue for a slot, where there is a limit.
type fixed struct {
	cfg     Config
	books   *ledger
	waiting []*seq
	slots   []time.Duration // with a limit: since when each free slot is free, the longest first
	due     agenda
}

func newFixed(cfg Config, books *ledger) *fixed {
	return &fixed{cfg: cfg, books: books, slots: make([]time.Duration, cfg.MaxNumSeqs)}
}

func (e *fixed) add(q *seq) { e.waiting = append(e.waiting, q) }

// drop frees the slot of q at once; what is left of it in the agenda is passed over.
func (e *fixed) drop(q *seq, now time.Duration) {
	q.gone = true
	if q.stage == running {
		e.leave(now)
	}
	e.books.abandoned(q)
}

func (e *fixed) advance(now time.Duration) (next time.Duration, pending bool) {
	e.fill()
	for len(e.due) > 0 && e.due[0].at <= now {
		e.tick()
		e.fill()
	}
	if len(e.due) == 0 {
		return 0, false
	}
	return e.due[0].at, true
}

// tick emits the token that is due first.
func (e *fixed) tick() {
	head := &e.due[0]
	q, at := head.q, head.at
	if !q.gone {
		e.books.token(q, at)
		if q.stage != over {
			head.at = at + e.cfg.ITL
			heap.Fix(&e.due, 0)
			return
		}
		e.leave(at)
	}
	heap.Pop(&e.due)
}

// leave gives a slot back.
func (e *fixed) leave(at time.Duration) {
	if e.cfg.MaxNumSeqs > 0 {
		e.slots = append(e.slots, at)
	}
}

// fill admits from the queue, first come first served, into the free slots.
func (e *fixed) fill() {
	for len(e.waiting) > 0 && (e.cfg.MaxNumSeqs == 0 || len(e.slots) > 0) {
		q := e.waiting[0]
		e.waiting = e.waiting[1:]
		if q.gone {
			continue
		}
		at := q.arrival
		if e.cfg.MaxNumSeqs > 0 {
			at = max(at, e.slots[0])
			e.slots = e.slots[1:]
		}
		e.books.admitted(q, at)
		heap.Push(&e.due, appointment{at: at + e.cfg.TTFT, q: q})
	}
}

// appointment is a sequence's next token.
type appointment struct {
	at time.Duration
	q  *seq
}

// agenda is a heap of appointments, the earliest first.
type agenda []appointment

func (a agenda) Len() int           { return len(a) }
func (a agenda) Less(i, j int) bool { return a[i].at < a[j].at }
func (a agenda) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)        { *a = append(*a, x.(appointment)) }

func (a *agenda) Pop() any {
	old := *a
	last := old[len(old)-1]
	old[len(old)-1].q = nil
	*a = old[:len(old)-1]
	return last
}

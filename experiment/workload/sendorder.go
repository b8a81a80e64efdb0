package workload

import (
	"cmp"
	"container/heap"
	"iter"
	"slices"
	"time"
)

// all yields every remaining request, later turns included, in the order in which they would be sent if each
// took the given time: by arrivals in an open loop, else by the given number of workers, each of which keeps
// its conversation to its end. It is endless unless the plan has a trace. The plan keeps its position.
func (p *Plan) all(workers int, takes time.Duration) iter.Seq[Request] {
	return func(yield func(Request) bool) {
		plan := *p
		plan.real.drawn = slices.Clone(p.real.drawn)
		if p.replay != nil {
			plan.replay = p.replay.remaining()
			defer plan.Close()
		}
		o := sendOrder{plan: &plan, takes: takes}
		for range max(workers, 1) {
			if p.process.timed() {
				break
			}
			o.begin()
		}
		for {
			if r, ok := o.next(); !ok || !yield(r) {
				return
			}
		}
	}
}

type sendOrder struct {
	plan  *Plan
	takes time.Duration
	due   sendQueue
	now   time.Duration
	ahead *Request // open loop: the next arrival
}

type orderedSession struct {
	*Walk
	first Request
	sent  map[int]Request // those that a later one continues
}

func (o *sendOrder) begin() {
	if o.plan.More() {
		o.start(o.now, o.plan.Next())
	}
}

func (o *sendOrder) start(at time.Duration, first Request) {
	s := &orderedSession{first: first, sent: map[int]Request{}}
	s.Walk = NewWalk(&s.first)
	heap.Push(&o.due, dueRequest{at, first, s})
	for _, turn := range first.Begins()[1:] {
		r := o.later(s, turn)
		heap.Push(&o.due, dueRequest{at + r.Think, r, s})
	}
}

func (o *sendOrder) later(s *orderedSession, turn int) Request {
	var before *Request
	if t, ok := s.Make(turn); ok {
		r := s.sent[t]
		before = &r
		if !s.Needed(t) {
			delete(s.sent, t)
		}
	}
	return o.plan.Later(&s.first, turn, before)
}

func (o *sendOrder) arrive() {
	for {
		if o.ahead == nil {
			if !o.plan.More() {
				return
			}
			r := o.plan.Next()
			o.ahead = &r
		}
		if len(o.due) > 0 && o.ahead.At > o.due[0].at {
			return
		}
		o.start(o.ahead.At, *o.ahead)
		o.ahead = nil
	}
}

func (o *sendOrder) next() (Request, bool) {
	if o.plan.process.timed() {
		o.arrive()
	}
	if len(o.due) == 0 {
		return Request{}, false
	}
	d := heap.Pop(&o.due).(dueRequest)
	s, r := d.session, d.request
	if o.plan.thought != nil {
		r.Reasoning = o.plan.thought(r.Index)
	}
	if s.Needed(r.Turn) {
		s.sent[r.Turn] = r
	}
	o.now = d.at + o.takes
	for _, turn := range s.End(r.Turn, d.at, o.now) {
		next := o.later(s, turn)
		heap.Push(&o.due, dueRequest{s.Due(turn, next.Think), next, s})
	}
	if s.Over() && !o.plan.process.timed() {
		o.begin()
	}
	return r, true
}

type dueRequest struct {
	at      time.Duration
	request Request
	session *orderedSession
}

// sendQueue is a heap of requests, the next one first. Of requests due at once, the earlier turn goes first.
type sendQueue []dueRequest

func (c sendQueue) Len() int { return len(c) }

func (c sendQueue) Less(i, j int) bool {
	a, b := &c[i], &c[j]
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.request.inSession(), b.request.inSession()),
		cmp.Compare(a.request.Index, b.request.Index)) < 0
}

// inSession is the turn of a request that waits for others; 0 for any other, as those of a trace without replay of
// its sessions.
func (r *Request) inSession() int {
	if r.Turns == 0 {
		return 0
	}
	return r.Turn
}

func (c sendQueue) Swap(i, j int) { c[i], c[j] = c[j], c[i] }

func (c *sendQueue) Push(x any) { *c = append(*c, x.(dueRequest)) }

func (c *sendQueue) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}

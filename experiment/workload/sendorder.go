package workload

import (
	"cmp"
	"container/heap"
	"iter"
	"time"
)

// All yields every remaining request, later turns included, in the order in which they would be sent if each
// took the given time: by arrivals in an open loop, else by the given number of workers, each of which keeps
// its conversation to its end. It is endless unless the plan has a trace. The plan keeps its position.
func (p *Plan) All(workers int, takes time.Duration) iter.Seq[Request] {
	if p.replay != nil {
		return p.allReplayed
	}
	return func(yield func(Request) bool) {
		plan := *p
		var due sendQueue
		if !p.timed() {
			for range max(workers, 1) {
				heap.Push(&due, dueRequest{request: plan.Next()})
			}
		}
		next := dueRequest{}
		for {
			if p.timed() {
				for len(due) == 0 || plan.next.at <= due[0].at {
					next.request = plan.Next()
					next.at = next.request.At
					heap.Push(&due, next)
				}
			}
			s := heap.Pop(&due).(dueRequest)
			if !yield(s.request) {
				return
			}
			ended := s.at + takes
			if turn, more := p.Following(&s.request); more {
				heap.Push(&due, dueRequest{ended + turn.Think, turn})
			} else if !p.timed() {
				heap.Push(&due, dueRequest{ended, plan.Next()})
			}
		}
	}
}

// dueRequest is a request and the time at which it is sent.
type dueRequest struct {
	at      time.Duration
	request Request
}

// sendQueue is a heap of requests, the next one first. Of requests due at once, the earlier turn goes first.
type sendQueue []dueRequest

// Len implements heap.Interface.
func (c sendQueue) Len() int { return len(c) }

// Less implements heap.Interface.
func (c sendQueue) Less(i, j int) bool {
	a, b := &c[i], &c[j]
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.request.Turn, b.request.Turn), cmp.Compare(a.request.Index, b.request.Index)) < 0
}

// Swap implements heap.Interface.
func (c sendQueue) Swap(i, j int) { c[i], c[j] = c[j], c[i] }

// Push implements heap.Interface.
func (c *sendQueue) Push(x any) { *c = append(*c, x.(dueRequest)) }

// Pop implements heap.Interface.
func (c *sendQueue) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}

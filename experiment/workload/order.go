package workload

import (
	"cmp"
	"container/heap"
	"iter"
	"time"
)

// All gives every request from the next one on, later turns too, to the end if there is one, in the order in which
// they would be sent if each took as long as stated: an open loop by its arrivals, a closed one (and
// all at once) from that many slots, each of which keeps its conversation. The plan stays where it is.
func (p *Plan) All(slots int, takes time.Duration) iter.Seq[Request] {
	if p.replay != nil {
		return p.allReplayed
	}
	return func(yield func(Request) bool) {
		walk := *p
		var due coming
		if !p.timed() {
			for range max(slots, 1) {
				heap.Push(&due, sending{request: walk.Next()})
			}
		}
		next := sending{}
		for {
			if p.timed() {
				for len(due) == 0 || walk.next.at <= due[0].at {
					next.request = walk.Next()
					next.at = next.request.At
					heap.Push(&due, next)
				}
			}
			s := heap.Pop(&due).(sending)
			if !yield(s.request) {
				return
			}
			ended := s.at + takes
			if turn, more := p.Following(&s.request); more {
				heap.Push(&due, sending{ended + turn.Think, turn})
			} else if !p.timed() {
				heap.Push(&due, sending{ended, walk.Next()})
			}
		}
	}
}

// sending is a request and when it is due.
type sending struct {
	at      time.Duration
	request Request
}

// coming is a heap of requests, the next one first. Of those due at once, the users take turns.
type coming []sending

func (c coming) Len() int { return len(c) }
func (c coming) Less(i, j int) bool {
	a, b := &c[i], &c[j]
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.request.Turn, b.request.Turn), cmp.Compare(a.request.Index, b.request.Index)) < 0
}
func (c coming) Swap(i, j int) { c[i], c[j] = c[j], c[i] }
func (c *coming) Push(x any)   { *c = append(*c, x.(sending)) }
func (c *coming) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}

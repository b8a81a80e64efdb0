package trace

import (
	"container/heap"
	"fmt"
	"slices"
	"time"
)

var errEdges = fmt.Errorf("a session has more than %d pairs of requests that wait for each other\nhint: remove it from the file", maxEdges)

// causal links requests by their recorded times: a request waits for those that had ended when it began, and
// not for those that another of them waited for (the transitive reduction of the interval order). Requests
// that overlapped run in parallel, as do those that began at the same time.
type causal struct {
	nodes  []Node
	step   time.Duration // of the recorded times, to which ends are rounded down; 0 = exact
	begun  running       // have begun, and had not ended at the time reached
	last   []int         // have ended, and no other that has ended waited for them
	latest time.Duration
	edges  int
}

// running are requests by their end.
type running struct {
	nodes []Node
	heap  []int
}

func (r *running) Len() int           { return len(r.heap) }
func (r *running) Less(a, b int) bool { return r.nodes[r.heap[a]].end() < r.nodes[r.heap[b]].end() }
func (r *running) Swap(a, b int)      { r.heap[a], r.heap[b] = r.heap[b], r.heap[a] }
func (r *running) Push(x any)         { r.heap = append(r.heap, x.(int)) }
func (r *running) Pop() any {
	x := r.heap[len(r.heap)-1]
	r.heap = r.heap[:len(r.heap)-1]
	return x
}

func (n *Node) end() time.Duration { return n.At + n.Took }

// link sets the parents of the members, indices of nodes in order of their begin. Ends are rounded down to
// the step of the recorded times: a request at second 12 may follow one that ended at 12.3 s. 0 = exact.
func link(nodes []Node, members []int, step time.Duration) error {
	c := &causal{nodes: nodes, step: step, begun: running{nodes: nodes}, latest: -1}
	for len(members) > 0 {
		at := c.nodes[members[0]].At
		together := 1
		for together < len(members) && c.nodes[members[together]].At == at {
			together++
		}
		c.reach(at)
		for _, i := range members[:together] {
			c.nodes[i].Parents = slices.Clone(c.last)
			if c.edges += len(c.last); c.edges > maxEdges {
				return errEdges
			}
		}
		for _, i := range members[:together] {
			heap.Push(&c.begun, i)
		}
		members = members[together:]
	}
	return nil
}

func (c *causal) reach(at time.Duration) {
	for c.begun.Len() > 0 && c.end(c.begun.heap[0]) <= at {
		i := heap.Pop(&c.begun).(int)
		c.latest = max(c.latest, c.nodes[i].At)
		c.last = append(c.last, i)
	}
	c.last = slices.DeleteFunc(c.last, func(i int) bool { return c.end(i) <= c.latest && c.nodes[i].At < c.latest })
}

func (c *causal) end(i int) time.Duration {
	n := &c.nodes[i]
	if c.step > 0 {
		return n.At + n.Took.Truncate(c.step)
	}
	return n.end()
}

func wait(nodes []Node) {
	for i := range nodes {
		n := &nodes[i]
		slices.Sort(n.Parents)
		from := time.Duration(0)
		for _, p := range n.Parents {
			from = max(from, nodes[p].end())
		}
		n.Wait = max(n.At-from, 0)
	}
}

func chain(nodes []Node) {
	for i := 1; i < len(nodes); i++ {
		nodes[i].Parents = []int{i - 1}
	}
}

// recall counts the tokens of each prompt in the leading blocks that earlier nodes sent.
func recall(nodes []Node, size int) {
	seen := map[uint64]bool{}
	for i := range nodes {
		n := &nodes[i]
		for j, id := range n.Blocks {
			if !seen[id] {
				break
			}
			n.Cached += inBlock(j, n.Input, size)
		}
		for _, id := range n.Blocks {
			seen[id] = true
		}
	}
}

package trace

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Session is one agent run or conversation of a trace: a graph of requests.
type Session struct {
	Number int           // from 0, in the order of the trace
	At     time.Duration // of its first request, since the start of the trace; 0 in a trace without timestamps
	Nodes  []Node        // parents before their children
}

// Node is one request of a session. Its At counts from the session's start; 0 in a trace without times.
type Node struct {
	Entry
	Parents []int // nodes that must end first; nil = it starts with the session
	// tool or think time: from the end of the last parent, or from the session's start, to the arrival; without
	// Info.Ends it includes the parent's answer
	Wait  time.Duration
	Took  time.Duration // from the arrival to the end, as recorded; 0 = unknown
	Agent int           // 0 = the main agent, else the number of the subagent
	// prompt tokens in blocks that earlier nodes of the session sent; recorded order, unlimited cache
	Cached int
}

var errEdges = fmt.Errorf("a session has more than %d pairs of requests that wait for each other\n"+
	"hint: remove it from the file", maxEdges)

func (n *Node) end() time.Duration { return n.At + n.Took }

// link sets the parents of the members, indices of nodes in order of their begin, by their recorded times: a request
// waits for those that had ended when it began, and not for those that another of them waited for (the transitive
// reduction of the interval order). Requests that overlapped run in parallel, as do those that began at the same time.
// Ends are rounded down to the step of the recorded times: a request at second 12 may follow one that ended at 12.3 s.
// 0 = exact.
func link(nodes []Node, members []int, step time.Duration) error {
	end := func(i int) time.Duration { return nodes[i].At + nodes[i].Took.Truncate(step) }
	byEnd := slices.SortedFunc(slices.Values(members), func(a, b int) int {
		return cmp.Or(cmp.Compare(end(a), end(b)), cmp.Compare(nodes[a].At, nodes[b].At))
	})
	var last []int // have ended, and no other that has ended waited for them
	latest, edges := time.Duration(-1), 0
	for len(members) > 0 {
		at := nodes[members[0]].At
		together := 1
		for together < len(members) && nodes[members[together]].At == at {
			together++
		}
		for ; len(byEnd) > 0 && end(byEnd[0]) <= at && nodes[byEnd[0]].At < at; byEnd = byEnd[1:] {
			latest = max(latest, nodes[byEnd[0]].At)
			last = append(last, byEnd[0])
		}
		last = slices.DeleteFunc(last, func(i int) bool { return end(i) <= latest && nodes[i].At < latest })
		for _, i := range members[:together] {
			nodes[i].Parents = slices.Clone(last)
			if edges += len(last); edges > maxEdges {
				return errEdges
			}
		}
		members = members[together:]
	}
	return nil
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

package workload

import (
	"slices"
	"time"

	"bench/experiment/trace"
)

// Graph is a session of a trace, as a plan replays it: which of its requests wait for which. It does not change.
type Graph struct {
	nodes     []trace.Node // by turn; waits are the replay's
	children  [][]int      // by turn: turns that wait for it
	continues []int        // by turn: the turn whose context it continues with the server's answer; -1 = none
	index     int          // of turn 0 in the plan
	number    int          // of the session in the plan
	pass      uint64       // times that the trace began anew before
	size      int          // tokens in a block of the trace
	gaps      bool         // waits are from the arrival of the last turn that they wait for: the trace has no ends
	partial   bool         // it begins at a sampled point of its life
}

// Begins lists the turns that a session begins with: those that wait for none, turn 0 first.
func (r *Request) Begins() []int {
	begins := []int{0}
	if r.Graph != nil {
		for turn := 1; turn < len(r.Graph.nodes); turn++ {
			if len(r.Graph.nodes[turn].Parents) == 0 {
				begins = append(begins, turn)
			}
		}
	}
	return begins
}

// Continues is the turn of the session whose prompt and answer the given turn sends again, the answer as the
// server gave it; false: none.
func (r *Request) Continues(turn int) (before int, ok bool) {
	if r.Graph == nil {
		return turn - 1, turn > 0
	}
	before = r.Graph.continues[turn]
	return before, before >= 0
}

func (r *Request) Continued() bool {
	if r.Graph == nil {
		return r.Turn+1 < r.Turns
	}
	return slices.Contains(r.Graph.continues, r.Turn)
}

// Agent is 0 for the main agent of a session, and else the number of its subagent.
func (r *Request) Agent() int {
	if r.Graph == nil {
		return 0
	}
	return r.Graph.nodes[r.Turn].Agent
}

// Whole reports whether the session begins with its first request, and not at a sampled point of its life.
func (r *Request) Whole() bool { return r.Graph == nil || !r.Graph.partial }

// Later is a later turn of the session that first begins. before is the turn that it continues; nil: none. It is
// safe for concurrent use.
func (p *Plan) Later(first *Request, turn int, before *Request) Request {
	if first.Graph == nil {
		next, _ := p.Following(before)
		return next
	}
	return p.node(first.Graph, turn, before)
}

func (p *Plan) node(g *Graph, turn int, before *Request) Request {
	n := &g.nodes[turn]
	r := Request{
		Index: g.index + turn, Graph: g, Session: g.number, Turn: turn, Turns: len(g.nodes), Think: n.Wait,
		Input: n.Input, Output: n.Output, Model: p.model(0, g.number), LeaveAfter: p.leaves(0, g.number, turn),
	}
	if before == nil {
		r.Blocks = p.traceBlocks(&n.Entry, g.size, uint64(r.Index), g.pass)
		return r
	}
	added := n.Input - g.nodes[before.Turn].Input - before.Output
	r.Context = before.Input + before.sentBack()
	r.Input = r.Context + added
	r.Blocks = append(make([]Block, 0, len(before.Blocks)+(r.Input-before.Input)/BlockTokens+3), before.Blocks...)
	r.Blocks = append(r.Blocks, p.Answer(before)...)
	r.Blocks = p.fill(r.Blocks, added, blockUser, 0, uint64(g.number), uint64(turn))
	return r
}

// Walk is how far a session is: which of its turns have ended. A conversation is a chain: each turn waits for the
// one before.
type Walk struct {
	first *Request
	turns []walked
	left  int // turns that have neither ended nor been lost
}

type walked struct {
	waits     int           // turns that it waits for
	arrived   time.Duration // latest arrival of those that have ended
	ended     time.Duration // latest end of them
	lost      bool
	continued int // turns that continue it, and are neither made nor lost
}

func NewWalk(first *Request) *Walk {
	w := &Walk{first: first, turns: make([]walked, max(first.Turns, 1))}
	w.left = len(w.turns)
	for turn := range w.turns {
		w.turns[turn].waits = w.parents(turn)
		if before, ok := first.Continues(turn); ok {
			w.turns[before].continued++
		}
	}
	return w
}

// Make notes that a turn is made. It returns the turn that it continues; false: none.
func (w *Walk) Make(turn int) (before int, ok bool) {
	if before, ok = w.first.Continues(turn); ok {
		w.turns[before].continued--
	}
	return before, ok
}

// Needed reports whether a turn that is still to be made continues the given one.
func (w *Walk) Needed(turn int) bool {
	return turn < len(w.turns) && w.turns[turn].continued > 0 // a single request of a trace can be any turn
}

func (w *Walk) parents(turn int) int {
	if g := w.first.Graph; g != nil {
		return len(g.nodes[turn].Parents)
	}
	return min(turn, 1)
}

func (w *Walk) children(turn int, each func(int)) {
	if g := w.first.Graph; g != nil {
		for _, child := range g.children[turn] {
			each(child)
		}
	} else if turn+1 < len(w.turns) {
		each(turn + 1)
	}
}

// End notes the arrival and the end of a turn. It returns the turns that wait for nothing else now.
func (w *Walk) End(turn int, arrived, ended time.Duration) (due []int) {
	w.left--
	w.children(turn, func(child int) {
		c := &w.turns[child]
		c.arrived, c.ended = max(c.arrived, arrived), max(c.ended, ended)
		if c.waits--; c.waits == 0 {
			due = append(due, child)
		}
	})
	return due
}

// Due is the intended arrival of a turn that waits for nothing more, with its think time.
func (w *Walk) Due(turn int, think time.Duration) time.Duration {
	t := &w.turns[turn]
	if g := w.first.Graph; g != nil && g.gaps {
		return max(t.ended, t.arrived+think)
	}
	return t.ended + think
}

// Fail notes the failure of a turn: those that wait for it, directly or not, are lost. It returns their number,
// without those that another failure lost before.
func (w *Walk) Fail(turn int) (lost int) {
	w.left--
	lost = w.lose(turn)
	w.left -= lost
	return lost
}

func (w *Walk) lose(turn int) (lost int) {
	w.children(turn, func(child int) {
		if c := &w.turns[child]; !c.lost {
			c.lost = true
			w.Make(child) // never
			lost += 1 + w.lose(child)
		}
	})
	return lost
}

func (w *Walk) Over() bool { return w.left == 0 }

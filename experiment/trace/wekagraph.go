package trace

import (
	"cmp"
	"slices"
	"time"
)

// wekaGraph links the requests of a session. Those of one agent wait for each other by their times. A
// subagent begins when the main agent's request before it in the file has ended; the main agent's first
// request at or after a subagent's recorded end waits for that subagent.
type wekaGraph struct {
	weka    *weka
	counts  *Counts
	numbers map[uint64]uint64
	nodes   []Node
	file    []int         // by node: its place among the calls of its agent
	begin   time.Duration // of the first node, on the file's clock
	step    time.Duration // of the file's times: 1 s if all are whole seconds, else 0
}

func (g *wekaGraph) agent(a *wekaAgent, number int, shift time.Duration) error {
	for i := range a.calls {
		c := &a.calls[i]
		blocks, err := g.weka.blocks(c, g.numbers)
		if err != nil {
			return atLine{c.line, err}
		}
		c.hashes = nil
		if *c.input == 0 || *c.output == 0 {
			g.counts.Read++
			g.counts.Empty++
			continue
		}
		n := Node{Agent: number, Entry: Entry{Line: c.line, Input: *c.input, Output: *c.output, Blocks: blocks,
			Class: c.model}}
		n.At, _ = seconds("t", c.at, 1) // checked when it was read
		n.At += shift
		if c.took != nil && *c.took > 0 {
			if n.Took, err = seconds("api_time", c.took, 1); err != nil {
				return atLine{c.line, err}
			}
		}
		if n.At%time.Second != 0 {
			g.step = 0
		}
		g.nodes = append(g.nodes, n)
		g.file = append(g.file, i)
	}
	return nil
}

func (g *wekaGraph) session(s *wekaSession) (Session, error) {
	if len(g.nodes) == 0 {
		return Session{}, nil
	}
	g.sort()
	agents := make([][]int, len(s.agent.subs)+1)
	for i, n := range g.nodes {
		agents[n.Agent] = append(agents[n.Agent], i)
	}
	for _, members := range agents {
		if err := link(g.nodes, members, g.step); err != nil {
			return Session{}, err
		}
	}
	for i, sub := range s.agent.subs {
		if members := agents[i+1]; len(members) > 0 {
			g.join(agents[0], members, sub, g.spawn(agents[0], members, sub))
		}
	}
	wait(g.nodes)
	recall(g.nodes, g.weka.size)
	return Session{Nodes: g.nodes}, nil
}

func (g *wekaGraph) sort() {
	by := indices(len(g.nodes))
	slices.SortStableFunc(by, func(a, b int) int { return cmp.Compare(g.nodes[a].At, g.nodes[b].At) })
	nodes, file := make([]Node, len(by)), make([]int, len(by))
	g.begin = g.nodes[by[0]].At
	for to, from := range by {
		nodes[to], file[to] = g.nodes[from], g.file[from]
		nodes[to].At -= g.begin
	}
	g.nodes, g.file = nodes, file
}

// spawn makes the first requests of a subagent wait for the main agent's request before it; −1 = there is none.
func (g *wekaGraph) spawn(main, members []int, sub *wekaAgent) int {
	parent := -1
	for _, i := range main {
		if g.file[i] < sub.after && i < members[0] {
			parent = i
		}
	}
	if parent < 0 {
		return parent
	}
	for _, i := range members {
		if g.nodes[i].Parents == nil {
			g.nodes[i].Parents = []int{parent}
		}
	}
	return parent
}

func (g *wekaGraph) end(sub *wekaAgent, members []int) (end time.Duration) {
	if sub.took >= 0 {
		return sub.begin + sub.took
	}
	for _, i := range members {
		end = max(end, g.begin+g.nodes[i].end())
	}
	return end
}

// join makes the main agent's first request at or after the end of a subagent wait for it, and those that overlap this
// request, which do not wait for it.
func (g *wekaGraph) join(main, members []int, sub *wekaAgent, parent int) {
	end := (g.end(sub, members) - g.begin).Truncate(g.step)
	at := slices.IndexFunc(main, func(i int) bool { return g.file[i] >= sub.after && g.nodes[i].At >= end })
	if at < 0 {
		return // it ran in the background
	}
	first := &g.nodes[main[at]]
	over := first.end().Truncate(g.step)
	for _, i := range main[at:] {
		if n := &g.nodes[i]; n == first || n.At < over {
			g.await(i, members, parent)
		}
	}
}

func (g *wekaGraph) await(request int, members []int, parent int) {
	next := &g.nodes[request]
	awaited := map[int]bool{}
	for _, i := range members {
		for _, p := range g.nodes[i].Parents {
			awaited[p] = true
		}
	}
	joined := false
	for _, i := range members {
		if !awaited[i] && i < request {
			next.Parents = append(next.Parents, i)
			joined = true
		}
	}
	if joined {
		next.Parents = slices.DeleteFunc(next.Parents, func(p int) bool { return p == parent })
	}
}

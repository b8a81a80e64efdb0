package trace

import (
	"cmp"
	"io"
	"slices"
	"time"
)

// Sessions are the agent runs and conversations of a trace.
type Sessions struct {
	Count     int     `json:"count"`
	MeanTurns float64 `json:"mean_turns"`
	MaxTurns  int     `json:"max_turns"`
	Graphs    *Graphs `json:"graphs"` // null: the format has no graphs of requests
}

// Graphs summarizes what requests of a session wait for. Times are as recorded.
type Graphs struct {
	Requests    Lengths `json:"requests"`  // of a session
	Depth       Lengths `json:"depth"`     // requests of the longest chain
	Width       Lengths `json:"width"`     // most requests at once
	Subagents   Lengths `json:"subagents"` // of a session
	Input       Lengths `json:"input_tokens"`
	Output      Lengths `json:"output_tokens"`
	Wait        Lengths `json:"wait_s"`         // tool or think time before a request that waited for others
	ToolTime    Lengths `json:"tool_time_s"`    // all such times of a session
	SessionTime Lengths `json:"session_time_s"` // from the first begin to the last end
	// Shares of the prompt tokens of all sessions that an unlimited cache hits; null: no blocks. Within counts
	// blocks of the same session, Between further ones of sessions before it.
	Within  *float64 `json:"hit_within"`
	Between *float64 `json:"hit_between"`
}

func conversations(turns map[int]int) *Sessions {
	s := &Sessions{Count: len(turns)}
	sum := 0
	for _, n := range turns {
		sum += n
		s.MaxTurns = max(s.MaxTurns, n)
	}
	s.MeanTurns = float64(sum) / float64(s.Count)
	return s
}

// figure is one of Graphs: its name and decimals in the text, and the factor from the counted numbers to its unit.
type figure struct {
	lengths  *Lengths
	name     string
	decimals int
	scale    float64
}

// figures are in the order of the text.
func (g *Graphs) figures() []figure {
	const ms = 1e-3
	return []figure{{&g.Requests, "requests", 0, 1}, {&g.Depth, "longest chain", 0, 1}, {&g.Width, "in parallel", 0, 1},
		{&g.Subagents, "subagents", 0, 1}, {&g.Input, "input tokens", 0, 1}, {&g.Output, "output tokens", 0, 1},
		{&g.ToolTime, "tool time (s)", 1, ms}, {&g.SessionTime, "session time (s)", 1, ms},
		{&g.Wait, "each tool time (s)", 1, ms}}
}

const waits = 8 // place of the waits among the figures; the others have a value a session

type graphs struct {
	count           int
	of              [waits + 1]tally // by figure
	prompts, cached int              // tokens
}

func (g *graphs) add(s *Session) {
	g.count++
	depth, width := extent(s.Nodes)
	input, output, agents := 0, 0, 0
	var tools, end time.Duration
	for i := range s.Nodes {
		n := &s.Nodes[i]
		input, output, agents = input+n.Input, output+n.Output, max(agents, n.Agent)
		g.cached += n.Cached
		if n.Parents != nil {
			tools += n.Wait
			g.of[waits].add(int(n.Wait.Milliseconds()))
		}
		end = max(end, n.end())
	}
	g.prompts += input
	for i, n := range []int{len(s.Nodes), depth, width, agents, input, output, int(tools.Milliseconds()),
		int(end.Milliseconds())} {
		g.of[i].add(n)
	}
}

// extent is the number of requests in the longest chain, and the most that run at once if each begins when
// those that it waits for have ended and its tool time is over.
func extent(nodes []Node) (depth, width int) {
	chain := make([]int, len(nodes))
	begins, ends := make([]time.Duration, len(nodes)), make([]time.Duration, len(nodes))
	for i := range nodes {
		n := &nodes[i]
		for _, p := range n.Parents {
			chain[i] = max(chain[i], chain[p])
			begins[i] = max(begins[i], ends[p])
		}
		chain[i]++
		begins[i] += n.Wait
		ends[i] = begins[i] + n.Took
		depth = max(depth, chain[i])
	}
	slices.SortFunc(begins, cmp.Compare)
	slices.SortFunc(ends, cmp.Compare)
	ended := 0
	for i, at := range begins {
		for ended < len(ends) && ends[ended] <= at {
			ended++
		}
		width = max(width, i+1-ended, 1)
	}
	return depth, width
}

func (g *graphs) result(c *Cache) *Sessions {
	if g.count == 0 {
		return nil
	}
	out := &Graphs{}
	for i, f := range out.figures() {
		*f.lengths = g.of[i].lengths(f.scale)
	}
	if c != nil {
		within := float64(g.cached) / float64(g.prompts)
		out.Within, out.Between = &within, new(max(c.HitRate-within, 0))
	}
	return &Sessions{Count: g.count, MeanTurns: out.Requests.Mean, MaxTurns: int(out.Requests.Max), Graphs: out}
}

// sessions numbers conversations from 1 in order of first appearance, and counts their turns.
type sessions struct {
	groups[string]
	turns []int // so far, by conversation
}

func (s *sessions) next(name string) (session, turn int) {
	place := s.of(name)
	if place == len(s.turns) {
		s.turns = append(s.turns, 0)
	}
	s.turns[place]++
	return place + 1, s.turns[place]
}

// groups number sessions by their ids from 0, in order of first appearance.
type groups[ID comparable] struct {
	numbers map[ID]int
	count   int
}

// of is the number of the session with an id. What has the zero id is a session of its own.
func (g *groups[ID]) of(id ID) int {
	n := g.count
	if id != *new(ID) {
		n = number(&g.numbers, id, g.count)
	}
	g.count = max(g.count, n+1)
	return n
}

// number returns the number of a key; if it has none, that becomes next.
func number[K, N comparable](numbers *map[K]N, key K, next N) N {
	n, ok := (*numbers)[key]
	if !ok {
		if *numbers == nil {
			*numbers = map[K]N{}
		}
		n = next
		(*numbers)[key] = n
	}
	return n
}

// each calls do with everything that next returns, up to io.EOF.
func each[T any](next func() (T, error), do func(T) error) error {
	for {
		one, err := next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = do(one)
		}
		if err != nil {
			return err
		}
	}
}

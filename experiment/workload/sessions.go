package workload

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"bench/experiment/trace"
)

// Sessions are the keys of [row.trace] for the replay of sessions: agent runs and conversations, each a graph of
// requests. They apply to a trace that has sessions.
type Sessions struct {
	// Replay is sessions: a request is sent when those that it waits for have ended, and a tool's time later;
	// requests: each at its own time, by the row's arrivals. Empty = sessions if the trace has them, and the ends of
	// its requests.
	Replay string `toml:"replay" json:"replay,omitempty"`
	// Answers is recorded (also if empty): prompts are as in the trace; server: a prompt that continues an earlier
	// request contains the server's own answer to it.
	Answers string `toml:"answers" json:"answers,omitempty"`
	// longest wait for a tool; 0 = as recorded
	ToolTimeCap Span `toml:"tool_time_cap" json:"tool_time_cap_s,omitempty"`
	// Begin is start (also if empty), or sampled: the first session of each worker begins at a sampled point of its
	// life.
	Begin  string `toml:"begin" json:"begin,omitempty"`
	Repeat bool   `toml:"repeat" json:"repeat,omitempty"` // at its end the trace begins anew, with other prompts
}

const (
	replaySessions = "sessions"
	replayRequests = "requests"
	recorded       = "recorded"
	serverAnswers  = "server"
	beginSampled   = "sampled"
)

func (w *Workload) ReplaysSessions() bool { return w.Trace != nil && w.Trace.replaysSessions() }

func (t *Trace) replaysSessions() bool {
	return t.Replay == replaySessions || t.Replay == "" && t.Head.Grouped && t.Head.Ends
}

func (w *Workload) UsesServerAnswers() bool {
	return w.ReplaysSessions() && w.Trace.Answers == serverAnswers
}

func (s *Sessions) Describe() string {
	text := "recorded answers"
	if s.Answers == serverAnswers {
		text = "the server's answers"
	}
	if s.ToolTimeCap > 0 {
		text += fmt.Sprintf(", tool time at most %v", time.Duration(s.ToolTimeCap))
	}
	if s.Begin == beginSampled {
		text += ", the first at sampled points of their life"
	}
	return text
}

func (t *Trace) checkSessions(w *Workload, bad mistakes) {
	word := func(key, value string, words ...string) {
		bad.unless(value == "" || slices.Contains(words, value), "trace."+key,
			fmt.Sprintf("use %q or %q", words[0], words[1]), "unknown %s %q", key, value)
	}
	word("replay", t.Replay, replaySessions, replayRequests)
	word("answers", t.Answers, recorded, serverAnswers)
	word("begin", t.Begin, "start", beginSampled)
	own := t.Sessions
	own.Replay = ""
	switch {
	case t.Head.Format == "": // the file could not be read
	case t.Replay == replaySessions && !t.Head.Grouped && t.Head.SessionRequests == 0:
		bad("trace.replay", fmt.Sprintf("the %s trace has no sessions", t.Head.Format), "remove replay")
	case !t.replaysSessions() && own != (Sessions{}):
		bad("trace", "answers, tool_time_cap, begin and repeat apply to sessions",
			`write replay = "sessions", or remove these keys`)
	case t.Begin == beginSampled && (w.Open() || w.Arrival.Process == traced):
		bad("trace.begin", `begin = "sampled" fills the workers of a closed loop`,
			"replace rate or arrival by concurrency = 16")
	case t.Repeat && w.Arrival.Process == traced:
		bad("trace.repeat", "a trace that sets the arrival times cannot be repeated",
			"remove repeat, or replace arrival by rate or concurrency")
	}
}

func (t *Trace) wait(recorded time.Duration) time.Duration {
	if t.ToolTimeCap > 0 {
		recorded = min(recorded, time.Duration(t.ToolTimeCap))
	}
	return max(recorded, 0)
}

func (t *replay) moreSessions() bool {
	if t.session != nil {
		return true
	}
	var s trace.Session
	for len(s.Nodes) == 0 && t.err == nil {
		if t.r == nil {
			if t.r, t.err = t.open(); t.err != nil {
				break
			}
		}
		s, t.err = t.r.NextSession()
		if t.err == io.EOF && t.of.Repeat && t.sessions > t.begun {
			_ = t.r.Close() // it was only read
			t.r, t.err, t.begun = nil, nil, t.sessions
			t.pass++
		}
	}
	if t.err != nil {
		return false
	}
	t.session, t.at = t.graphOf(s), s.At
	t.sessions++
	return true
}

// replayedSession is the first request of the next session of the trace; after the end, an empty one.
func (p *Plan) replayedSession() Request {
	t := p.replay
	if !t.more() {
		return Request{Index: t.given}
	}
	g := t.session
	t.session = nil
	r := p.node(g, 0, nil)
	if r.At = p.next.at; p.w.Arrival.Process == traced {
		r.At = t.at
	} else {
		p.next = p.after(p.next)
	}
	t.given += len(g.nodes)
	return r
}

func (t *replay) graphOf(s trace.Session) *Graph {
	g := &Graph{nodes: s.Nodes, index: t.given, number: t.sessions, pass: t.pass, size: t.r.Info.BlockTokens,
		gaps: !t.r.Info.Ends}
	for i := range g.nodes {
		g.nodes[i].Wait = t.of.wait(g.nodes[i].Wait)
	}
	if t.of.Begin == beginSampled && t.sessions < t.sampled {
		g.cut(t.of, t.seeds.rand(streamBegin, uint64(t.sessions)))
	}
	first := g.nodes[0].Wait
	g.children, g.continues = make([][]int, len(g.nodes)), make([]int, len(g.nodes))
	for i := range g.nodes {
		n := &g.nodes[i]
		if len(n.Parents) == 0 {
			n.Wait = max(0, n.Wait-first) // the session arrives with its first request
		}
		for _, parent := range n.Parents {
			g.children[parent] = append(g.children[parent], i)
		}
		g.continues[i] = -1
		if t.of.Answers == serverAnswers {
			g.continues[i] = g.continuedBy(n)
		}
	}
	return g
}

// continuedBy is the turn whose context a request continues: of those that it waits for, the last one whose prompt
// its own begins with, with room for the answer; -1 = none.
func (g *Graph) continuedBy(n *trace.Node) int {
	for _, parent := range slices.Backward(n.Parents) {
		before := &g.nodes[parent]
		if before.Input+before.Output >= n.Input {
			continue
		}
		if before.Blocks == nil || n.Blocks == nil {
			if n.Agent == before.Agent {
				return parent
			}
			continue
		}
		whole := before.Input / g.size
		if len(n.Blocks) >= whole && slices.Equal(n.Blocks[:whole], before.Blocks[:whole]) {
			return parent
		}
	}
	return -1
}

// cut removes the requests that started before a sampled moment of the session's life. Those that waited for
// removed ones only begin the session, as long after that moment as recorded.
func (g *Graph) cut(t *Trace, r *rand.Rand) {
	last := slices.MaxFunc(g.nodes, func(a, b trace.Node) int { return int(a.At - b.At) }).At
	moment := time.Duration(r.Float64() * float64(last))
	from := 0
	if last == 0 { // without times: any of its requests
		from = r.IntN(len(g.nodes))
	}
	var kept []trace.Node
	number := make([]int, len(g.nodes)) // of those that are kept
	for i, n := range g.nodes {
		if number[i] = -1; i < from || n.At < moment {
			continue
		}
		number[i] = len(kept)
		had := len(n.Parents)
		var parents []int
		for _, parent := range n.Parents {
			if number[parent] >= 0 {
				parents = append(parents, number[parent])
			}
		}
		n.Parents = parents
		if len(n.Parents) == 0 {
			rest := t.wait(n.At - moment)
			if had > 0 {
				rest = min(rest, n.Wait)
			}
			n.Wait = rest
		}
		kept = append(kept, n)
	}
	g.partial = len(kept) < len(g.nodes)
	g.nodes = kept
}

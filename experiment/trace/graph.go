package trace

import "time"

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

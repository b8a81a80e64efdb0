package trace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// native reads sessions with their graph in bench's own format: the lines of a session stand together, and
// the sessions in order of their begin.
type native struct {
	*jsonl
	begun       bool
	ahead       Node          // first node of the next session
	ahead0      time.Duration // its timestamp
	ended       bool
	first, last time.Duration // timestamps of the first session and of the one before
}

func (n *native) nextSession(*Counts) (s Session, err error) {
	if !n.begun {
		n.begun = true
		if err := n.read(); err != nil {
			return s, err
		}
		n.first, n.last = n.ahead0, n.ahead0
	}
	if n.ended {
		return s, io.EOF
	}
	if s.At = n.ahead0 - n.first; n.ahead0 < n.last {
		return s, errors.New("sessions are not in order of their begin\nhint: sort them by the timestamp of their first request")
	}
	n.last = n.ahead0
	number, blocks, edges := n.ahead.Session, 0, 0
	for len(s.Nodes) == 0 || !n.ended && number > 0 && n.ahead.Session == number {
		node := n.ahead
		if err := checkNode(&node, s.Nodes, n.what.BlockTokens); err != nil {
			return s, atLine{node.Line, err}
		}
		s.Nodes = append(s.Nodes, node)
		blocks, edges = blocks+len(node.Blocks), edges+len(node.Parents)
		if len(s.Nodes) > maxNodes || blocks > maxBlocks || edges > maxEdges {
			return s, errSession
		}
		if err := n.read(); err != nil {
			return s, err
		}
	}
	recall(s.Nodes, n.what.BlockTokens)
	return s, nil
}

func (n *native) read() error {
	n.ahead = Node{}
	err := n.jsonl.next(&n.ahead.Entry)
	if err == io.EOF {
		n.ended = true
		return nil
	}
	if err != nil {
		return err
	}
	n.ahead0 = n.ahead.At
	r := &n.row
	for _, t := range []struct {
		key  string
		text json.Number
		to   *time.Duration
	}{{"at_ms", r.At, &n.ahead.At}, {"wait_ms", r.Wait, &n.ahead.Wait}, {"took_ms", r.Took, &n.ahead.Took}} {
		*t.to = 0
		if t.text == "" {
			continue
		}
		if *t.to, err = parseTime(string(t.text), time.Millisecond); err != nil {
			return fmt.Errorf("%s: %w", t.key, err)
		}
	}
	n.ahead.Agent, n.ahead.Turn = r.Agent, r.Node
	for _, p := range r.Parents {
		n.ahead.Parents = append(n.ahead.Parents, p-1)
	}
	return nil
}

func checkNode(n *Node, before []Node, size int) error {
	switch {
	case n.Input < 1 || n.Output < 1:
		return fmt.Errorf("input %d, output %d: a request of a session needs a prompt and an answer", n.Input, n.Output)
	case n.Input > maxTokens || n.Output > maxTokens:
		return fmt.Errorf("input %d or output %d exceeds the limit of %d tokens", n.Input, n.Output, maxTokens)
	case n.Turn != 0 && n.Turn != len(before)+1:
		return fmt.Errorf("node %d: the requests of a session are numbered from 1, without gaps", n.Turn)
	case n.Agent < 0:
		return errors.New("agent counts from 0")
	case len(before) > 0 && n.At < before[len(before)-1].At:
		return errors.New("at_ms goes back within a session\nhint: sort the requests of a session by at_ms")
	}
	for i, p := range n.Parents {
		if p < 0 || p >= len(before) || i > 0 && p <= n.Parents[i-1] {
			return fmt.Errorf("parent %d: parents are the numbers from 1 of earlier requests of the session, in order",
				p+1)
		}
	}
	return checkBlocks(&n.Entry, size)
}

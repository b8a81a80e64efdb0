package trace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
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
		return s, errors.New("sessions are not in order of their begin\n" +
			"hint: sort them by the timestamp of their first request")
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

// recorded reads a recording of live traffic (package recording): lines in order of their ends, with what each request
// measured. The process that wrote it may have been killed: what comes behind its last whole line is dropped.
type recorded struct {
	*jsonl
	blockBytes     int // of a prompt's text in a block
	tokenBytes     float64
	groups         groups[int]
	bytes, counted float64 // of prompts with both
	estimated      int     // prompts without a token count
	hashed         bool    // a prompt with blocks
}

type recordedRow struct {
	row
	Bytes   int             `json:"prompt_bytes"`
	Media   int             `json:"media_parts"`
	Counts  json.RawMessage `json:"counts"`
	Request struct {
		Outcome      string `json:"outcome"`
		Begin        int64  `json:"at_us"`
		End          *int64 `json:"end_us"`
		PromptTokens *int   `json:"prompt_tokens"`
	} `json:"request"`
}

func (r *recorded) scan(add func(*call) error, counts *Counts) (Info, error) {
	for {
		line, err := r.Lines.Next()
		if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
			return r.summary(), nil
		}
		if err != nil {
			return Info{}, err
		}
		open := r.Open
		var x recordedRow
		if err := decode(line, &x); err != nil {
			if open { // the kill cut it
				return r.summary(), nil
			}
			return Info{}, fmt.Errorf("not a line of a recording: %w", err)
		}
		if x.Counts != nil && x.Input == nil {
			continue
		}
		counts.Read++
		c, err := r.call(&x, counts)
		if err == nil && c != nil {
			counts.Read--
			err = add(c)
		}
		if err != nil {
			return Info{}, err
		}
	}
}

// call is the request of a line; nil = it was skipped.
func (r *recorded) call(x *recordedRow, counts *Counts) (*call, error) {
	ok := x.Request.Outcome == "ok" || x.Request.Outcome == "short"
	switch {
	case x.Input == nil || x.Output == nil:
		return nil, errors.New("input_length or output_length is missing")
	case *x.Input < 0 || *x.Output < 0 || *x.Input > maxTokens || *x.Output > maxTokens:
		return nil, fmt.Errorf("input_length %d or output_length %d is not between 0 and %d", *x.Input, *x.Output,
			maxTokens)
	case x.Session < 0 || x.Turn < 0:
		return nil, errors.New("session and turn count from 1")
	case x.Bytes < 0 || x.HashIDs != nil && r.blockBytes == 0:
		return nil, errors.New("hash_ids in a recording whose header has no block_bytes, or negative prompt_bytes")
	case *x.Output == 0 && x.Request.Outcome == "": // its answer was encoded, or too large
		counts.Uncounted++
		return nil, nil
	case *x.Output == 0 && !ok:
		counts.Failed++
		return nil, nil
	case *x.Output == 0 || *x.Input == 0:
		counts.Empty++
		return nil, nil
	}
	c := &call{Entry: Entry{Line: r.Number, Input: *x.Input, Output: *x.Output, Blocks: x.HashIDs, Class: x.Class}}
	var err error
	if c.At, err = r.time(string(x.Timestamp)); err != nil {
		return nil, err
	}
	if end := x.Request.End; end != nil && *end > x.Request.Begin && *end < math.MaxInt64/int64(time.Microsecond) {
		c.took = time.Duration(max(0, *end-x.Request.Begin)) * time.Microsecond
	}
	if x.Session > 0 {
		c.Turn = max(x.Turn, 1) // 0 = not in a session
	}
	c.Session = r.groups.of(x.Session)
	r.calibrate(x, c)
	return c, nil
}

// calibrate notes how many tokens the bytes of a prompt have. Images have tokens and no bytes.
func (r *recorded) calibrate(x *recordedRow, c *call) {
	r.hashed = r.hashed || c.Blocks != nil
	n := len(c.Blocks)
	if x.Bytes == 0 && n > 0 {
		x.Bytes = n*r.blockBytes - r.blockBytes/2 // the last block is half full on average
	}
	switch {
	case x.Request.PromptTokens == nil:
		r.estimated++
		c.bytes = x.Bytes
	case x.Media == 0 && n > 0:
		r.bytes, r.counted = r.bytes+float64(x.Bytes), r.counted+float64(c.Input)
	}
}

// summary describes the file, once all its prompts are known.
func (r *recorded) summary() Info {
	i := r.what
	i.Ends, i.Estimated, i.Lacking = true, r.estimated > 0, r.estimated
	if r.counted > 0 {
		r.tokenBytes = r.bytes / r.counted
	}
	if r.hashed {
		i.BlockTokens = int(min(max(math.Round(float64(r.blockBytes)/r.tokenBytes), 1), maxBlockTokens))
	}
	return i
}

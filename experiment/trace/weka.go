package trace

import (
	"errors"
	"fmt"
	"io"
	"math"
	"time"
)

// weka reads agentic coding sessions in the format of kv-cache-tester: an object for each session, with the requests of
// its main agent and of its subagents. Block hashes count within a session, unless it says otherwise.
type weka struct {
	*walker
	size   int
	block  uint64            // next number
	global map[uint64]uint64 // block numbers of hashes that all sessions share
	ids    map[string]int    // line of each session
	ahead  *wekaSession      // the first session, read for its block size
}

type wekaSession struct {
	line  int
	id    string
	size  int
	scope string
	agent wekaAgent
	nodes int
	ids   int
}

type wekaAgent struct {
	calls []wekaCall // without the subagents' calls
	subs  []*wekaAgent
	begin time.Duration
	took  time.Duration // −1 = not recorded
	after int           // of a subagent: calls of the main agent that precede it in the file
}

type wekaCall struct {
	kind   string
	line   int
	at     *float64 // s since the session's begin
	took   *float64 // s
	model  string
	input  *int
	output *int
	hashes []uint64
	agent  *wekaAgent // of a subagent
}

func newWeka(r io.Reader, line int) (*weka, error) {
	w := &weka{walker: newWalker(r, line), ids: map[string]int{}}
	s, err := w.read()
	if err != nil {
		return nil, atLine{w.at(), err}
	}
	w.ahead, w.size = s, s.size
	return w, nil
}

// nextSession returns the next session, without requests that have an empty prompt or answer.
func (w *weka) nextSession(counts *Counts) (Session, error) {
	s := w.ahead
	w.ahead = nil
	if s == nil {
		var err error
		if s, err = w.read(); err != nil {
			return Session{}, err
		}
	}
	return w.session(s, counts)
}

func (w *weka) read() (s *wekaSession, err error) {
	err = w.walker.next(func() error {
		s = &wekaSession{line: w.at()}
		if err := w.fields(map[string]any{"id": &s.id, "block_size": &s.size, "hash_id_scope": &s.scope,
			"requests": func() error { return w.requests(s, &s.agent) }}); err != nil {
			return err
		}
		return w.check(s)
	})
	return s, err
}

func (w *weka) check(s *wekaSession) error {
	switch {
	case s.size < 1 || s.size > maxBlockTokens:
		return fmt.Errorf("block_size %d is not between 1 and %d", s.size, maxBlockTokens)
	case w.size > 0 && s.size != w.size:
		return fmt.Errorf("block_size %d, but the first session has %d\n"+
			"hint: keep sessions of one block size in a file", s.size, w.size)
	case s.scope != "" && s.scope != "local" && s.scope != "global":
		return fmt.Errorf("unknown hash_id_scope %q", shown(s.scope))
	case s.id != "" && w.ids[s.id] > 0:
		return fmt.Errorf("the session of line %d has the same id %q\nhint: remove one of the two", w.ids[s.id],
			shown(s.id))
	}
	w.ids[s.id] = s.line
	return nil
}

func (w *weka) requests(s *wekaSession, a *wekaAgent) error {
	return w.objects(func() error {
		c := wekaCall{line: w.at()}
		if err := w.request(s, a, &c); err != nil {
			return err
		}
		if s.nodes, s.ids = s.nodes+1, s.ids+len(c.hashes); s.nodes > maxNodes || s.ids > maxBlocks {
			return errSession
		}
		if c.agent == nil {
			a.calls = append(a.calls, c)
		} else {
			c.agent.after = len(a.calls)
			a.subs = append(a.subs, c.agent)
		}
		return nil
	})
}

func (w *weka) request(s *wekaSession, a *wekaAgent, c *wekaCall) error {
	inner := wekaAgent{took: -1}
	var ms *float64
	err := w.fields(map[string]any{"t": &c.at, "type": &c.kind, "model": &c.model, "in": &c.input, "out": &c.output,
		"hash_ids": &c.hashes, "api_time": &c.took, "duration_ms": &ms,
		"requests": func() error {
			if a != &s.agent {
				return errors.New("a subagent of a subagent\nhint: only the main agent has subagents in this format")
			}
			return w.requests(s, &inner)
		}})
	if err != nil {
		return err
	}
	switch {
	case c.kind == "n", c.kind == "s":
		return c.check()
	case c.kind == "subagent" && a == &s.agent:
		c.agent = &inner
		if inner.begin, err = seconds("t", c.at, 1); err == nil && ms != nil {
			*ms = max(*ms, 0)
			inner.took, err = seconds("duration_ms", ms, 1e-3)
		}
		return err
	}
	return fmt.Errorf("unknown type %q of a request\nhint: known are n, s and subagent", shown(c.kind))
}

func (c *wekaCall) check() error {
	if c.input == nil || c.output == nil {
		return errors.New("in or out is missing")
	}
	if *c.input < 0 || *c.output < 0 || *c.input > maxTokens || *c.output > maxTokens {
		return fmt.Errorf("in %d or out %d is not between 0 and %d tokens", *c.input, *c.output, maxTokens)
	}
	_, err := seconds("t", c.at, 1)
	return err
}

// seconds converts a time to whole microseconds: below that, sums of decimal fractions differ.
func seconds(key string, x *float64, unit float64) (time.Duration, error) {
	if x == nil {
		return 0, fmt.Errorf("%s is missing", key)
	}
	if s := *x * unit; s >= 0 && s < calendarTo {
		return time.Duration(math.Round(s*1e6)) * time.Microsecond, nil
	}
	return 0, fmt.Errorf("%s %v is not a time since the begin of the session", key, *x)
}

// blocks numbers the blocks of a prompt. The format has hashes of full blocks; the rest of a prompt is in a
// block of its own that no other prompt has.
func (w *weka) blocks(c *wekaCall, numbers map[uint64]uint64) ([]uint64, error) {
	n := (*c.input + w.size - 1) / w.size
	if len(c.hashes) > n {
		return nil, fmt.Errorf("%d hash_ids for a prompt of %d tokens, but blocks of %d tokens make %d", len(c.hashes),
			*c.input, w.size, n)
	}
	out := make([]uint64, 0, n)
	for _, h := range c.hashes {
		id := number(&numbers, h, w.block)
		w.block = max(w.block, id+1)
		out = append(out, id)
	}
	for len(out) < n {
		out = append(out, w.block)
		w.block++
	}
	return out, nil
}

func (w *weka) session(s *wekaSession, counts *Counts) (Session, error) {
	numbers := map[uint64]uint64{}
	if s.scope == "global" {
		if w.global == nil {
			w.global = numbers
		}
		numbers = w.global
	}
	g := wekaGraph{weka: w, counts: counts, numbers: numbers, step: time.Second}
	if err := g.agent(&s.agent, 0, 0); err != nil {
		return Session{}, err
	}
	for i, sub := range s.agent.subs {
		shift := time.Duration(0)
		if len(sub.calls) > 0 {
			// Older files count the times of a subagent from its own begin. The clocks of begin and request differ.
			if first, _ := seconds("t", sub.calls[0].at, 1); first < sub.begin-time.Second {
				shift = sub.begin
			}
		}
		if err := g.agent(sub, i+1, shift); err != nil {
			return Session{}, err
		}
	}
	return g.session(s)
}

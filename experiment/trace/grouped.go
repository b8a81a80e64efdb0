package trace

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// grouped reads a format whose sessions stand one after another.
type grouped interface {
	// nextSession returns the next session, numbered by the caller, maybe without nodes, and counts what it
	// skips; io.EOF at the end.
	nextSession(*Counts) (Session, error)
	at() int
}

// scanner reads a format whose sessions are interleaved.
type scanner interface {
	// scan calls add with every request, and counts what it skips.
	scan(add func(*call) error, counts *Counts) (Info, error)
	at() int
}

func (r *Reader) grouped(g grouped, i Info) {
	r.Info = i
	r.sessions = g
	if r.Info.Timed {
		r.src = &ordered{r: r}
	} else {
		r.src = &flattened{grouped: g, counts: &r.counts}
	}
}

func (r *Reader) scanned(from scanner) (err error) {
	s := r.newSpill()
	add := func(c *call) error {
		if err := s.add(c); err != nil {
			return unreadable{err}
		}
		return nil
	}
	if r.Info, err = from.scan(add, &r.counts); err != nil {
		return atLine{from.at(), err}
	}
	if err := s.finish(); err != nil {
		return err
	}
	if len(s.index) > 0 {
		s.origin = time.Duration(s.index[0].at)
	}
	s.block = r.Info.BlockTokens
	r.stored = s
	r.src = &ordered{r: r}
	return nil
}

type atLine struct {
	line int
	error
}

func (e atLine) Unwrap() error { return e.error }

func (r *Reader) placed(err error, line int) error {
	if at, ok := errors.AsType[atLine](err); ok {
		line, err = at.line, at.error
	}
	return fmt.Errorf("%s:%d: %w", r.name, max(line, 1), err)
}

// NextSession returns the next session that is kept, and io.EOF at the end. Any other error names the file and
// the line, and is returned by every later call. The caller owns the nodes. A trace without sessions has one
// request in each. Next and NextSession cannot be mixed.
//
// A filter of lengths keeps a session if each of its requests passes, the window if it
// begins within. Speed and jitter change when sessions begin, and nothing in them.
func (r *Reader) NextSession() (Session, error) {
	if r.err == nil && r.sessions == nil {
		r.err = r.group()
	}
	if r.o.Jitter > 0 {
		return r.runs.read(r, r.keptSession, func(s *Session) *time.Duration { return &s.At })
	}
	return r.keptSession()
}

func (r *Reader) group() error {
	if r.stored == nil {
		if err := r.store(); err != nil {
			return err
		}
	}
	s := r.stored
	slices.SortStableFunc(s.index, func(a, b place) int {
		return cmp.Or(cmp.Compare(s.begins[a.session], s.begins[b.session]), cmp.Compare(a.session, b.session),
			cmp.Compare(a.at, b.at))
	})
	r.sessions = &regrouped{stored: r.stored, what: r.Info}
	return nil
}

func (r *Reader) store() error {
	s := r.newSpill()
	var sessions groups[int]
	for {
		e, err := r.row()
		if err == io.EOF {
			break
		}
		if err != nil {
			return r.malformed(err)
		}
		if e.Input == 0 || e.Output == 0 {
			r.counts.Read++
			r.counts.Empty++
			continue
		}
		e.Session = sessions.of(e.Session)
		if err := s.add(&call{Entry: e}); err != nil {
			return r.placed(err, e.Line)
		}
	}
	r.stored = s
	return s.finish()
}

func (r *Reader) keptSession() (Session, error) {
	for r.err == nil {
		s, err := r.sessions.nextSession(&r.counts)
		if err != nil {
			if r.err = err; err != io.EOF {
				r.err = r.placed(err, r.sessions.at())
			}
			break
		}
		if len(s.Nodes) == 0 {
			continue
		}
		if r.o.End > 0 && s.At >= r.o.End {
			r.err = io.EOF // sessions come in order of their begin
			break
		}
		r.counts.Read += len(s.Nodes)
		if r.keepSession(&s) {
			s.Number = r.given
			r.given++
			return s, nil
		}
	}
	return Session{}, r.err
}

func (r *Reader) keepSession(s *Session) bool {
	keep := s.At >= r.o.Start
	for i := range s.Nodes {
		keep = keep && r.o.keeps(&s.Nodes[i].Entry)
	}
	if !keep {
		r.counts.Filtered += len(s.Nodes)
		return false
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		n.Session, n.Turn = r.given+1, i+1
		r.truncate(&n.Entry)
		n.Cached = min(n.Cached, n.Input)
	}
	if r.Info.Timed {
		s.At = r.o.scaled(s.At - r.o.Start)
	}
	return true
}

type regrouped struct {
	stored *spill
	what   Info
	next   int // place in the index
	line   int
}

func (g *regrouped) at() int { return g.line }

func (g *regrouped) nextSession(*Counts) (s Session, err error) {
	index := g.stored.index
	if g.next == len(index) {
		return s, io.EOF
	}
	session := index[g.next].session
	blocks := 0
	var agents map[int]int
	for ; g.next < len(index) && index[g.next].session == session; g.next++ {
		c, err := g.stored.read(g.next)
		if err != nil {
			return s, err
		}
		g.line = c.Line
		if blocks += len(c.Blocks); len(s.Nodes) == maxNodes || blocks > maxBlocks {
			return s, errSession
		}
		s.Nodes = append(s.Nodes, Node{Entry: c.Entry, Took: c.took, Agent: number(&agents, c.agent, len(agents))})
	}
	begin := s.Nodes[0].At
	s.At = begin - g.stored.origin
	for i := range s.Nodes {
		s.Nodes[i].At -= begin
	}
	if g.what.Ends {
		err = link(s.Nodes, indices(len(s.Nodes)), 0)
	} else {
		chain(s.Nodes)
	}
	wait(s.Nodes)
	recall(s.Nodes, g.what.BlockTokens)
	return s, err
}

type flattened struct {
	grouped
	counts *Counts
	nodes  []Node
	number int
	turn   int
}

func (f *flattened) next(e *Entry) error {
	for len(f.nodes) == 0 {
		s, err := f.nextSession(f.counts)
		if err != nil {
			return err
		}
		f.nodes, f.turn = s.Nodes, 0
		f.number++
	}
	*e = f.nodes[0].Entry
	f.nodes = f.nodes[1:]
	f.turn++
	e.At, e.Session, e.Turn = 0, f.number, f.turn
	return nil
}

type ordered struct {
	r     *Reader
	turns []int // by session: requests so far
	place int   // of the next request in the index
	line  int
}

func (o *ordered) at() int { return o.line }

func (o *ordered) next(e *Entry) error {
	if o.r.stored == nil {
		if err := o.r.storeSessions(); err != nil {
			return atLine{o.r.sessions.at(), err}
		}
	}
	s := o.r.stored
	if o.place == len(s.index) {
		return io.EOF
	}
	c, err := s.read(o.place)
	if err != nil {
		return err
	}
	o.place++
	if o.turns == nil {
		o.turns = make([]int, len(s.begins))
	}
	*e = c.Entry
	o.line = e.Line
	if s.alone && c.Turn == 0 {
		e.Session = 0
		return nil
	}
	o.turns[e.Session]++
	e.Turn = o.turns[e.Session]
	e.Session++
	return nil
}

func (r *Reader) storeSessions() error {
	s := r.newSpill()
	from := &copied{r.sessions, s, 0}
	next := func() (Session, error) { return from.nextSession(&r.counts) }
	if err := each(next, func(Session) error { return nil }); err != nil {
		return err
	}
	r.stored = s
	return s.finish()
}

// newSpill is a store that the reader closes.
func (r *Reader) newSpill() *spill {
	s := &spill{}
	r.close = append(r.close, s)
	return s
}

type copied struct {
	grouped
	to    *spill
	count int
}

func (c *copied) nextSession(counts *Counts) (Session, error) {
	s, err := c.grouped.nextSession(counts)
	if err != nil {
		return s, err
	}
	for _, n := range s.Nodes {
		e := n.Entry
		e.At += s.At
		e.Session = c.count
		if err := c.to.add(&call{Entry: e}); err != nil {
			return s, err
		}
	}
	c.count++
	return s, nil
}

// rewind makes Next begin at the first request again, after sessions were read. copies are the requests of a
// format whose sessions stand one after another; nil = they are stored.
func (r *Reader) rewind(copies *spill) error {
	if copies != nil {
		r.stored = copies
	}
	r.src = &ordered{r: r}
	r.err, r.given, r.started = nil, 0, false
	c := &r.counts // of skipped rows they stay: they are not read again
	c.Filtered, c.CutInput = 0, 0
	c.Read = c.Other + c.Failed + c.Duplicate + c.Uncounted + c.Empty
	return r.stored.finish()
}

func indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

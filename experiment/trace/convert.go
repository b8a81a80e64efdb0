package trace

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

type Conversion struct {
	Info
	Counts
	Requests  int      // written
	Sessions  int      // written with their graph; 0 = the format has no sessions
	Different int      // distinct blocks
	HitRate   float64  // share of prompt tokens that an unlimited cache hits
	Lost      []string // what the new file lacks, one phrase each
}

// Convert writes the requests of r in the native format, always without text, and of a format with sessions
// their graph. anonymize keeps only lengths, times since the first request, and blocks and sessions numbered in
// order of first appearance.
func Convert(w io.Writer, r *Reader, anonymize bool) (*Conversion, error) {
	return (&converter{anonymize: anonymize}).convert(w, r, nil)
}

// convert writes the requests, or sessions, that keep selects by their place from 0; nil = all.
func (c *converter) convert(w io.Writer, r *Reader, keep func(Entry, int) bool) (*Conversion, error) {
	c.Info = r.Info
	c.dense = c.anonymize || r.Info.Grouped || r.stored != nil
	b := bufio.NewWriterSize(w, 1<<16)
	c.out = json.NewEncoder(b)
	h := header{Schema: nativeSchema, BlockTokens: r.Info.BlockTokens, Estimated: r.Info.Estimated,
		Grouped: r.Info.Grouped, Ends: r.Info.Grouped && r.Info.Ends}
	if r.Info.Timed {
		h.TimeUnit = "ms"
	}
	if err := c.out.Encode(h); err != nil {
		return nil, err
	}
	write := c.requests
	if r.Info.Grouped {
		write = c.runs
	}
	if err := write(r, keep); err != nil {
		return nil, err
	}
	c.Counts = r.counts
	if c.Requests == 0 {
		return nil, r.empty()
	}
	if c.Different = len(c.blocks); c.tokens > 0 {
		c.HitRate = 1 - float64(c.fresh)/float64(c.tokens)
	}
	c.lost(r)
	return &c.Conversion, b.Flush()
}

func (c *converter) requests(r *Reader, keep func(Entry, int) bool) error {
	place := -1
	return each(r.Next, func(e Entry) error {
		if place++; keep != nil && !keep(e, place) {
			return nil
		}
		return c.out.Encode(c.line(e))
	})
}

func (c *converter) runs(r *Reader, keep func(Entry, int) bool) error {
	place := -1
	return each(r.NextSession, func(s Session) error {
		if place++; keep != nil && !keep(Entry{}, place) {
			return nil
		}
		c.Sessions++
		for i, n := range s.Nodes {
			e := n.Entry
			e.At, e.Session, e.Turn = s.At+n.At, c.Sessions, 0
			l := c.line(e)
			l.Node, l.At, l.Wait, l.Took, l.Agent = i+1, some(n.At), some(n.Wait), some(n.Took), n.Agent
			for _, p := range n.Parents {
				l.Parents = append(l.Parents, p+1)
			}
			if err := c.out.Encode(l); err != nil {
				return err
			}
		}
		return nil
	})
}

// some is a time in milliseconds; empty = 0.
func some(d time.Duration) json.Number {
	if d == 0 {
		return ""
	}
	return milliseconds(d)
}

type converter struct {
	Conversion
	anonymize bool
	dense     bool // blocks are numbered in order of first appearance
	out       *json.Encoder
	first     time.Duration
	blocks    map[uint64]uint64 // new numbers by old ones
	sessions  map[int]int
	classes   bool // a request has a class

	tokens, fresh int // tokens of all blocks, and of blocks at their first appearance
}

func (c *converter) line(e Entry) row {
	if c.Requests == 0 && c.anonymize {
		c.first = e.At
	}
	c.Requests++
	l := row{Input: &e.Input, Output: &e.Output, HashIDs: e.Blocks, Session: e.Session, Turn: e.Turn, Class: e.Class}
	if c.Timed {
		l.Timestamp = milliseconds(e.At - c.first)
	}
	for i, id := range e.Blocks {
		n := inBlock(i, e.Input, c.BlockTokens)
		c.tokens += n
		next := uint64(len(c.blocks))
		dense := number(&c.blocks, id, next)
		if dense == next {
			c.fresh += n
		}
		if c.dense {
			e.Blocks[i] = dense
		}
	}
	if !c.anonymize {
		return l
	}
	if e.Session > 0 {
		l.Session = number(&c.sessions, e.Session, len(c.sessions)+1)
	}
	l.Class, c.classes = "", c.classes || e.Class != ""
	return l
}

func milliseconds(d time.Duration) json.Number {
	text := strconv.FormatInt(int64(d/time.Millisecond), 10)
	if frac := d % time.Millisecond; frac > 0 {
		text += strings.TrimRight(fmt.Sprintf(".%06d", frac), "0")
	}
	return json.Number(text)
}

// lost lists what the new file lacks.
func (c *converter) lost(r *Reader) {
	for _, k := range c.counted() {
		if k.lost != "" {
			c.Lost = append(c.Lost, fmt.Sprintf("%s %s", counted(k.rows, "row"), k.lost))
		}
	}
	log, ok := r.src.(*logfile)
	if !ok {
		log = &logfile{}
	}
	estimated := c.Estimated && c.Format != formatNative
	for _, l := range []struct {
		is   bool
		what string
	}{
		{estimated || c.BlockTokens > 0 && c.Format == formatOTel, fmt.Sprintf("the text: only hashes of prefixes in "+
			"blocks of about %d tokens are kept; a block that differs anywhere is not shared", c.BlockTokens)},
		{estimated, "exact token counts: they are estimated from bytes"},
		{r.stored != nil && r.stored.alone, "what was measured of each request, and the ends of requests"},
		{len(log.dropped) > 0, "the keys " + strings.Join(slices.Sorted(maps.Keys(log.dropped)), ", ")},
		{log.media > 0, fmt.Sprintf("images and files in prompts (%d): they count no tokens", log.media)},
		{c.anonymize && c.Timed, "the date and time of day: the first request is at 0"},
		{c.anonymize && len(c.blocks) > 0, "the hashes of blocks: they are numbered in order of first appearance"},
		{c.anonymize && c.Sessions+len(c.sessions) > 0, "the ids of sessions: they are numbered from 1"},
		{c.anonymize && c.classes, "class names and models, and the class of each request"},
	} {
		if l.is {
			c.Lost = append(c.Lost, l.what)
		}
	}
}

// Sample writes n sessions of a trace, whole, or n requests, in the order of the trace and in the native
// format. Each choice of n is equally probable. open opens the trace; it is called twice, since their number is
// known only at the end; end ends the use of the last one. A request without a session is a session of its own.
func Sample(w io.Writer, open func() (*Reader, error), end func(), n int, sessions bool, r *rand.Rand,
	anonymize bool) (*Conversion, error) {
	s := sampler{sessions: sessions}
	pass := func(read func(*Reader) error) error {
		r, err := open()
		if err != nil {
			return err
		}
		defer end()
		return read(r)
	}
	if err := pass(s.count); err != nil {
		return nil, err
	}
	total := s.places.count
	if total < n {
		what := "requests"
		if sessions {
			what = "sessions"
		}
		return nil, fmt.Errorf("the trace has %d %s, fewer than %d\nhint: without --%s all are written",
			total, what, n, what)
	}
	s.choose(n, r)
	s.places = groups[int]{}
	var done *Conversion
	err := pass(func(r *Reader) (err error) {
		done, err = (&converter{anonymize: anonymize}).convert(w, r, s.keep)
		return err
	})
	return done, err
}

type sampler struct {
	sessions bool
	places   groups[int] // of sessions, or of requests
	chosen   []bool      // by place
}

var errCutSessions = errors.New("single requests would be cut out of the sessions of this trace\nhint: set --sessions")

func (s *sampler) count(r *Reader) error {
	if r.Info.Grouped && !s.sessions {
		return errCutSessions
	}
	if r.Info.Grouped {
		return each(r.NextSession, func(Session) error { s.places.of(0); return nil })
	}
	return each(r.Next, func(e Entry) error { s.place(e); return nil })
}

func (s *sampler) place(e Entry) int {
	if !s.sessions {
		e.Session = 0
	}
	return s.places.of(e.Session)
}

// choose chooses n of all with equal probability (Knuth, The Art of Computer Programming 3.4.2, algorithm S).
func (s *sampler) choose(n int, r *rand.Rand) {
	s.chosen = make([]bool, s.places.count)
	for i := range s.chosen {
		if s.chosen[i] = r.IntN(len(s.chosen)-i) < n; s.chosen[i] {
			n--
		}
	}
}

func (s *sampler) keep(e Entry, i int) bool {
	if e.Input > 0 { // no graph
		i = s.place(e)
	}
	return s.chosen[i]
}

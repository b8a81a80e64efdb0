package trace

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
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

type Output struct {
	// Anonymize keeps only lengths, times since the first request, and blocks and sessions numbered in order of first
	// appearance.
	Anonymize bool
}

// Convert writes the requests of r in the native format, always without text, and of a format with sessions
// their graph.
func Convert(w io.Writer, r *Reader, o Output) (*Conversion, error) {
	return (&converter{Output: o}).convert(w, r, nil)
}

// convert writes the requests, or sessions, that keep selects by their place from 0; nil = all.
func (c *converter) convert(w io.Writer, r *Reader, keep func(Entry, int) bool) (*Conversion, error) {
	c.Info, c.classes = r.Info, map[string]bool{}
	c.dense = c.Anonymize || r.Info.Grouped || r.stored != nil
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
	c.Counts = r.Counts
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
	Output
	dense    bool // blocks are numbered in order of first appearance
	out      *json.Encoder
	first    time.Duration
	blocks   map[uint64]uint64 // new numbers by old ones
	sessions map[int]int
	classes  map[string]bool

	tokens, fresh int // tokens of all blocks, and of blocks at their first appearance
}

func (c *converter) line(e Entry) row {
	if c.Requests == 0 && c.Anonymize {
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
	if !c.Anonymize {
		return l
	}
	if e.Session > 0 {
		l.Session = number(&c.sessions, e.Session, len(c.sessions)+1)
	}
	if e.Class != "" {
		l.Class = ""
		c.classes[e.Class] = true
	}
	return l
}

func milliseconds(d time.Duration) json.Number {
	text := strconv.FormatInt(int64(d/time.Millisecond), 10)
	if frac := d % time.Millisecond; frac > 0 {
		text += strings.TrimRight(fmt.Sprintf(".%06d", frac), "0")
	}
	return json.Number(text)
}

func joined(names map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(names)), ", ") }

func (c *converter) lost(r *Reader) {
	add := func(format string, args ...any) { c.Lost = append(c.Lost, fmt.Sprintf(format, args...)) }
	for _, k := range c.counted() {
		if k.lost != "" {
			add("%s %s", counted(k.rows, "row"), k.lost)
		}
	}
	i := r.Info
	if i.Estimated && i.Format != Native || i.BlockTokens > 0 && i.Format == OTel {
		add("the text: only hashes of prefixes in blocks of about %d tokens are kept; a block that differs anywhere is not shared", i.BlockTokens)
	}
	if i.Estimated && i.Format != Native {
		add("exact token counts: they are estimated from bytes")
	}
	if r.stored != nil && r.stored.alone {
		add("what was measured of each request, and the ends of requests")
	}
	if g, ok := r.src.(*logfile); ok && len(g.dropped) > 0 {
		add("the keys %s", joined(g.dropped))
	}
	if g, ok := r.src.(*logfile); ok && len(g.parts) > 0 {
		add("prompt parts that are not text (%s): images and files count no tokens, others their bytes",
			joined(g.parts))
	}
	if !c.Anonymize {
		return
	}
	if c.Timed {
		add("the date and time of day: the first request is at 0")
	}
	if len(c.blocks) > 0 {
		add("the hashes of %s: blocks are numbered from 0 in order of first appearance",
			counted(len(c.blocks), "block"))
	}
	if n := max(len(c.sessions), c.Sessions); n > 0 {
		add("the ids of %s: sessions are numbered from 1", counted(n, "session"))
	}
	if len(c.classes) > 0 {
		add("class names and models (%d), and the class of each request", len(c.classes))
	}
}

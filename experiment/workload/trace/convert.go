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

// Conversion is the result of converting a trace.
type Conversion struct {
	Info
	Counts
	Requests  int      // written
	Different int      // distinct blocks
	HitRate   float64  // share of prompt tokens that an unlimited cache hits
	Lost      []string // what the new file lacks, one phrase each
}

// Convert writes the requests of r in the native format, always without text. Anonymized output has only
// lengths, times since the first request, and blocks and sessions numbered in order of first appearance.
func Convert(w io.Writer, r *Reader, anonymize bool) (*Conversion, error) {
	c := &converter{blocks: map[uint64]uint64{}, sessions: map[int]int{}, classes: map[string]bool{}, anonymize: anonymize}
	c.Info = r.Info
	b := bufio.NewWriterSize(w, 1<<16)
	out := json.NewEncoder(b)
	h := header{Schema: nativeSchema, BlockTokens: r.Info.BlockTokens, Estimated: r.Info.Estimated}
	if r.Info.Timed {
		h.TimeUnit = "ms"
	}
	if err := out.Encode(h); err != nil {
		return nil, err
	}
	for {
		e, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := out.Encode(c.line(e)); err != nil {
			return nil, err
		}
	}
	c.Counts = r.Counts
	if c.Different = len(c.blocks); c.tokens > 0 {
		c.HitRate = 1 - float64(c.fresh)/float64(c.tokens)
	}
	c.lost(r)
	return &c.Conversion, b.Flush()
}

// line is one request in the native format.
type line struct {
	Timestamp json.Number `json:"timestamp,omitempty"`
	Input     int         `json:"input_length"`
	Output    int         `json:"output_length"`
	HashIDs   []uint64    `json:"hash_ids,omitempty"`
	Session   int         `json:"session,omitempty"`
	Turn      int         `json:"turn,omitempty"`
	Class     string      `json:"class,omitempty"`
}

type converter struct {
	Conversion
	anonymize bool
	first     time.Duration
	blocks    map[uint64]uint64 // new numbers by old ones
	sessions  map[int]int
	classes   map[string]bool

	tokens, fresh int // tokens of all blocks, and of blocks at their first appearance
}

func (c *converter) line(e Entry) line {
	if c.Requests == 0 && c.anonymize {
		c.first = e.At
	}
	c.Requests++
	l := line{Input: e.Input, Output: e.Output, HashIDs: e.Blocks, Session: e.Session, Turn: e.Turn, Class: e.Class}
	if c.Timed {
		l.Timestamp = milliseconds(e.At - c.first)
	}
	for i, id := range e.Blocks {
		n := inBlock(i, e.Input, c.BlockTokens)
		c.tokens += n
		next := uint64(len(c.blocks))
		dense := renumber(c.blocks, id, next)
		if dense == next {
			c.fresh += n
		}
		if c.anonymize {
			e.Blocks[i] = dense
		}
	}
	if !c.anonymize {
		return l
	}
	if e.Session > 0 {
		l.Session = renumber(c.sessions, e.Session, len(c.sessions)+1)
	}
	if l.Class = ""; e.Class != "" {
		c.classes[e.Class] = true
	}
	return l
}

// renumber returns the new number of old; if it has none, that becomes next.
func renumber[N comparable](numbers map[N]N, old, next N) N {
	n, ok := numbers[old]
	if !ok {
		n = next
		numbers[old] = n
	}
	return n
}

// milliseconds formats d as an exact decimal number.
func milliseconds(d time.Duration) json.Number {
	text := strconv.FormatInt(int64(d/time.Millisecond), 10)
	if frac := d % time.Millisecond; frac > 0 {
		text += strings.TrimRight(fmt.Sprintf(".%06d", frac), "0")
	}
	return json.Number(text)
}

// lost lists what the new file lacks.
func (c *converter) lost(r *Reader) {
	add := func(format string, args ...any) { c.Lost = append(c.Lost, fmt.Sprintf(format, args...)) }
	if c.Empty > 0 {
		add("%d rows with an empty prompt or answer", c.Empty)
	}
	if c.Filtered > 0 {
		add("%d rows excluded by the window or the filters", c.Filtered)
	}
	if prints := r.src.info(); prints.Estimated && prints.Format != Native {
		add("the text: only hashes of prefixes in blocks of about %d tokens are kept; a block that differs anywhere is not shared", prints.BlockTokens)
		add("exact token counts: they are estimated from bytes")
	}
	if g, ok := r.src.(*logfile); ok && len(g.dropped) > 0 {
		add("the keys %s", strings.Join(g.droppedKeys(), ", "))
	}
	if g, ok := r.src.(*logfile); ok && len(g.parts) > 0 {
		add("prompt parts that are not text (%s): each is counted by its bytes", strings.Join(slices.Sorted(maps.Keys(g.parts)), ", "))
	}
	if !c.anonymize {
		return
	}
	if c.Timed {
		add("the date and time of day: the first request is at 0")
	}
	if len(c.blocks) > 0 {
		add("the hashes of %d blocks: blocks are numbered from 0 in order of first appearance", len(c.blocks))
	}
	if len(c.sessions) > 0 {
		add("the ids of %d sessions: sessions are numbered from 1", len(c.sessions))
	}
	if len(c.classes) > 0 {
		add("the names of %d classes or models, and the class of each request", len(c.classes))
	}
}

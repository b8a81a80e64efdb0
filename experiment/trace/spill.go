package trace

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"
)

// call is a request as a source with sessions reads it: At counts from any origin, Session is its number from 0.
type call struct {
	Entry
	took  time.Duration // 0 = unknown
	agent int
	// of a prompt's text without a token count, which is estimated when the call is read; 0 = Input is known
	bytes int
}

// spill holds the calls of a file whose sessions are interleaved or whose rows are unsorted. The calls, which
// are numbers without text, are in memory up to keptBytes, then in a temporary file; the index, indexBytes for
// each call, is always in memory.
type spill struct {
	index   []place
	begins  []int64       // by session: its first call
	origin  time.Duration // begin of the trace
	block   int           // tokens of a block, to which the blocks of prompts are fitted; 0 = they fit
	perByte float64       // tokens of a byte of text, for prompts without a token count
	alone   bool          // a call without a turn is in no session
	classes names
	kept    []byte
	file    *os.File
	w       *bufio.Writer
	size    int64
	buf     []byte
}

// place is where a call stands, and what the calls are sorted by.
type place struct {
	at      int64 // ns
	offset  int64
	session uint32
	bytes   uint32
}

const keptBytes = 16 << 20

// Bounds of one session, which is held in memory.
const (
	maxNodes  = 1 << 16
	maxBlocks = 1 << 25 // 256 MiB
	maxEdges  = 1 << 22
)

var errSession = fmt.Errorf("a session has more than %d requests or %d blocks\n"+
	"hint: split it, or remove it from the file", maxNodes, maxBlocks)

func (s *spill) add(c *call) error {
	b := s.buf[:0]
	blocks := 0 // none, else one more than their number
	if c.Blocks != nil {
		blocks = 1 + len(c.Blocks)
	}
	for _, n := range []int{c.Line, c.Input, c.Output, c.Turn, c.agent, s.classes.number(c.Class), blocks, c.bytes,
		int(c.took)} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	last := uint64(0)
	for _, id := range c.Blocks {
		b = binary.AppendVarint(b, int64(id-last)) // neighbours are often successive
		last = id
	}
	s.buf = b
	if len(s.index) >= math.MaxUint32 || len(b) > math.MaxInt32 {
		return errSession
	}
	for len(s.begins) <= c.Session {
		s.begins = append(s.begins, math.MaxInt64)
	}
	s.begins[c.Session] = min(s.begins[c.Session], int64(c.At))
	s.index = append(s.index, place{int64(c.At), s.size, uint32(c.Session), uint32(len(b))})
	s.size += int64(len(b))
	return s.write(b)
}

func (s *spill) write(b []byte) (err error) {
	if s.file == nil && len(s.kept)+len(b) <= keptBytes {
		s.kept = append(s.kept, b...)
		return nil
	}
	if s.file == nil {
		if s.file, err = os.CreateTemp("", "bench-trace-"); err != nil {
			return fmt.Errorf("storing the requests of the trace: %w", err)
		}
		s.w = bufio.NewWriterSize(s.file, 1<<18)
		if _, err := s.w.Write(s.kept); err != nil {
			return err
		}
		s.kept = nil
	}
	_, err = s.w.Write(b)
	return err
}

// finish ends the storing; the calls come in order of time.
func (s *spill) finish() error {
	s.buf = nil
	slices.SortStableFunc(s.index, func(a, b place) int { return cmp.Compare(a.at, b.at) })
	if s.w == nil {
		return nil
	}
	if err := s.w.Flush(); err != nil {
		return fmt.Errorf("storing the requests of the trace: %w", err)
	}
	s.w = nil
	return nil
}

func (s *spill) read(i int) (c call, err error) {
	p := s.index[i]
	b := s.kept
	if s.file != nil {
		s.buf = slices.Grow(s.buf[:0], int(p.bytes))[:p.bytes]
		if _, err := s.file.ReadAt(s.buf, p.offset); err != nil {
			return c, fmt.Errorf("reading the stored requests of the trace: %w", err)
		}
		b = s.buf
	} else {
		b = b[p.offset:][:p.bytes]
	}
	var n [9]uint64
	for i := range n {
		v, k := binary.Uvarint(b)
		n[i], b = v, b[k:]
	}
	c = call{agent: int(n[4]), bytes: int(n[7]), took: time.Duration(n[8]),
		Entry: Entry{At: time.Duration(p.at), Line: int(n[0]), Input: int(n[1]), Output: int(n[2]),
			Session: int(p.session), Turn: int(n[3]), Class: s.classes.list[n[5]]}}
	if n[6] > 0 {
		c.Blocks = make([]uint64, n[6]-1)
	}
	last := uint64(0)
	for i := range c.Blocks {
		d, k := binary.Varint(b)
		b = b[k:]
		last += uint64(d)
		c.Blocks[i] = last
	}
	if c.bytes > 0 { // the prompt has no token count
		c.Input = min(max(1, int(math.Ceil(float64(c.bytes)*s.perByte))), maxTokens)
		if len(c.Blocks) > 0 && s.block > 0 {
			c.Input = c.inBlocks(c.Input, s.block)
		}
	}
	c.fitted(s.block, 1<<63|uint64(p.offset)<<8)
	return c, nil
}

func (s *spill) Close() error {
	if s.file == nil {
		return nil
	}
	return errors.Join(s.file.Close(), os.Remove(s.file.Name()))
}

type names struct {
	numbers map[string]int
	list    []string
}

func (n *names) number(name string) int {
	i := number(&n.numbers, name, len(n.list))
	if i == len(n.list) {
		n.list = append(n.list, name)
	}
	return i
}

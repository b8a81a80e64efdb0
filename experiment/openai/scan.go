package openai

import (
	"bytes"
	"errors"
	"io"
)

const (
	scanBuffer = 32 << 10 // what a scanner starts with, in bytes
	keepBuffer = 1 << 20  // a larger buffer is not kept for the next request
	maxEvent   = 64 << 20 // a longer event is no event
	maxStray   = 4 << 10  // what is kept of lines that are no part of an event stream
)

var errTooLong = errors.New("an event is longer than 64 MiB")

// event is one server-sent event that has data, or that says it is an error.
type event struct {
	data   []byte // valid until the next call of next
	end    int64  // offset in the body just past the data's last byte
	failed bool   // "event: error", or llama.cpp's "error:" field
	cut    bool   // the body ended before the empty line that ends an event
}

// scanner cuts a body into server-sent events by the rules of the HTML standard, §9.2.6: lines end in LF, CRLF or CR,
// comments and unknown fields are skipped, several data lines are joined by LF, one leading BOM is dropped. It departs
// from them where servers do: an unfinished event at the body's end is returned and marked cut, and lines that belong to
// no event stream are kept, bounded, for the error's text.
//
// The zero scanner needs reset.
type scanner struct {
	r      io.Reader
	err    error // of the last read
	buf    []byte
	pos    int   // the next line starts at buf[pos]
	lim    int   // buf[pos:lim] is unread
	seen   int   // bytes of buf[pos:lim] that hold no line end
	off    int64 // offset of buf[0] in the body
	begun  bool  // the first line is past
	skipLF bool  // the last line ended in CR: an LF next belongs to it

	// The event under construction. One data line stays in buf; with the second, all are joined.
	has, multi, failed bool
	from, to           int
	end                int64
	joined             []byte
	stray              []byte
}

func (s *scanner) reset(r io.Reader) {
	if len(s.buf) == 0 || len(s.buf) > keepBuffer {
		s.buf = make([]byte, scanBuffer)
	}
	if cap(s.joined) > keepBuffer {
		s.joined = nil
	}
	*s = scanner{r: r, buf: s.buf, joined: s.joined[:0], stray: s.stray[:0]}
}

// next returns the next event, and the reader's error (io.EOF at a clean end) after the last one.
func (s *scanner) next() (event, error) {
	for {
		from, to, ok := s.line()
		switch {
		case ok && from == to:
			if ev, ok := s.dispatch(); ok {
				return ev, nil
			}
		case ok:
			s.field(from, to)
			if len(s.joined) > maxEvent {
				return event{}, errTooLong
			}
		default:
			if err := s.fill(); err != nil {
				return s.finish(err)
			}
		}
	}
}

// line finds the next line's bounds in buf, without its end.
func (s *scanner) line() (from, to int, ok bool) {
	if s.skipLF && s.pos < s.lim {
		if s.buf[s.pos] == '\n' {
			s.pos++
		}
		s.skipLF = false
	}
	rest := s.buf[s.pos+s.seen : s.lim]
	n := bytes.IndexByte(rest, '\n')
	if n >= 0 {
		rest = rest[:n]
	}
	if cr := bytes.IndexByte(rest, '\r'); cr >= 0 {
		n = cr
	}
	if n < 0 {
		s.seen = s.lim - s.pos
		return 0, 0, false
	}
	from, to = s.pos, s.pos+s.seen+n
	s.skipLF = s.buf[to] == '\r'
	s.pos, s.seen = to+1, 0
	return s.first(from, to), to, true
}

// first skips a byte order mark at the start of the first line.
func (s *scanner) first(from, to int) int {
	if !s.begun && bytes.HasPrefix(s.buf[from:to], []byte("\xEF\xBB\xBF")) {
		from += 3
	}
	s.begun = true
	return from
}

// field reads one line that is not empty.
func (s *scanner) field(from, to int) {
	line := s.buf[from:to]
	colon := bytes.IndexByte(line, ':')
	name, value := line, to
	if colon >= 0 {
		name, value = line[:colon], from+colon+1
		if value < to && s.buf[value] == ' ' {
			value++
		}
	}
	switch string(name) {
	case "data":
		s.data(value, to)
	case "error": // llama.cpp's servers of 2023–2025 send "error: {…}"
		s.failed = true
		s.data(value, to)
	case "event":
		s.failed = string(s.buf[value:to]) == "error"
	case "", "id", "retry":
	default:
		if room := maxStray - len(s.stray); room > 0 {
			s.stray = append(append(s.stray, line[:min(len(line), room)]...), '\n')
		}
	}
}

func (s *scanner) data(from, to int) {
	if s.has {
		if !s.multi {
			s.joined = append(s.joined[:0], s.buf[s.from:s.to]...)
			s.multi = true
		}
		s.joined = append(append(s.joined, '\n'), s.buf[from:to]...)
	}
	s.has, s.from, s.to, s.end = true, from, to, s.off+int64(to)
}

// dispatch ends the event under construction; one that is empty is none.
func (s *scanner) dispatch() (ev event, ok bool) {
	ev = event{end: s.end, failed: s.failed}
	switch {
	case s.multi:
		ev.data = s.joined
	case s.has:
		ev.data = s.buf[s.from:s.to]
	default:
		ev.end = s.off + int64(s.pos)
	}
	ok = len(ev.data) > 0 || s.failed
	s.has, s.multi, s.failed = false, false, false
	s.joined = s.joined[:0]
	return ev, ok
}

// finish takes what the body's end left: a line without an end, an event without an empty line.
func (s *scanner) finish(err error) (event, error) {
	if err == errTooLong {
		return event{}, err
	}
	s.err = err
	if s.pos < s.lim {
		from, to := s.first(s.pos, s.lim), s.lim
		s.pos, s.seen = s.lim, 0
		if from < to {
			s.field(from, to)
		}
	}
	if ev, ok := s.dispatch(); ok {
		ev.cut = true
		return ev, nil
	}
	return event{}, err
}

// fill reads more behind what is still needed, which it moves to the front of buf, or into a larger one.
func (s *scanner) fill() error {
	if s.err != nil {
		return s.err
	}
	keep := s.pos
	if s.has && !s.multi {
		keep = s.from
	}
	if s.lim-keep > maxEvent {
		return errTooLong
	}
	if s.lim == keep || s.lim == len(s.buf) {
		into := s.buf
		if s.lim-keep > len(s.buf)/2 {
			into = make([]byte, 2*len(s.buf))
		}
		s.lim = copy(into, s.buf[keep:s.lim])
		s.pos, s.from, s.to, s.off, s.buf = s.pos-keep, s.from-keep, s.to-keep, s.off+int64(keep), into
	}
	for range 100 {
		n, err := s.r.Read(s.buf[s.lim:])
		s.lim += n
		s.err = err
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

package openai

import (
	"bytes"
	"errors"
)

const (
	keepBuffer = 64 << 10 // a larger buffer is not kept for the next request
	maxEvent   = 64 << 20 // a longer event is no event
	maxStray   = 4 << 10  // what is kept of lines that are no part of an event stream
)

var errTooLong = errors.New("an event is longer than 64 MiB")

// event is one server-sent event that has data, or that says it is an error.
type event struct {
	data   []byte  // valid until the next call of next
	a      arrival // of the data's last byte
	failed bool    // "event: error", or llama.cpp's "error:" field
	cut    bool    // the body ended before the empty line that ends an event
}

// scanner cuts a body, which is pushed into it piece by piece as it arrives, into server-sent events by the rules of the
// HTML standard, §9.2.6: lines end in LF, CRLF or CR, comments and unknown fields are skipped, several data lines are
// joined by LF, one leading BOM is dropped. It departs from them where servers do: an unfinished event at the body's end
// is returned and marked cut, and lines that belong to no event stream are kept, bounded, for the error's text.
//
// The usual piece is a whole event; it is read where it lies. Only what is left of an unfinished event is copied.
//
// The zero scanner is ready to use.
type scanner struct {
	buf    []byte // what is looked at: the last piece, or own with it at its end
	own    []byte
	fresh  int     // the last piece begins at buf[fresh]
	now    arrival // of the last piece
	before arrival // of the one ahead of it
	pos    int     // the next line starts at buf[pos]
	seen   int     // bytes of buf[pos:] that hold no line end
	begun  bool    // the first line is past
	skipLF bool    // the last line ended in CR: an LF next belongs to it

	// The event under construction. One data line stays in buf; with the second, all are joined.
	has, multi, failed bool
	from, to           int
	a                  arrival
	joined             []byte
	stray              []byte
}

// reset makes the scanner ready for another body.
func (s *scanner) reset() {
	if cap(s.joined) > keepBuffer {
		s.joined = nil
	}
	if cap(s.own) > keepBuffer {
		s.own = nil
	}
	*s = scanner{own: s.own[:0], joined: s.joined[:0], stray: s.stray[:0]}
}

// push gives the next piece of the body, which must not change until next has found no more in it.
func (s *scanner) push(piece []byte, a arrival) {
	s.before, s.now = s.now, a
	if len(s.buf) == 0 {
		s.buf, s.fresh = piece, 0
		return
	}
	s.fresh = len(s.buf)
	s.own = append(s.buf, piece...)
	s.buf = s.own
}

// next returns the next event; ok is false when the pieces so far hold no other. The error is errTooLong.
func (s *scanner) next() (ev event, ok bool, err error) {
	for {
		from, to, found := s.line()
		switch {
		case found && from == to:
			if ev, ok := s.dispatch(); ok {
				return ev, true, nil
			}
		case found:
			s.field(from, to)
			if len(s.joined) > maxEvent {
				return event{}, false, errTooLong
			}
		default:
			return event{}, false, s.stash()
		}
	}
}

// line finds the next line's bounds in buf, without its end.
func (s *scanner) line() (from, to int, ok bool) {
	if s.skipLF && s.pos < len(s.buf) {
		if s.buf[s.pos] == '\n' {
			s.pos++
		}
		s.skipLF = false
	}
	rest := s.buf[s.pos+s.seen:]
	n := bytes.IndexByte(rest, '\n')
	if n >= 0 {
		rest = rest[:n]
	}
	if cr := bytes.IndexByte(rest, '\r'); cr >= 0 {
		n = cr
	}
	if n < 0 {
		s.seen = len(s.buf) - s.pos
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
	s.has, s.from, s.to, s.a = true, from, to, s.now
	if to <= s.fresh && s.fresh > 0 { // only the line's end came with the last piece
		s.a = s.before
	}
}

// dispatch ends the event under construction; one that is empty is none.
func (s *scanner) dispatch() (ev event, ok bool) {
	ev = event{a: s.a, failed: s.failed}
	switch {
	case s.multi:
		ev.data = s.joined
	case s.has:
		ev.data = s.buf[s.from:s.to]
	default:
		ev.a = s.now
	}
	ok = len(ev.data) > 0 || s.failed
	s.has, s.multi, s.failed = false, false, false
	s.joined = s.joined[:0]
	return ev, ok
}

// stash keeps what is still needed of the pieces so far.
func (s *scanner) stash() error {
	keep := s.pos
	if s.has && !s.multi {
		keep = s.from
	}
	if len(s.buf)-keep > maxEvent {
		return errTooLong
	}
	if keep > 0 || s.fresh == 0 { // else it lies in own from its first byte: a long line is not moved with each of its pieces
		s.own = append(s.own[:0], s.buf[keep:]...)
	}
	s.buf, s.fresh = s.own, 0
	s.pos, s.from, s.to = s.pos-keep, s.from-keep, s.to-keep
	return nil
}

// finish takes what the body's end left, when next has found no more: a line without an end, an event without an empty line.
func (s *scanner) finish() (ev event, ok bool) {
	if s.pos < len(s.buf) {
		from, to := s.first(s.pos, len(s.buf)), len(s.buf)
		s.pos, s.seen = to, 0
		if from < to {
			s.field(from, to)
		}
	}
	ev, ok = s.dispatch()
	ev.cut = ok
	return ev, ok
}

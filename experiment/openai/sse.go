package openai

import "bytes"

const maxStray = 4 << 10 // bytes kept of lines outside the event stream format

type event struct {
	data      []byte  // valid until the next call of next
	arrival   arrival // of the data's last byte
	failed    bool    // "event: error", or llama.cpp's "error:" field
	ping      bool    // "event: ping", Anthropic's keep-alive, which has data
	truncated bool    // the body ended before the empty line that ends an event
}

// scanner cuts a body, which is pushed piece by piece as it arrives, into server-sent events by the HTML
// standard, §9.2.6: lines end in LF, CRLF or CR, comments and unknown fields are skipped, data lines are
// joined by LF, one leading BOM is dropped. It differs where servers do: an unfinished event at the body's
// end is returned, marked truncated, and lines outside the format are kept for the error's text.
//
// The usual piece is a whole event and is read in place; only the rest of an unfinished event is copied.
//
// The zero scanner is ready to use.
type scanner struct {
	budget       *budget // of its buffers owned and joined; nil: no limit
	err          error   // sticky: errTooLong or errBudget
	buf          []byte  // the last piece, or owned with that piece at its end
	owned        []byte
	pieceStart   int     // the last piece begins at buf[pieceStart]
	pieceArrival arrival // of the last piece
	prevArrival  arrival // of the piece before
	pos          int     // the next line starts at buf[pos]
	scanned      int     // bytes of buf[pos:] without a line end
	bomChecked   bool    // the first line is past
	skipLF       bool    // the last line ended in CR: a following LF belongs to it

	// The event under construction. A single data line stays in buf; from the second on, they are joined.
	hasData, multiLine, failed, ping bool
	from, to                         int
	dataArrival                      arrival
	joined                           []byte
	stray                            []byte
}

// reset prepares for another body. A large buffer goes back to the budget.
func (s *scanner) reset() {
	*s = scanner{budget: s.budget, owned: s.budget.reuse(s.owned), joined: s.budget.reuse(s.joined), stray: s.stray[:0]}
}

// push adds the next piece of the body, which must not change until next returns no event.
func (s *scanner) push(piece []byte, a arrival) {
	s.prevArrival, s.pieceArrival = s.pieceArrival, a
	if len(s.buf) == 0 {
		s.buf, s.pieceStart = piece, 0
		return
	}
	s.pieceStart = len(s.buf)
	s.owned, s.err = s.budget.append(s.buf, piece)
	s.buf = s.owned
}

// next returns the next event; ok is false if there is none so far. errTooLong and errBudget are sticky.
func (s *scanner) next() (ev event, ok bool, err error) {
	for s.err == nil {
		from, to, found := s.line()
		switch {
		case found && from == to:
			if ev, ok := s.dispatch(); ok {
				return ev, true, nil
			}
		case found:
			s.field(from, to)
		default:
			s.compact()
			return event{}, false, s.err
		}
	}
	return event{}, false, s.err
}

func (s *scanner) line() (from, to int, ok bool) {
	if s.skipLF && s.pos < len(s.buf) {
		if s.buf[s.pos] == '\n' {
			s.pos++
		}
		s.skipLF = false
	}
	rest := s.buf[s.pos+s.scanned:]
	n := bytes.IndexByte(rest, '\n')
	if n >= 0 {
		rest = rest[:n]
	}
	if cr := bytes.IndexByte(rest, '\r'); cr >= 0 {
		n = cr
	}
	if n < 0 {
		s.scanned = len(s.buf) - s.pos
		return 0, 0, false
	}
	from, to = s.pos, s.pos+s.scanned+n
	s.skipLF = s.buf[to] == '\r'
	s.pos, s.scanned = to+1, 0
	return s.skipBOM(from, to), to, true
}

func (s *scanner) skipBOM(from, to int) int {
	if !s.bomChecked && bytes.HasPrefix(s.buf[from:to], []byte("\xEF\xBB\xBF")) {
		from += 3
	}
	s.bomChecked = true
	return from
}

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
		name := s.buf[value:to]
		s.failed, s.ping = string(name) == "error", string(name) == "ping"
	case "", "id", "retry":
	default:
		if room := maxStray - len(s.stray); room > 0 {
			s.stray = append(append(s.stray, line[:min(len(line), room)]...), '\n')
		}
	}
}

func (s *scanner) data(from, to int) {
	if s.hasData {
		if !s.multiLine {
			s.joined = s.joined[:0]
			s.addLine(s.buf[s.from:s.to])
			s.multiLine = true
		}
		s.addLine([]byte{'\n'})
		s.addLine(s.buf[from:to])
	}
	s.hasData, s.from, s.to, s.dataArrival = true, from, to, s.pieceArrival
	if to <= s.pieceStart && s.pieceStart > 0 { // the last piece brought only the line's end
		s.dataArrival = s.prevArrival
	}
}

func (s *scanner) addLine(b []byte) {
	if s.err != nil {
		return
	}
	if s.joined, s.err = s.budget.append(s.joined, b); len(s.joined) > maxEvent {
		s.err = errTooLong
	}
}

func (s *scanner) dispatch() (ev event, ok bool) {
	ev = event{arrival: s.dataArrival, failed: s.failed, ping: s.ping}
	switch {
	case s.multiLine:
		ev.data = s.joined
	case s.hasData:
		ev.data = s.buf[s.from:s.to]
	default:
		ev.arrival = s.pieceArrival
	}
	ok = len(ev.data) > 0 || s.failed
	s.hasData, s.multiLine, s.failed, s.ping = false, false, false, false
	s.joined = s.joined[:0]
	return ev, ok
}

func (s *scanner) compact() {
	keep := s.pos
	if s.hasData && !s.multiLine {
		keep = s.from
	}
	if len(s.buf)-keep > maxEvent {
		s.err = errTooLong
		return
	}
	if rest := s.buf[keep:]; cap(s.owned) > maxKeptBuffer && len(rest) < maxKeptBuffer { // a large event is over
		large := s.owned
		s.owned = bytes.Clone(rest)
		s.budget.reuse(large)
	} else if keep > 0 || s.pieceStart == 0 {
		// otherwise it is at the start of owned: a long line is not moved for each of its pieces
		s.owned, s.err = s.budget.append(s.owned[:0], s.buf[keep:])
	}
	s.buf, s.pieceStart = s.owned, 0
	s.pos, s.from, s.to = s.pos-keep, s.from-keep, s.to-keep
	if !s.multiLine && cap(s.joined) > maxKeptBuffer {
		s.joined = s.budget.reuse(s.joined)
	}
}

// finish returns the event at the body's end that lacks its line's end or its empty line.
func (s *scanner) finish() (ev event, ok bool) {
	if s.pos < len(s.buf) {
		from, to := s.skipBOM(s.pos, len(s.buf)), len(s.buf)
		s.pos, s.scanned = to, 0
		if from < to {
			s.field(from, to)
		}
	}
	ev, ok = s.dispatch()
	ev.truncated = ok
	return ev, ok
}

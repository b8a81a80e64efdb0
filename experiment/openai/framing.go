package openai

import (
	"bytes"
	"math"
)

// framing follows one HTTP/1.1 response through the bytes of its connection and counts those that belong to the body.
//
// It is there because net/http hands body bytes on late where a chunk comes in pieces: its reader waits for the rest of
// the chunk, and the events in the first piece would get the stamp of the last. With the count, each read of the
// connection is known by the part of the body that it brought. What it reads is never used but for this count, and
// net/http remains the judge of what is malformed.
//
// The zero framing stands before the status line.
type framing struct {
	state   framingState
	line    [80]byte // the start of the header or size line under way
	n       int      // its length so far
	lines   int      // of this header
	interim bool     // 1xx: another header follows
	chunked bool
	left    int64 // bytes of the chunk still to come, with the CRLF behind it
}

type framingState uint8

const (
	inHeader framingState = iota
	inSize                // the line with a chunk's size
	inChunk
	inPlain // a body without chunks: all the rest
	inEnd   // after the last chunk
)

// feed takes the next bytes and returns how many of them are the body's.
func (f *framing) feed(b []byte) (body int) {
	for len(b) > 0 {
		switch f.state {
		case inPlain:
			return body + len(b)
		case inEnd:
			return body
		case inChunk:
			n := min(int64(len(b)), f.left)
			body += int(max(0, min(n, f.left-2)))
			f.left -= n
			b = b[n:]
			if f.left == 0 {
				f.state = inSize
			}
		default:
			b = f.feedLine(b)
		}
	}
	return body
}

// feedLine takes bytes up to the end of a line, and the line when it is whole.
func (f *framing) feedLine(b []byte) []byte {
	end := bytes.IndexByte(b, '\n')
	part := b
	if end >= 0 {
		part = b[:end]
	}
	if f.n < len(f.line) {
		copy(f.line[f.n:], part)
	}
	f.n += len(part)
	if end < 0 {
		return nil
	}
	line := bytes.TrimRight(f.line[:min(f.n, len(f.line))], "\r")
	f.n = 0
	if f.state == inSize {
		f.size(line)
	} else {
		f.header(line)
	}
	return b[end+1:]
}

func (f *framing) header(line []byte) {
	f.lines++
	switch {
	case f.lines == 1:
		f.interim = len(line) > 9 && line[9] == '1' // HTTP/1.1 1xx
	case len(line) > 0:
		name, value, _ := bytes.Cut(bytes.ToLower(line), []byte(":"))
		f.chunked = f.chunked || string(name) == "transfer-encoding" && bytes.Contains(value, []byte("chunked"))
	case f.interim:
		*f = framing{}
	case f.chunked:
		f.state = inSize
	default:
		f.state = inPlain
	}
}

func (f *framing) size(line []byte) {
	size := int64(0)
	for _, c := range line {
		digit := bytes.IndexByte([]byte("0123456789abcdef"), c|0x20)
		if digit < 0 || size > math.MaxInt64>>8 {
			break
		}
		size = size<<4 | int64(digit)
	}
	if f.state, f.left = inChunk, size+2; size == 0 {
		f.state = inEnd
	}
}

package openai

import (
	"bytes"
	"errors"
	"io"
	"math"
	"net/http"
	"strings"
)

// framing removes the transfer encoding of a body (RFC 9112, §6 and §7): chunked, of a given length, or up to
// the end of the connection. It passes on every byte at once, in the middle of a chunk too, so that each
// piece of the body keeps the stamp of its read.
//
// The zero framing is that of an empty body.
type framing struct {
	state framingState
	left  int64    // of the chunk or, with a given length, of the body
	line  [32]byte // start of the incomplete size or trailer line
	n     int      // length of that line so far
	extra int      // bytes of the trailer's lines so far
}

type framingState uint8

const (
	atEnd framingState = iota
	inSized
	inSize // the line with a chunk's size
	inChunk
	behindChunk // the line end after a chunk
	inTrailer
	inPlain // up to the end of the connection
)

// Bounds of what a chunked body has beside its data; net/http's.
const (
	maxFramingLine = 4 << 10  // bytes
	maxTrailer     = 64 << 10 // bytes
)

var errChunk = errors.New("malformed chunked encoding")

func newFraming(resp *http.Response) framing {
	switch {
	case len(resp.TransferEncoding) > 0: // net/http accepts chunked only
		return framing{state: inSize}
	case resp.ContentLength < 0:
		return framing{state: inPlain}
	case resp.ContentLength > 0:
		return framing{state: inSized, left: resp.ContentLength}
	}
	return framing{}
}

// next splits b: piece is of the body, rest is for the next call. Both are empty when b is used up; rest is
// not if the body ended before it.
func (f *framing) next(b []byte) (piece, rest []byte, err error) {
	for len(b) > 0 {
		switch f.state {
		case atEnd:
			return nil, b, nil
		case inPlain:
			return b, nil, nil
		case inSized, inChunk:
			n := min(int64(len(b)), f.left)
			if f.left -= n; f.left == 0 && f.state == inChunk {
				f.state = behindChunk
			} else if f.left == 0 {
				f.state = atEnd
			}
			return b[:n], b[n:], nil
		default:
			if b, err = f.consumeLine(b); err != nil {
				return nil, nil, err
			}
		}
	}
	return nil, nil, nil
}

// consumeLine takes bytes up to the end of a line, and reads the line once it is complete.
func (f *framing) consumeLine(b []byte) (rest []byte, err error) {
	end := bytes.IndexByte(b, '\n')
	part := b
	if end >= 0 {
		part = b[:end]
	}
	if f.n < len(f.line) {
		copy(f.line[f.n:], part)
	}
	f.n += len(part)
	if f.state == inTrailer {
		f.extra += len(part) + 1
	}
	if f.n > maxFramingLine || f.extra > maxTrailer {
		return nil, errChunk
	}
	if end < 0 {
		return nil, nil
	}
	line, cr := bytes.CutSuffix(f.line[:min(f.n, len(f.line))], []byte("\r"))
	cr = cr || f.n > len(f.line)
	f.n = 0
	switch {
	case f.state == inTrailer:
		if len(line) == 0 {
			f.state = atEnd
		}
	case !cr: // a bare LF can be request smuggling
		err = errChunk
	case f.state == inSize:
		err = f.parseSize(line)
	case len(line) > 0:
		err = errChunk
	default:
		f.state = inSize
	}
	return b[end+1:], err
}

func (f *framing) parseSize(line []byte) error {
	size, digits := int64(0), 0
	for _, c := range line {
		digit := hexDigit(c)
		if digit < 0 {
			break
		}
		if size > math.MaxInt64>>4 {
			return errChunk
		}
		size = size<<4 | int64(digit)
		digits++
	}
	rest := bytes.TrimLeft(line[digits:], " \t")
	if digits == 0 || len(rest) > 0 && rest[0] != ';' {
		return errChunk
	}
	if f.state, f.left = inChunk, size; size == 0 {
		f.state = inTrailer
	}
	return nil
}

func hexDigit(c byte) int {
	i := strings.IndexByte("0123456789abcdefABCDEF", c)
	if i > 15 {
		i -= 6
	}
	return i
}

// endError is what the end of the connection means in this state: io.EOF if the body may end here.
func (f *framing) endError() error {
	if f.state == atEnd || f.state == inPlain {
		return io.EOF
	}
	return io.ErrUnexpectedEOF
}

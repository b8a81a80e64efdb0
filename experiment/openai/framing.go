package openai

import (
	"bytes"
	"errors"
	"io"
	"math"
	"net/http"
)

// framing takes the body out of the bytes that follow a response's header (RFC 9112, §6 and §7): chunked, of a given
// length, or all up to the end of the connection. It hands on every byte as it comes, in the middle of a chunk too, so
// that a piece of the body has the stamp of the read that brought it.
//
// The zero framing is that of a body without any bytes.
type framing struct {
	state framingState
	left  int64    // bytes still to come of the chunk, or of the whole body where its length was given
	line  [32]byte // the start of the size or trailer line under way
	n     int      // its length so far
}

type framingState uint8

const (
	atEnd framingState = iota
	inSized
	inSize // the line with a chunk's size
	inChunk
	behindChunk // the line end after a chunk
	inTrailer
	inPlain // all the rest
)

var errChunk = errors.New("malformed chunked encoding")

// newFraming is the framing of the body behind a header.
func newFraming(resp *http.Response) framing {
	switch {
	case len(resp.TransferEncoding) > 0: // net/http knows none but chunked
		return framing{state: inSize}
	case resp.ContentLength < 0:
		return framing{state: inPlain}
	case resp.ContentLength > 0:
		return framing{state: inSized, left: resp.ContentLength}
	}
	return framing{}
}

// next takes bytes off the front of b: piece is of the body, rest is to be given to the next call. Both are empty when b
// is used up; rest is not when the body has ended before it.
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

// takeLine takes bytes up to the end of a line, and reads the line when it is whole.
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
	case !cr: // a bare LF may be the work of somebody who smuggles
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

// size reads a chunk's size; an extension behind it is passed over.
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
	behind := bytes.TrimLeft(line[digits:], " \t")
	if digits == 0 || len(behind) > 0 && behind[0] != ';' {
		return errChunk
	}
	if f.state, f.left = inChunk, size; size == 0 {
		f.state = inTrailer
	}
	return nil
}

func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// end is the error that the end of the connection means here: io.EOF where the body may end so.
func (f *framing) endError() error {
	if f.state == atEnd || f.state == inPlain {
		return io.EOF
	}
	return io.ErrUnexpectedEOF
}

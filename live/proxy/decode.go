package proxy

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"iter"
	"net/http"
	"strings"
)

// decoder decodes the copy of an answer as its pieces come: what a piece completes comes out with that piece, so that a
// stream keeps its times. A reader of a compressed format asks for bytes and cannot be given them: it is a coroutine,
// which runs only within add, and not beside it. end must be called.
type decoder struct {
	input []byte // not decoded
	left  int    // bytes that may still come out of the piece
	next  func() ([]byte, bool)
	end   func()
}

const (
	decoderBytes = 64 << 10 // memory of a decoder: a window of 32 KiB, tables, a stack
	decodedBytes = 4 << 10  // come out at once

	// Events of a stream shrink to a twentieth. A piece of which more than this comes out is no answer's, and reading
	// it would keep the next one waiting.
	freeExpansion = 1 << 20 // bytes
	maxExpansion  = 100     // times the bytes that came in
)

var readers = map[string]func(io.Reader) (io.Reader, error){
	"gzip": gunzip, "x-gzip": gunzip, "deflate": inflate,
}

func gunzip(r io.Reader) (io.Reader, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	z.Multistream(false)
	return &members{z, r}, nil
}

// members reads the members of a gzip file. gzip.Reader itself would keep the end of one until the next one begins.
type members struct {
	*gzip.Reader
	from io.Reader
}

func (m *members) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	if err != io.EOF || n > 0 {
		if err == io.EOF {
			err = nil
		}
		return n, err
	}
	if m.Reset(m.from) != nil {
		return 0, io.EOF // what follows is no member
	}
	m.Multistream(false)
	return 0, nil
}

// inflate reads zlib's format, and deflate without its frame, which some servers send under the same name.
func inflate(r io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(r, 512)
	head, err := b.Peek(2)
	if err != nil {
		return nil, err
	}
	if head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		return zlib.NewReader(b)
	}
	return flate.NewReader(b), nil
}

func encoding(h http.Header) string {
	name := strings.ToLower(strings.TrimSpace(strings.Join(h.Values("Content-Encoding"), ",")))
	if name == "identity" {
		return ""
	}
	return name
}

func newDecoder(encoding string) *decoder {
	open := readers[encoding]
	if open == nil {
		return nil
	}
	d := &decoder{left: freeExpansion}
	d.next, d.end = iter.Pull(func(yield func([]byte) bool) { d.run(open, yield) })
	return d
}

// run yields what was decoded, and nil to ask for more. It ends at an error.
func (d *decoder) run(open func(io.Reader) (io.Reader, error), yield func([]byte) bool) {
	r, err := open(&source{d, yield})
	if err != nil {
		return
	}
	out := make([]byte, decodedBytes)
	for err == nil {
		var n int
		if n, err = r.Read(out); n > 0 && !yield(out[:n]) {
			return
		}
	}
	if err != io.EOF {
		return
	}
	for yield(nil) { // what lies behind the end is not the answer's
		d.input = nil
	}
}

// add decodes a piece and gives take what comes out, not to be kept. false: nothing more comes out.
func (d *decoder) add(piece []byte, take func([]byte)) bool {
	d.input = piece
	d.left = min(d.left, freeExpansion) + maxExpansion*len(piece)
	for {
		b, ok := d.next()
		switch {
		case !ok:
			return false
		case b == nil:
			d.input = nil
			return true
		}
		if d.left -= len(b); d.left < 0 {
			return false
		}
		take(b)
	}
}

// source is what a reader of a format reads. It does not read ahead: it has ReadByte.
type source struct {
	d     *decoder
	yield func([]byte) bool
}

func (s *source) more() bool {
	for len(s.d.input) == 0 {
		if !s.yield(nil) {
			return false
		}
	}
	return true
}

func (s *source) Read(p []byte) (int, error) {
	if !s.more() {
		return 0, io.ErrUnexpectedEOF
	}
	n := copy(p, s.d.input)
	s.d.input = s.d.input[n:]
	return n, nil
}

func (s *source) ReadByte() (byte, error) {
	if !s.more() {
		return 0, io.ErrUnexpectedEOF
	}
	c := s.d.input[0]
	s.d.input = s.d.input[1:]
	return c, nil
}

package trace

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// maxLine bounds a line, and a conversation of a JSON file, in bytes: a prompt of a million tokens as JSON text.
const maxLine = 32 << 20

// Lines are the lines of a file of any size.
type Lines struct {
	Number int  // of the last line, from 1
	Open   bool // it has no end

	r    *bufio.Reader
	held []byte // a line that was unread; nil = none
	buf  []byte
	most int // bytes of a line
	long error
}

// NewLines are lines of at most so many bytes, with a hint for a longer one.
func NewLines(r io.Reader, most int, hint string) *Lines {
	return &Lines{r: bufio.NewReaderSize(r, 1<<16), most: most, long: fmt.Errorf("longer than %d MiB%s", most>>20, hint)}
}

// OfTrace are the lines of a trace.
func OfTrace(r io.Reader) *Lines { return NewLines(r, maxLine, oneRequest) }

const oneRequest = "\nhint: a trace has one request a line"

var errLong = fmt.Errorf("longer than %d MiB%s", maxLine>>20, oneRequest)

// Next returns the next nonblank line without its end, valid until the next call; io.EOF at the end.
func (l *Lines) Next() ([]byte, error) {
	if l.held != nil {
		line := l.held
		l.held = nil
		return line, nil
	}
	for {
		line, err := l.read()
		if err != nil {
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

func (l *Lines) at() int { return l.Number }

func (l *Lines) unread(line []byte) { l.held = line }

func (l *Lines) read() ([]byte, error) {
	l.Number++
	piece, err := l.r.ReadSlice('\n')
	if l.Open = false; err == nil {
		return piece, nil
	}
	l.buf = l.buf[:0]
	for {
		if l.buf = append(l.buf, piece...); len(l.buf) > l.most {
			return nil, unreadable{l.long}
		}
		switch {
		case err == nil:
			return l.buf, nil
		case errors.Is(err, io.EOF) && len(l.buf) > 0:
			l.Open = true
			return l.buf, nil
		case errors.Is(err, io.EOF):
			return nil, io.EOF
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, unreadable{err}
		}
		piece, err = l.r.ReadSlice('\n')
	}
}

// lineCounter counts what a JSON decoder reads, to bound the size of a value and to find its line.
type lineCounter struct {
	r        io.Reader
	read     int64   // bytes read so far
	from     int64   // offset of the current value
	line     int     // line of the current value
	newlines []int64 // offsets of line ends after from
	blanks   int     // length of the current run of white space
}

// maxBlanks bounds a run of white space, which the decoder scans again with each read.
const maxBlanks = 1 << 20

var errBlanks = fmt.Errorf("%d MiB of blanks\nhint: check that the file is a trace", maxBlanks>>20)

func (m *lineCounter) Read(p []byte) (int, error) {
	switch {
	case m.read-m.from > maxLine:
		return 0, errLong
	case m.blanks > maxBlanks:
		return 0, errBlanks
	}
	n, err := m.r.Read(p)
	if m.blanks += n; len(bytes.TrimSpace(p[:n])) > 0 {
		m.blanks = 0
	}
	for at := 0; at < n; at++ {
		i := bytes.IndexByte(p[at:n], '\n')
		if i < 0 {
			break
		}
		at += i
		m.newlines = append(m.newlines, m.read+int64(at))
	}
	m.read += int64(n)
	return n, err
}

// begin notes that the previous value ended at offset; buffered is what the decoder has read beyond it.
func (m *lineCounter) begin(offset int64, buffered io.Reader) {
	rest := bufio.NewReaderSize(buffered, 16)
	for b, err := rest.ReadByte(); err == nil && bytes.IndexByte([]byte(" \t\r\n,"), b) >= 0; b, err = rest.ReadByte() {
		offset++
	}
	passed := 0
	for passed < len(m.newlines) && m.newlines[passed] < offset {
		passed++
	}
	m.newlines = append(m.newlines[:0], m.newlines[passed:]...)
	m.from, m.line = offset, m.line+passed
}

// Limits of decompression. Logs of numbers shrink to a tenth; a decompression bomb grows a thousandfold.
const (
	maxExpansion  = 256
	freeExpansion = 64 << 20 // bytes that any file may decompress to
)

// Decompressed decompresses r if its first bytes are those of gzip or zstd; closing it frees the decoder.
func Decompressed(r io.Reader) (io.ReadCloser, error) { return DecompressedTo(r, maxExpansion) }

// DecompressedTo is Decompressed to at most a multiple of the size, for files whose lines are much alike.
func DecompressedTo(r io.Reader, times int64) (io.ReadCloser, error) {
	packed := &counter{r: r}
	br := bufio.NewReader(packed)
	magic, _ := br.Peek(4) // a read error is returned by the next read
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(br)
		if err != nil {
			return nil, fmt.Errorf("reading gzip: %w", err)
		}
		return &bounded{ReadCloser: z, packed: packed, times: times}, nil
	case bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(br, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20))
		if err != nil {
			return nil, fmt.Errorf("reading zstd: %w", err)
		}
		return &bounded{ReadCloser: z.IOReadCloser(), packed: packed, times: times}, nil
	}
	return io.NopCloser(br), nil
}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

type bounded struct {
	io.ReadCloser
	packed *counter
	n      int64
	times  int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.n > freeExpansion && b.n > b.times*b.packed.n {
		return 0, fmt.Errorf("it decompresses to more than %d times its size\n"+
			"hint: if you trust it, decompress it first", b.times)
	}
	n, err := b.ReadCloser.Read(p)
	b.n += int64(n)
	return n, err
}

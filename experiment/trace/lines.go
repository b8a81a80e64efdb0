package trace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxLine bounds a line, and a conversation of a JSON file, in bytes: a prompt of a million tokens as JSON
// text.
const maxLine = 32 << 20

var errLong = fmt.Errorf("longer than %d MiB\nhint: a trace has one request a line", maxLine>>20)

// Lines are the lines of a file of any size.
type Lines struct {
	Number int  // of the last line, from 1
	Open   bool // it has no end

	r    *bufio.Reader
	held []byte // a line that was unread; nil = none
	buf  []byte
}

func NewLines(r io.Reader) *Lines { return &Lines{r: bufio.NewReaderSize(r, 1<<16)} }

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
		if l.buf = append(l.buf, piece...); len(l.buf) > maxLine {
			return nil, unreadable{errLong}
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

package trace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxLine bounds a line, and a conversation of a JSON file: a prompt of a million tokens, as JSON text.
const maxLine = 32 << 20

var errLong = fmt.Errorf("longer than %d MiB\nhint: is this a trace? each request is one line", maxLine>>20)

// lines gives the lines of a file one by one.
type lines struct {
	r    *bufio.Reader
	line int    // number of the line given last, from 1
	held []byte // a line that was put back; nil = none
	buf  []byte
}

// next is the next line that is not blank, without its end; it is valid until the call after. io.EOF at the end.
func (l *lines) next() ([]byte, error) {
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

// unread puts the line given last back.
func (l *lines) unread(line []byte) { l.held = line }

func (l *lines) read() ([]byte, error) {
	l.line++
	piece, err := l.r.ReadSlice('\n')
	if err == nil {
		return piece, nil
	}
	l.buf = l.buf[:0]
	for {
		if l.buf = append(l.buf, piece...); len(l.buf) > maxLine {
			return nil, errLong
		}
		switch {
		case err == nil:
			return l.buf, nil
		case errors.Is(err, io.EOF) && len(l.buf) > 0:
			return l.buf, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
		piece, err = l.r.ReadSlice('\n')
	}
}

// meter counts what a JSON decoder reads, so that a value is bounded and has a line.
type meter struct {
	r        io.Reader
	read     int64   // bytes given
	from     int64   // where the value at hand begins
	line     int     // the line it begins on
	newlines []int64 // offsets of line ends behind from
	blanks   int     // bytes in a row that were nothing else
}

// maxBlanks bounds blanks in a row: the decoder looks at all of them anew with each read.
const maxBlanks = 1 << 20

var errBlanks = fmt.Errorf("%d MiB of blanks\nhint: is this a trace?", maxBlanks>>20)

func (m *meter) Read(p []byte) (int, error) {
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

// begin says that the value before ended at offset; buffered is what the decoder holds of what comes then.
func (m *meter) begin(offset int64, buffered io.Reader) {
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

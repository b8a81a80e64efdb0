package prompts

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxRecord bounds a record of a file, in bytes: a conversation of some millions of tokens as JSON.
const maxRecord = 64 << 20

var errLong = fmt.Errorf("longer than %d MiB", maxRecord>>20)

type place struct {
	offset int64
	line   int // number of its first line, from 1
	number int // in a JSON list, from 1; 0 = the file is none
}

type splitter struct {
	r      *bufio.Reader
	list   bool // a JSON list
	offset int64
	line   int // of the next byte, from 1
	number int // elements of the list so far
	buf    []byte
}

// newSplitter reads up to the first record.
func newSplitter(r io.Reader) (*splitter, error) {
	s := &splitter{r: bufio.NewReaderSize(r, 1<<16), line: 1}
	head, err := s.r.Peek(4)
	if err != nil && err != io.EOF {
		return nil, err
	}
	for magic, hint := range map[string]string{"\x1f\x8b": "gunzip -k", "\x28\xb5\x2f\xfd": "zstd -d"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return nil, fmt.Errorf("the file is compressed, and prompts are read out of order\nhint: decompress it first: %s FILE", hint)
		}
	}
	if bom := []byte("\xef\xbb\xbf"); bytes.HasPrefix(head, bom) {
		s.skip(len(bom))
	}
	c, err := s.first()
	if s.list = c == '['; err == nil && s.list {
		s.skip(1)
	}
	return s, err
}

// next is the next record, valid until the next call; io.EOF at the end. After errLong there is no next record.
func (s *splitter) next() ([]byte, place, error) {
	if s.list {
		return s.element()
	}
	for {
		at := place{offset: s.offset, line: s.line}
		raw, err := s.readLine()
		if err != nil {
			return nil, at, err
		}
		trimmed := bytes.TrimLeft(raw, " \t\r\n")
		at.offset += int64(len(raw) - len(trimmed))
		if trimmed = bytes.TrimRight(trimmed, " \t\r\n"); len(trimmed) > 0 {
			return trimmed, at, nil
		}
	}
}

func (s *splitter) readLine() ([]byte, error) {
	s.buf = s.buf[:0]
	for {
		piece, err := s.r.ReadSlice('\n')
		s.buf = append(s.buf, piece...)
		s.offset += int64(len(piece))
		switch {
		case len(s.buf) > maxRecord:
			return nil, errLong
		case err == nil:
			s.line++
			return s.buf, nil
		case errors.Is(err, io.EOF) && len(s.buf) > 0:
			return s.buf, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

var errList = errors.New("the JSON list does not end\nhint: the file is cut off: get the whole file")

func (s *splitter) element() ([]byte, place, error) {
	c, err := s.first()
	if err == nil && c == ',' {
		s.skip(1)
		c, err = s.first()
	}
	at := place{s.offset, s.line, s.number + 1}
	s.number++
	if err == io.EOF {
		err = errList
	} else if err == nil && c == ']' {
		err = io.EOF
	}
	if err != nil {
		return nil, at, err
	}
	s.buf = s.buf[:0]
	depth, inText, escaped := 0, false, false
	for {
		c, err := s.r.ReadByte()
		switch {
		case err == io.EOF:
			return nil, at, errList
		case err != nil:
			return nil, at, err
		case len(s.buf) >= maxRecord:
			return nil, at, errLong
		}
		ends := depth == 0 && !inText && (c == ',' || c == ']')
		if ends {
			_ = s.r.UnreadByte() // it was just read
			return bytes.TrimRight(s.buf, " \t\r\n"), at, nil
		}
		s.buf = append(s.buf, c)
		s.pass(c)
		switch {
		case escaped:
			escaped = false
		case inText:
			inText, escaped = c != '"', c == '\\'
		case c == '"':
			inText = true
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
	}
}

func (s *splitter) first() (byte, error) {
	for {
		c, err := s.r.ReadByte()
		if err != nil {
			return 0, err
		}
		if bytes.IndexByte([]byte(" \t\r\n"), c) < 0 {
			return c, s.r.UnreadByte()
		}
		s.pass(c)
	}
}

func (s *splitter) skip(n int) {
	k, _ := s.r.Discard(n) // they are in the buffer
	s.offset += int64(k)
}

func (s *splitter) pass(c byte) {
	s.offset++
	if c == '\n' {
		s.line++
	}
}

package server

import (
	"bytes"
	"strings"
	"sync"
)

const (
	lastLines = 20
	lineBytes = 400
)

type output struct {
	announce string
	url      chan string // the first announced URL

	mu    sync.Mutex
	line  []byte // the unfinished line, at most lineBytes
	lines []string
}

func newOutput(announce string) *output {
	return &output{announce: announce, url: make(chan string, 1)}
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := len(p)
	for {
		line, rest, whole := bytes.Cut(p, []byte("\n"))
		o.line = append(o.line, line[:min(len(line), lineBytes-len(o.line))]...)
		if !whole {
			return n, nil
		}
		o.add(strings.TrimRight(string(o.line), "\r"))
		o.line, p = o.line[:0], rest
	}
}

func (o *output) add(line string) {
	if len(o.lines) == lastLines {
		o.lines = append(o.lines[:0], o.lines[1:]...)
	}
	o.lines = append(o.lines, line)
	if _, after, found := strings.Cut(line, o.announce); found && o.announce != "" {
		url, _, _ := strings.Cut(strings.TrimSpace(after), " ")
		select {
		case o.url <- url:
		default: // already announced
		}
	}
}

func (o *output) lastOutput() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	lines := o.lines
	if len(o.line) > 0 {
		lines = append(lines[:len(lines):len(lines)], string(o.line))
	}
	return strings.Join(lines, "\n")
}

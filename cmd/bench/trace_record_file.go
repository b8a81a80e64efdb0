package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"bench/experiment/unit"
	"bench/live/proxy"
	"bench/live/recording"
)

// recordingFile is the file of a recording that is being written. After an error of the disk it takes nothing more
// and counts: the traffic must go on.
type recordingFile struct {
	name string
	note io.Writer // gets one line when writing fails

	mu       sync.Mutex
	file     io.Closer
	room     *bufio.Writer
	out      *recording.Writer
	err      error // of writing; nil = none
	lines    int
	flushed  int // lines that are in the file
	lost     int
	failures int
	removed  bool // at the end, without a request: the next recording can have its name
}

// createRecording makes the file, which only its owner can read: arrivals and models of a service are its own business.
func createRecording(name string, h recording.Header, note io.Writer) (*recordingFile, error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, usage("-o %s exists\nhint: name a new file: recordings are not overwritten", name)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("creating the recording: %w\nhint: mkdir -p %s", err, filepath.Dir(name))
	case err != nil:
		return nil, fmt.Errorf("creating the recording: %w\nhint: choose another file with -o", err)
	}
	f := &recordingFile{name: name, note: note, file: file, room: bufio.NewWriterSize(file, 64<<10)}
	f.out, err = recording.NewWriter(f.room, h, strings.HasSuffix(name, ".zst"))
	if err == nil {
		err = f.room.Flush()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("creating the recording: %w", err), file.Close(), os.Remove(name))
	}
	return f, nil
}

func (f *recordingFile) write(x *recording.Exchange) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if x.Request.Failed() {
		f.failures++
	}
	if f.err == nil {
		f.fail(f.out.Write(x))
	}
	if f.err != nil {
		f.lost++
		return
	}
	f.lines++
}

// flush makes what was written readable by others, with the counts if there are any.
func (f *recordingFile) flush(c *recording.Counts) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil && c != nil {
		f.fail(f.out.Counts(*c))
	}
	if f.err == nil {
		f.fail(f.out.Flush())
	}
	f.flushRoom()
}

func (f *recordingFile) flushRoom() {
	if f.err == nil {
		f.fail(f.room.Flush())
	}
	if f.err == nil {
		f.flushed = f.lines
	}
}

// fail ends the recording at the first error. The lines that waited in memory are lost.
func (f *recordingFile) fail(err error) {
	if err == nil || f.err != nil {
		return
	}
	f.err = err
	f.lost, f.lines = f.lost+f.lines-f.flushed, f.flushed
	fmt.Fprintln(f.note, safe(fmt.Sprintf("recording stopped, requests still pass: %v", err)))
}

// close writes the last counts. A file without a request is removed.
func (f *recordingFile) close(c recording.Counts) error {
	f.flush(&c)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.fail(f.out.Close())
	}
	f.flushRoom()
	if err := f.file.Close(); err != nil {
		f.fail(err)
	}
	if f.err == nil && f.lines == 0 {
		f.removed = os.Remove(f.name) == nil
	}
	if f.err != nil {
		return fmt.Errorf("the recording is not complete: %w", f.err)
	}
	return nil
}

func (f *recordingFile) written() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lines
}

func (f *recordingFile) unwritten() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lost
}

func (f *recordingFile) counts(p *proxy.Proxy) recording.Counts {
	c := p.Counts()
	c.Unrecorded += f.unwritten()
	return c
}

const (
	flushEvery  = time.Second
	countsEvery = 10 // flushes
	lineEvery   = time.Minute
	redrawEvery = 2 // flushes
)

// watch flushes the file each second and shows progress, until stop: in one line of a terminal, else a line
// each minute.
func (f *recordingFile) watch(p *proxy.Proxy, stderr io.Writer) (stop func()) {
	end, done := make(chan struct{}), make(chan struct{})
	terminal := redraws(stderr)
	go func() {
		defer close(done)
		tick := time.NewTicker(flushEvery)
		defer tick.Stop()
		for n := 1; ; n++ {
			select {
			case <-end:
				if terminal {
					fmt.Fprint(stderr, "\r\x1b[K")
				}
				return
			case <-tick.C:
			}
			var counts *recording.Counts
			if n%countsEvery == 0 {
				now := f.counts(p)
				counts = &now
			}
			f.flush(counts)
			switch {
			case terminal && n%redrawEvery == 0:
				fmt.Fprint(stderr, "\r\x1b[K"+f.progress(p))
			case !terminal && n%int(lineEvery/flushEvery) == 0:
				fmt.Fprintln(stderr, f.progress(p))
			}
		}
	}()
	return func() {
		close(end)
		<-done
	}
}

func (f *recordingFile) progress(p *proxy.Proxy) string {
	n := f.counts(p)
	f.mu.Lock()
	defer f.mu.Unlock()
	line := fmt.Sprintf("%s, %s in flight, %s recorded", unit.Plural(n.Requests, "request"), unit.Count(p.Open()),
		unit.Count(f.lines)) + counted(", ", "", count{f.failures, "failed"}, count{n.Unrecorded, "not recorded"})
	if s := n.Shadow; s != nil {
		line += ", " + unit.Count(s.Sent) + " copied" + counted(", ", "", count{s.Dropped, "dropped"})
		if s.Stopped != "" {
			line += ", copying ended: " + s.Stopped
		}
	}
	return line
}

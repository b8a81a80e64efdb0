package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"

	"bench/sweep"
)

// live draws a scene on a terminal, and again four times a second.
//
// It leaves nothing to restore, whatever ends the program: no mode is set, the cursor is neither hidden nor moved away from the
// line below the frame, and the screen before it stays. Each frame is one write, in a synchronised update where the terminal
// knows that (DEC private mode 2026; others ignore it), so that no half of one is seen.
type live struct {
	w           io.Writer
	size        func() (width, height int)
	interrupted func() bool

	mu    sync.Mutex
	scene scene
	drawn []string // the frame on the screen
	notes bytes.Buffer

	quit chan struct{}
	done sync.WaitGroup
}

const frameEvery = 250 * time.Millisecond

func newLive(f *os.File, matrix string, a *agenda, interrupted func() bool) *live {
	l := &live{w: f, size: sizeOf(f), interrupted: interrupted, scene: newScene(matrix, a, colors(f)), quit: make(chan struct{})}
	l.done.Go(l.refresh)
	return l
}

// sizeOf tells how large a terminal is, each time anew.
func sizeOf(f *os.File) func() (width, height int) {
	return func() (int, int) {
		width, height, err := term.GetSize(int(f.Fd()))
		if err != nil || width < 1 || height < 1 {
			return 80, 24
		}
		return width, height
	}
}

// refresh draws until stop.
func (l *live) refresh() {
	tick := time.NewTicker(frameEvery)
	defer tick.Stop()
	back, forget := continued()
	defer forget()
	for {
		select {
		case <-tick.C:
			l.draw(nil)
		case <-back: // the shell has written below the frame since
			l.mu.Lock()
			l.drawn = nil
			l.mu.Unlock()
		case <-l.quit:
			return
		}
	}
}

// stop takes the frame away; the lines that stay are left.
func (l *live) stop() {
	close(l.quit)
	l.done.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	var last []string
	if l.notes.Len() > 0 {
		last = []string{l.notes.String()}
	}
	l.show(last, nil)
}

func (l *live) event(e sweep.Event) {
	l.mu.Lock()
	width, _ := l.size()
	lines := l.scene.event(e, time.Now(), width-1)
	l.mu.Unlock()
	l.draw(lines)
}

// Write puts lines of others above the frame.
func (l *live) Write(p []byte) (int, error) {
	l.mu.Lock()
	l.notes.Write(p)
	lines := wholeLines(&l.notes)
	l.mu.Unlock()
	if len(lines) > 0 {
		l.draw(lines)
	}
	return len(p), nil
}

// draw writes lines that stay, and below them the frame of this moment.
func (l *live) draw(stay []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.scene.cut = l.interrupted()
	width, height := l.size()
	l.show(stay, l.scene.frame(l.scene.reading(), now, width-1, height))
}

// show puts lines and a frame in the place of the last frame.
func (l *live) show(stay, frame []string) {
	width, _ := l.size()
	var b strings.Builder
	b.WriteString("\x1b[?2026h\r")
	if up := rows(l.drawn, width); up > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", up)
	}
	for _, line := range slices.Concat(stay, frame) {
		b.WriteString(line + "\x1b[K\r\n")
	}
	b.WriteString("\x1b[J\x1b[?2026l")
	_, _ = io.WriteString(l.w, b.String()) // a terminal that is gone is no reason to end a sweep
	l.drawn = frame
}

// rows is how many lines of the screen a frame takes: one that was drawn for a wider screen is folded by now.
func rows(frame []string, width int) int {
	n := 0
	for _, line := range frame {
		n += max(1, (text.StringWidthWithoutEscSequences(line)+width-1)/width)
	}
	return n
}

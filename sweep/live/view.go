package live

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"bench/experiment/text"
)

// View redraws a frame in its place on a terminal, below the lines that stay; the frames of tiling are lines
// that stay.
//
// It leaves nothing to restore, whatever ends the program: it sets no mode, the cursor stays visible and on
// the line below the frame, and the screen before it stays. Each frame is one write, in a synchronized update
// where the terminal supports that (DEC private mode 2026; others ignore it), so that a half frame is never
// seen.
type View struct {
	W           io.Writer
	Size        func() (width, height int) // of the terminal; nil: W is none, for tiling only
	Every       time.Duration              // between two frames
	Interrupted <-chan struct{}            // closed when the user ends the run, which draws at once; nil: never
	Resumed     <-chan os.Signal           // the shell wrote below the frame (Ctrl-Z, fg); nil: never
	OnStop      func()                     // ends Resumed; nil: nothing to do

	frame func(Moment) []string // nil: nothing changed, the last frame stays
	stays bool                  // each frame stays: it is never redrawn

	mu          sync.Mutex
	drawn       []string     // the frame on the screen
	notes       bytes.Buffer // a line without its end
	interrupted bool

	quit chan struct{} // nil: not started, or stopped
	done sync.WaitGroup
}

type Moment struct {
	now           time.Time
	width, Height int  // room for the frame, in columns and lines; 0: no limit
	interrupted   bool // the user ended the run
}

func (v *View) start() {
	quit := make(chan struct{})
	v.quit = quit
	v.done.Go(func() { v.loop(quit) })
}

func (v *View) loop(quit <-chan struct{}) {
	tick := time.NewTicker(v.Every)
	defer tick.Stop()
	interrupted := v.Interrupted
	for {
		select {
		case <-tick.C:
			v.print()
		case <-interrupted:
			interrupted = nil
			v.mu.Lock()
			v.interrupted = true
			v.mu.Unlock()
			v.print()
		case <-v.Resumed:
			v.mu.Lock()
			v.drawn = nil
			v.mu.Unlock()
		case <-quit:
			return
		}
	}
}

// Stop removes the frame; a View whose frames stay prints the last one. A second Stop does nothing.
func (v *View) Stop() {
	if v.quit == nil {
		return
	}
	close(v.quit)
	v.quit = nil
	v.done.Wait()
	if v.OnStop != nil {
		v.OnStop()
	}
	if v.stays {
		v.print()
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	var last []string
	if v.notes.Len() > 0 {
		last = []string{v.notes.String()}
	}
	v.redraw(last, nil)
}

// Write puts whole lines of p above the frame, and keeps the rest until its line ends.
func (v *View) Write(p []byte) (int, error) {
	v.mu.Lock()
	v.notes.Write(p)
	var lines []string
	if at := bytes.LastIndexByte(v.notes.Bytes(), '\n'); at >= 0 {
		lines = strings.Split(string(v.notes.Next(at + 1)[:at]), "\n")
	}
	v.mu.Unlock()
	if len(lines) > 0 {
		v.print(lines...)
	}
	return len(p), nil
}

// print writes lines that stay, and below them the frame of this moment.
func (v *View) print(stay ...string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	m := Moment{now: time.Now(), interrupted: v.interrupted}
	if v.Size != nil {
		width, height := v.Size()
		m.width, m.Height = width-1, height
	}
	frame := v.frame(m)
	switch {
	case frame == nil && len(stay) == 0:
	case v.stays:
		_, _ = io.WriteString(v.W, strings.Join(append(stay, frame...), "\n")+"\n")
	default:
		v.redraw(stay, frame)
	}
}

// redraw puts lines and a frame in the place of the last frame. A terminal that is gone does not end a sweep:
// the error is dropped.
func (v *View) redraw(stay, frame []string) {
	width, height := v.Size()
	var b strings.Builder
	b.WriteString("\x1b[?2026h\r")
	if up := screenLines(v.drawn, width); up > 0 && up < height {
		fmt.Fprintf(&b, "\x1b[%dA", up)
	}
	for _, line := range slices.Concat(stay, frame) {
		b.WriteString(line + "\x1b[K\r\n")
	}
	b.WriteString("\x1b[J\x1b[?2026l")
	_, _ = io.WriteString(v.W, b.String())
	v.drawn = frame
}

// screenLines is how many lines of the screen a frame takes: one drawn for a wider screen is folded by now.
func screenLines(frame []string, width int) int {
	n := 0
	for _, line := range frame {
		n += max(1, (text.Width(line)+width-1)/width)
	}
	return n
}

// clipped cuts lines to a width; 0 = no limit.
func clipped(lines []string, width int) []string {
	if width > 0 {
		for i := range lines {
			lines[i] = text.Clip(lines[i], width)
		}
	}
	return lines
}

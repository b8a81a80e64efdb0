package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"bench/experiment"
	"bench/experiment/stats"
	"bench/sweep"
)

// isTerminal says that people look at w, not a file or a pipe.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// display shows how a run goes on: one line a row, and on a terminal a line that moves while a row runs.
type display struct {
	w    io.Writer
	live bool
	left map[string]time.Duration // of the rows that have not begun, as far as known

	mu    sync.Mutex
	row   *sweep.Begun
	since time.Time
	quit  chan struct{}
	done  sync.WaitGroup
}

func newDisplay(w io.Writer, points []experiment.Spec, only []string) *display {
	d := &display{w: w, live: isTerminal(w), left: map[string]time.Duration{}, quit: make(chan struct{})}
	for i := range points {
		if ok, err := sweep.Match(&points[i], only); ok && err == nil {
			expected, _ := points[i].Expected()
			d.left[sweep.ID(&points[i])] = expected + perRow
		}
	}
	if d.live {
		d.done.Go(d.refresh)
	}
	return d
}

// stop ends the moving line.
func (d *display) stop() {
	close(d.quit)
	d.done.Wait()
}

func (d *display) event(e sweep.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case e.Starting != nil:
		d.line("%s (log: %s)", strings.TrimSpace(fmt.Sprintf("starting server %d %s", e.Starting.N, e.Starting.Variant)), e.Starting.Log)
	case e.Started != nil:
		d.line("results go to %s", e.Started.Dir)
		if e.Started.Kept > 0 {
			d.line("%d of %d rows are there already", e.Started.Kept, e.Started.Total)
		}
	case e.Begun != nil:
		d.row, d.since = e.Begun, time.Now()
		delete(d.left, e.Begun.ID)
		if !d.live {
			d.line("[%d/%d] %s …", e.Begun.Index, e.Begun.Total, e.Begun.Spec.Pretty())
		}
	case e.Finished != nil:
		d.row = nil
		delete(d.left, e.Finished.Row.ID)
		d.line("[%d/%d] %s", e.Finished.Index, e.Finished.Total, finished(e.Finished))
	}
}

// line prints over the moving line.
func (d *display) line(format string, args ...any) {
	if d.live {
		fmt.Fprint(d.w, "\r\x1b[K")
	}
	fmt.Fprintln(d.w, plain(fmt.Sprintf(format, args...)))
}

// finished is a row in one line. Its percentiles carry the mark of their sample size, as everywhere.
func finished(f *sweep.Finished) string {
	s := &f.Row.Summary
	name := f.Row.Spec.Pretty()
	if f.Kept {
		return name + ": kept"
	}
	if f.Row.Spec.Repeats > 1 {
		name += fmt.Sprintf(" (repeat %d)", f.Row.Spec.Repeat)
	}
	parts := []string{fmt.Sprintf("n=%d", s.Requests.Completed)}
	if s.Requests.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%d FAILED", s.Requests.Failed))
	}
	parts = median(parts, "ttft", s.TTFT)
	parts = median(parts, "tpot", s.TPOT)
	if s.TTFT == nil {
		parts = median(parts, "e2e", s.E2E)
	}
	parts = append(parts, experiment.Format(s.Throughput.OutputTokensPerS, "tok/s"))
	if v, _ := experiment.ContractOf(f.Row); v != "" {
		parts = append(parts, string(v))
	}
	if n := len(f.Row.Doubts); n > 0 {
		parts = append(parts, count(n, "doubt"))
	}
	return name + ": " + strings.Join(parts, ", ")
}

// median adds the p50 of a latency with its mark; what has no value is left out.
func median(parts []string, metric string, s *stats.Summary) []string {
	p, ok := experiment.PercentilesOf(s).Get("p50")
	if !ok {
		return parts
	}
	mark, ms, ok := p.Mark()
	if !ok {
		return append(parts, fmt.Sprintf("%s p50 n=%d", metric, p.N))
	}
	return append(parts, metric+" p50 "+mark+experiment.Format(ms, "ms"))
}

// count is a number of things: 1 doubt, 2 doubts.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// refresh draws the moving line until stop.
func (d *display) refresh() {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			d.draw()
		case <-d.quit:
			fmt.Fprint(d.w, "\r\x1b[K")
			return
		}
	}
}

func (d *display) draw() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.row == nil {
		return
	}
	p := d.row.Progress
	elapsed := time.Since(d.since)
	expected, known := d.row.Spec.Expected()
	text := fmt.Sprintf("[%d/%d] %s  %s", d.row.Index, d.row.Total, d.row.Spec.Pretty(), elapsed.Round(time.Second))
	if known {
		text += " of " + expected.Round(time.Second).String()
	}
	text += fmt.Sprintf("  sent %d done %d failed %d", p.Sent.Load(), p.Done.Load(), p.Failed.Load())
	left := max(0, expected-elapsed)
	for _, d := range d.left {
		left += d
	}
	if left > 0 {
		text += fmt.Sprintf("  about %s left", left.Round(time.Second))
	}
	fmt.Fprint(d.w, "\r\x1b[K"+fit(plain(text), d.width()))
}

func (d *display) width() int {
	if f, ok := d.w.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 10 {
			return w - 1
		}
	}
	return 79
}

func fit(s string, width int) string {
	r := []rune(s)
	if len(r) <= width {
		return s
	}
	return string(r[:width-1]) + "…"
}

// plain takes out what would move the cursor: names come from files that others may have written.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return '·'
		}
		return r
	}, s)
}

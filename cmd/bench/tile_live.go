package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/openai"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/sweep"
)

// metered is where the meter stood.
type metered struct{ prompt, output int64 }

// tileLive prints the metrics of the row that runs, in an interval, and ends a row that only fails.
type tileLive struct {
	w        io.Writer
	inPlace  bool              // on a terminal: the table stays where it is
	size     func() (w, h int) // of the terminal
	title    string            // above each table; empty: there is but one run
	spec     *experiment.Spec  // of the row that runs
	interval time.Duration
	end      func(cause error)
	told     <-chan struct{} // is closed when the row is told to end before its time; nil: nobody does so
	row      *record.Row     // once it is on disk

	mu          sync.Mutex
	meter       openai.TokenCounter
	progress    *endpoint.Progress
	since, last time.Time // the load's start (before it, the row's), and the last print
	lastEnd     time.Time // of a request
	bad         int       // failures since the last one that is ok
	badSince    time.Time // the first of them
	all, now    tally
	before      metered
	drawn       []string // on the terminal, to be replaced
	ending      bool     // told is closed
	over        bool     // the metrics up to the end of the load are printed

	quit chan struct{}
	done sync.WaitGroup
}

func newTileLive(w io.Writer, interval time.Duration, end func(cause error)) *tileLive {
	l := &tileLive{w: w, interval: interval, end: end, quit: make(chan struct{})}
	if f, ok := w.(*os.File); ok && isTerminal(w) && os.Getenv("TERM") != "dumb" {
		l.inPlace, l.size = true, sizeOf(f)
	}
	return l
}

func (l *tileLive) event(e sweep.Event) {
	switch {
	case e.Started != nil:
		fmt.Fprintf(l.w, "results go to %s\n\n", plain(e.Started.Dir))
	case e.Begun != nil:
		l.progress, l.spec = e.Begun.Progress, e.Begun.Spec
		l.progress.Meter, l.progress.Each = &l.meter, l.each
		l.since = time.Now()
		l.last, l.lastEnd = l.since, l.since
		l.done.Go(l.refresh)
	case e.Finished != nil:
		l.row = e.Finished.Row
	}
}

// failingTime is how long a server may fail everything.
const failingTime = 30 * time.Second

// failingError ends a row whose requests all fail.
type failingError struct {
	failures int
	outcome  string
	reason   string
}

func (e *failingError) Error() string {
	return fmt.Sprintf("every request of the last %v failed (%s); the last one: %s: %s\nhint: look at the server's log", failingTime, count(e.failures, "request"), e.outcome, e.reason)
}

func (l *tileLive) each(r *record.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now.add(r)
	l.lastEnd = time.Now()
	switch {
	case r.OK():
		l.bad = 0
	case r.Outcome == "unfinished" || r.Outcome == "cancelled": // the row's end cut it off, not the server
	default:
		l.fails(r)
	}
}

// fails takes a failure. The time counts from the first of them: a single one may itself have taken longer than that.
func (l *tileLive) fails(r *record.Record) {
	if l.bad++; l.bad == 1 {
		l.badSince = l.lastEnd
	}
	if l.lastEnd.Sub(l.badSince) >= failingTime {
		l.end(&failingError{l.bad, r.Outcome, plain(r.Error)})
	}
}

// stop prints the final metrics.
func (l *tileLive) stop() {
	close(l.quit)
	l.done.Wait()
}

func (l *tileLive) refresh() {
	tick := time.NewTicker(l.interval)
	defer tick.Stop()
	var back <-chan os.Signal
	if l.inPlace {
		again, forget := continued()
		defer forget()
		back = again
	}
	told := l.told
	for {
		select {
		case <-tick.C:
			l.print()
		case <-told: // at once: who pressed Ctrl-C wants to see that it was heard
			told = nil
			l.mu.Lock()
			l.ending = true
			l.mu.Unlock()
			l.print()
		case <-back: // the shell has written below the table since
			l.mu.Lock()
			l.drawn = nil
			l.mu.Unlock()
		case <-l.quit:
			l.print()
			return
		}
	}
}

// print writes the metrics up to now: over the last ones on a terminal, below them elsewhere. Nothing more is to be said once the
// load is over: what follows is making the summary, and that time is in no figure.
func (l *tileLive) print() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return
	}
	now, r := time.Now(), l.progress.Read()
	if l.since.Before(r.Begun) { // before it connections were opened
		l.since, l.last, l.lastEnd = r.Begun, r.Begun, r.Begun
	}
	if l.over = !r.Ended.IsZero(); l.over {
		now = r.Ended
	}
	lines := l.text(now, r)
	if l.title != "" {
		lines = append([]string{l.title}, lines...)
	}
	_, _ = io.WriteString(l.w, l.placed(lines)) // who no longer listens is no reason to stop measuring
}

// placed puts a table in the place of the last one, where there is one and the screen holds it; elsewhere below it.
func (l *tileLive) placed(lines []string) string {
	if !l.inPlace {
		return strings.Join(lines, "\n") + "\n\n"
	}
	width, height := l.size()
	var b strings.Builder
	if up := rows(l.drawn, width); up > 0 && up < height {
		fmt.Fprintf(&b, "\x1b[%dA\r\x1b[J", up)
	}
	for i, line := range lines {
		lines[i] = text.Trim(line, width)
		b.WriteString(lines[i] + "\n")
	}
	l.drawn = lines
	return b.String()
}

// text makes the lines, and begins the next interval.
func (l *tileLive) text(now time.Time, r endpoint.Reading) []string {
	interval, elapsed := now.Sub(l.last).Seconds(), now.Sub(l.since).Seconds()
	at := metered{l.meter.Prompt.Load(), l.meter.Output.Load()}
	l.all.merge(&l.now)
	lines := []string{
		fmt.Sprintf("Elapsed Time: %.2f", elapsed),
		fmt.Sprintf("Total Number of Requests Processed: %d", l.all.done),
		"QPS: " + rateOf(float64(l.all.done-l.all.failed), elapsed),
	}
	lines = append(lines, averages("Global", &l.all, at, elapsed)...)
	lines = append(lines, fmt.Sprintf("Requests Processed in Last %.3g second Interval: %d", interval, l.now.done))
	lines = append(lines, averages("Interval", &l.now, metered{at.prompt - l.before.prompt, at.output - l.before.output}, interval)...)
	lines = append(lines, l.extras(now, r)...)
	l.now, l.before, l.last = tally{}, at, now
	return lines
}

// extras are what stands beside the averages.
func (l *tileLive) extras(now time.Time, r endpoint.Reading) []string {
	ttft := "-"
	if n := len(l.now.ttft); n > 0 {
		slices.Sort(l.now.ttft)
		ttft = fmt.Sprintf("%.3f / %.3f (n=%d)", stats.Quantile(l.now.ttft, 0.5), stats.Quantile(l.now.ttft, 0.99), n)
	}
	hits := "not told by the server"
	if l.all.told > 0 {
		hits = fmt.Sprintf("%s of the interval's prompt tokens, %s of all", percent(l.now.cached, l.now.prompt), percent(l.all.cached, l.all.prompt))
	}
	lines := []string{
		"Interval TTFT p50 / p99: " + ttft,
		fmt.Sprintf("Errors: %d in the interval, %d in all", l.now.failed, l.all.failed),
		"Cache Hits: " + hits,
		fmt.Sprintf("Inflight Requests: %d", r.InFlight),
		"Phase: " + l.phase(now, r),
	}
	if l.now.done == 0 && r.InFlight > 0 {
		lines = append(lines, fmt.Sprintf("nothing finished for %.0f s", now.Sub(l.lastEnd).Seconds()))
	}
	return lines
}

// phase says whether what comes now is counted in the results, and how far the warm-up has come.
func (l *tileLive) phase(now time.Time, r endpoint.Reading) string {
	switch {
	case !r.Ended.IsZero():
		return "over"
	case l.ending:
		return fmt.Sprintf("ending: waiting for the last requests, %v at most; a second Ctrl-C leaves at once, without results", time.Duration(l.spec.Grace))
	case r.Phase != record.PhaseWarmup:
		return map[string]string{record.PhaseWindow: "measuring", record.PhaseCooldown: "waiting for the last requests"}[r.Phase]
	}
	words := "warm-up, not counted"
	if w := l.spec.Warmup; r.Sent < w.Requests {
		words += fmt.Sprintf(": %d of %s", r.Sent, count(w.Requests, "request"))
	} else if left := time.Duration(w.Time) - now.Sub(r.Begun); w.Time > 0 && left > 0 {
		words += fmt.Sprintf(": %.0f s left", left.Seconds())
	}
	return words
}

func averages(of string, t *tally, came metered, seconds float64) []string {
	return []string{
		of + " Average TTFT: " + mean(t.ttftSum, t.ttfts, 3),
		of + " Average ITL: " + mean(t.decode, t.gaps, 4),
		of + " Average Prefill Throughput: " + rateOf(float64(came.prompt), seconds),
		of + " Average Decode Throughput: " + rateOf(float64(came.output), seconds),
	}
}

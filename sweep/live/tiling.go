package live

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/openai"
	"bench/experiment/record"
	"bench/experiment/safetext"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/sweep"
)

// Tiling is the live view of bench tile: the metrics of the row that runs, a frame each View.Every. It ends
// a row whose requests all fail. The views of rows that follow one another are Tilings of their own.
type Tiling struct {
	*View
	Title string            // above each frame; empty: none
	End   func(cause error) // ends the row
	Row   *record.Row       // once it is on disk

	spec     *experiment.Spec
	meter    openai.TokenCounter
	progress *endpoint.Progress

	mu          sync.Mutex
	since, last time.Time // the load's start (before it, the row's), and the frame before
	lastEnd     time.Time // of a request
	failures    int       // since the last request that was ok
	failedSince time.Time // the first of them
	all, now    tally     // of the row, of the interval
	before      tokens    // received until the frame before
	over        bool      // the frame of the whole load is drawn
}

// tokens are those that the meter counted.
type tokens struct{ prompt, output int64 }

// Event takes a step of the run.
func (t *Tiling) Event(e sweep.Event) {
	switch {
	case e.Started != nil:
		fmt.Fprintf(t.W, "results go to %s\n\n", safetext.Escape(e.Started.Dir))
	case e.Begun != nil:
		t.progress, t.spec = e.Begun.Progress, e.Begun.Spec
		t.progress.Counter, t.progress.Each = &t.meter, t.requestEnded
		t.since = time.Now()
		t.last, t.lastEnd = t.since, t.since
		t.frame, t.keep = t.draw, true
		t.start()
	case e.Finished != nil:
		t.Row = e.Finished.Row
	}
}

// failingTime is how long all requests may fail before the row ends.
const failingTime = 30 * time.Second

// FailingError ends a row whose requests all fail.
type FailingError struct {
	failures        int
	outcome, reason string // of the last one
}

// Error implements error.
func (e *FailingError) Error() string {
	return fmt.Sprintf("every request of the last %v failed (%s); the last one: %s: %s\nhint: look at the server's log",
		failingTime, unit.Plural(e.failures, "request"), e.outcome, e.reason)
}

func (t *Tiling) requestEnded(r *record.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now.add(r)
	t.lastEnd = time.Now()
	switch {
	case r.OK():
		t.failures = 0
	case r.Outcome == "unfinished" || r.Outcome == "cancelled": // the row's end cut it, not the server
	default:
		// The time counts from the first failure: a single one may itself have taken longer than the limit.
		if t.failures++; t.failures == 1 {
			t.failedSince = t.lastEnd
		}
		if t.lastEnd.Sub(t.failedSince) >= failingTime {
			t.End(&FailingError{t.failures, r.Outcome, safetext.Escape(r.Error)})
		}
	}
}

// draw makes the frame of the metrics up to now, and begins the next interval. The load's end makes the last
// one: the time of the summary that follows is in no figure.
func (t *Tiling) draw(m Moment) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return nil
	}
	r := t.progress.Snapshot()
	if t.since.Before(r.Begun) { // connections were opened before it
		t.since, t.last, t.lastEnd = r.Begun, r.Begun, r.Begun
	}
	if t.over = !r.Ended.IsZero(); t.over {
		m.Now = r.Ended
	}
	var lines []string
	if t.Title != "" {
		lines = []string{t.Title}
	}
	lines = append(lines, t.figures(r, m)...)
	return clipped(lines, m.Width)
}

// figures are the metrics of the row and of the interval, which they end.
func (t *Tiling) figures(r endpoint.Snapshot, m Moment) []string {
	interval, elapsed := m.Now.Sub(t.last).Seconds(), m.Now.Sub(t.since).Seconds()
	received := tokens{t.meter.Prompt.Load(), t.meter.Output.Load()}
	t.all.merge(&t.now)
	lines := []string{
		fmt.Sprintf("Elapsed Time: %.2f", elapsed),
		fmt.Sprintf("Total Number of Requests Processed: %d", t.all.done),
		"QPS: " + perSecond(float64(t.all.done-t.all.failed), elapsed),
	}
	lines = append(lines, averages("Global", &t.all, received, elapsed)...)
	lines = append(lines, fmt.Sprintf("Requests Processed in Last %.3g second Interval: %d", interval, t.now.done))
	lines = append(lines, averages("Interval", &t.now, tokens{received.prompt - t.before.prompt, received.output - t.before.output}, interval)...)
	lines = append(lines, t.extras(r, m)...)
	t.now, t.before, t.last = tally{}, received, m.Now
	return lines
}

// extras are the metrics beside the averages.
func (t *Tiling) extras(r endpoint.Snapshot, m Moment) []string {
	ttft := "-"
	if n := len(t.now.ttft); n > 0 {
		slices.Sort(t.now.ttft)
		ttft = fmt.Sprintf("%.3f / %.3f (n=%d)", stats.Quantile(t.now.ttft, 0.5), stats.Quantile(t.now.ttft, 0.99), n)
	}
	hits := "not reported by the server"
	if t.all.reported > 0 {
		hits = fmt.Sprintf("%s of the interval's prompt tokens, %s of all", percent(t.now.cached, t.now.prompt), percent(t.all.cached, t.all.prompt))
	}
	lines := []string{
		"Interval TTFT p50 / p99: " + ttft,
		fmt.Sprintf("Errors: %d in the interval, %d in all", t.now.failed, t.all.failed),
		"Cache Hits: " + hits,
		fmt.Sprintf("Inflight Requests: %d", r.InFlight),
		"Phase: " + t.phase(r, m),
	}
	if t.now.done == 0 && r.InFlight > 0 {
		lines = append(lines, fmt.Sprintf("nothing finished for %.0f s", m.Now.Sub(t.lastEnd).Seconds()))
	}
	return lines
}

// phase says whether requests count in the results now, and how far the warm-up is.
func (t *Tiling) phase(r endpoint.Snapshot, m Moment) string {
	switch {
	case !r.Ended.IsZero():
		return "over"
	case m.Interrupted:
		return fmt.Sprintf("draining requests in flight, up to %v; a second Ctrl-C exits at once, without results", time.Duration(t.spec.Grace))
	case r.Phase != record.PhaseWarmup:
		return map[string]string{record.PhaseWindow: "measuring", record.PhaseCooldown: "draining"}[r.Phase]
	}
	words := "warm-up, not counted"
	if w := t.spec.Warmup; r.Sent < w.Requests {
		words += fmt.Sprintf(": %d of %s", r.Sent, unit.Plural(w.Requests, "request"))
	} else if left := time.Duration(w.Time) - m.Now.Sub(r.Begun); w.Time > 0 && left > 0 {
		words += fmt.Sprintf(": %.0f s left", left.Seconds())
	}
	return words
}

func averages(of string, t *tally, received tokens, seconds float64) []string {
	return []string{
		of + " Average TTFT: " + mean(t.ttftSum, t.ttfts, 3),
		of + " Average ITL: " + mean(t.decode, t.gaps, 4),
		of + " Average Prefill Throughput: " + perSecond(float64(received.prompt), seconds),
		of + " Average Decode Throughput: " + perSecond(float64(received.output), seconds),
	}
}

// tally counts the requests of a time.
type tally struct {
	done, failed   int
	ttft           []float64 // s, of the ok requests; of an interval only
	ttftSum        float64   // s
	ttfts          int
	decode         float64 // s from first to last token
	gaps           int
	reported       int // requests whose cached tokens the server reported
	prompt, cached int // tokens of those requests
}

// add takes a request that ended. One outside the window that the row's end cut is no error, and is not
// counted.
func (t *tally) add(r *record.Record) {
	cut := r.Phase == record.PhaseCooldown || r.Phase == record.PhaseWarmup && r.Outcome == "unfinished"
	if !r.OK() && cut {
		return
	}
	t.done++
	if !r.OK() {
		t.failed++
		return
	}
	at, _ := r.Arrival.Get()
	if first, ok := r.First.Get(); ok {
		last, _ := r.Last.Get()
		ttft := float64(first-at) / 1e6
		t.ttftSum += ttft
		t.ttfts++
		t.ttft = append(t.ttft, ttft)
		t.decode += float64(last-first) / 1e6
		t.gaps += r.Gaps.Len()
	}
	if r.CachedTokens != nil {
		t.reported++
		t.cached += *r.CachedTokens
		t.prompt += *cmp.Or(r.PromptTokens, &r.PromptRequested)
	}
}

// merge adds the requests of an interval to those of the row.
func (t *tally) merge(o *tally) {
	t.done += o.done
	t.failed += o.failed
	t.ttftSum += o.ttftSum
	t.ttfts += o.ttfts
	t.decode += o.decode
	t.gaps += o.gaps
	t.reported += o.reported
	t.prompt += o.prompt
	t.cached += o.cached
}

func mean(sum float64, n, digits int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%.*f", digits, sum/float64(n))
}

func perSecond(n, seconds float64) string {
	if seconds <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", n/seconds)
}

func percent(part, whole int) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}

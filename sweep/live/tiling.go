package live

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/openai"
	"bench/experiment/record"
	"bench/experiment/unit"
	"bench/experiment/workload"
	"bench/sweep"
)

// Tiling is the live view of bench tile: a line each View.Every with the metrics of the row that runs, under a
// heading that is repeated.
type Tiling struct {
	*View
	lines   int // since the heading
	columns int // of the heading

	mu sync.Mutex
	tilingRow
}

type tilingRow struct {
	spec        *experiment.Spec
	progress    *endpoint.Progress
	meter       *openai.TokenCounter
	since, last time.Time // the load's start (before it, the row's), and the line before
	lastEnd     time.Time // of a request

	all, now    tally     // of the row, of the interval
	window      [2]int    // requests of the window that ended, and those of them that failed
	before      tokens    // received until the line before
	over        bool      // the line of the whole load is printed
	phase       string    // the last one that was printed
	first, tier tierCount // the server's counters at the first line, and at the line before
}

type tokens struct{ prompt, output int64 }

func (t *Tiling) Event(e sweep.Event) {
	switch {
	case e.Begun != nil:
		if e.Begun.Total > 1 {
			fmt.Fprintf(t.W, "[%d/%d] %s\n", e.Begun.Index, e.Begun.Total, title(e.Begun.Spec, math.MaxInt))
		}
		t.begin(e.Begun)
	case e.Finished != nil:
		t.Stop()
		if e.Finished.Total > 1 {
			fmt.Fprintf(t.W, "[%d/%d] %s\n\n", e.Finished.Index, e.Finished.Total, rowLine(e.Finished))
		}
	default:
		t.Stop() // a cut row begins again
		for _, line := range eventLines(e) {
			fmt.Fprintln(t.W, line)
		}
		if e.Started != nil {
			fmt.Fprintln(t.W)
		}
	}
}

func (t *Tiling) begin(row *sweep.RowEvent) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	t.tilingRow = tilingRow{spec: row.Spec, progress: row.Progress, meter: &openai.TokenCounter{},
		since: now, last: now, lastEnd: now}
	t.progress.Counter, t.progress.Each = t.meter, t.requestEnded
	t.frame, t.stays = t.draw, true
	t.start()
}

// headingDue counts a line, and reports whether a heading of that many columns comes before it.
func (t *Tiling) headingDue(columns int) bool {
	due := t.lines%headingEvery == 0 || columns != t.columns // a tier may appear, and a terminal may change its size
	if due {
		t.lines, t.columns = 0, columns
	}
	t.lines++
	return due
}

func (t *Tiling) requestEnded(r *record.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now.add(r)
	if r.Phase == record.PhaseWindow {
		t.window[0]++
		if r.Failed() {
			t.window[1]++
		}
	}
	t.lastEnd = time.Now()
}

// headingEvery is the number of lines from one heading to the next: a screen of 24 lines shows one.
const headingEvery = 20

// narrow is the width of lines for a file or a pipe, in columns.
const narrow = 80

// draw makes the line of the metrics up to now, and begins the next interval. The load's end makes the last
// one, with the whole run: the time of the summary that follows is in no figure.
func (t *Tiling) draw(m Moment) (lines []string) {
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
		m.now = r.Ended
	}
	count := tiersOf(r)
	if t.first.zero() {
		t.first, t.tier = count, count
	}
	if phase := t.phaseText(r, m); phase != t.phase && phase != "" {
		t.phase, lines = phase, append(lines, phase)
	}
	shown := shownColumns(cmp.Or(m.width, narrow), count.known)
	if t.headingDue(len(shown)) {
		lines = append(lines, heading(shown)...)
	}
	line := t.interval(r, m, count)
	lines = append(lines, lineOf(shown, line.text))
	if line.done == 0 && r.InFlight > 0 {
		lines = append(lines, fmt.Sprintf("no request finished for %.0f s", m.now.Sub(t.lastEnd).Seconds()))
	}
	if t.over {
		whole := interval{tally: t.all, seconds: m.now.Sub(t.since).Seconds(), received: t.before, label: "all",
			inFlight: none, ended: t.all.done, failures: t.all.failed, tiers: count.rates(t.first)}
		lines = append(lines, fmt.Sprintf("mean of %s, warm-up included:", clockText(m.now.Sub(t.since))),
			lineOf(shown, whole.text))
	}
	return clipped(lines, m.width)
}

func (t *Tiling) interval(r endpoint.Snapshot, m Moment, count tierCount) interval {
	received := tokens{t.meter.Prompt.Load(), t.meter.Output.Load()}
	t.all.merge(&t.now)
	ended := t.window
	if r.Phase == record.PhaseWarmup {
		ended = [2]int{t.all.done, t.all.failed}
	}
	line := interval{
		tally: t.now, seconds: m.now.Sub(t.last).Seconds(),
		received: tokens{received.prompt - t.before.prompt, received.output - t.before.output},
		label:    clockText(m.now.Sub(t.since)), inFlight: unit.Count(r.InFlight),
		ended: ended[0], failures: ended[1], tiers: count.rates(t.tier),
	}
	t.now, t.before, t.last, t.tier = tally{}, received, m.now, count
	return line
}

// phaseText says whether requests count in the results now; empty: the load is over.
func (t *Tiling) phaseText(r endpoint.Snapshot, m Moment) string {
	switch {
	case !r.Ended.IsZero():
		return ""
	case m.interrupted:
		return fmt.Sprintf("draining, up to %v; a second Ctrl-C exits at once, without results",
			time.Duration(t.spec.Grace))
	case r.Phase == record.PhaseWarmup:
		return "warm-up, not counted: " + warmupText(t.spec.Warmup)
	}
	return map[string]string{record.PhaseWindow: "measurement window:", record.PhaseCooldown: "draining:"}[r.Phase]
}

// warmupText is the length of a warm-up; with both, it ends when both are over.
func warmupText(w workload.Extent) string {
	requests, least := unit.Plural(w.Requests, "request"), time.Duration(w.Time).String()
	switch {
	case w.Time == 0:
		return requests
	case w.Requests == 0:
		return least
	}
	return requests + ", at least " + least
}

type tierCount struct {
	queries float64
	hits    [5]float64 // in the order of telemetry.TierNames
	// GPU and the tiers with hits, if a tier below GPU has hits: servers also list tiers that they lack
	known [5]bool
}

func (c tierCount) zero() bool { return c == tierCount{} }

func tiersOf(r endpoint.Snapshot) (c tierCount) {
	if r.Server == nil || r.Server.PrefixQueries == nil {
		return c
	}
	c.queries = *r.Server.PrefixQueries
	for i, hits := range r.Server.Tiers.List() {
		if hits != nil {
			c.hits[i], c.known[i] = *hits, *hits > 0
		}
	}
	c.known[0] = slices.Contains(c.known[1:], true)
	return c
}

// rates are the hit rates of each tier since an earlier count.
func (c tierCount) rates(since tierCount) (out [5]string) {
	for i := range out {
		out[i] = none
		if queries := c.queries - since.queries; queries > 0 && c.known[i] {
			out[i] = unit.Percent(max(0, c.hits[i]-since.hits[i]) / queries)
		}
	}
	return out
}

type tally struct {
	done, failed   int
	ttft           []float64 // s, of the ok requests; of an interval only
	ttftSum        float64   // s
	ttfts          int
	decode         float64 // s from first to last token
	gaps           int
	prompt, cached int // tokens of the requests whose cached tokens the server reported
}

// add takes a request that ended. One outside the window that the row's end cut is no error, and is not
// counted.
func (t *tally) add(r *record.Record) {
	cut := r.Phase == record.PhaseCooldown || r.Phase == record.PhaseWarmup && r.Outcome == "unfinished"
	if !r.OK() && cut {
		return
	}
	t.done++
	if r.Failed() {
		t.failed++
	}
	if !r.OK() {
		return
	}
	at, _ := r.Arrival.Get()
	first, begun := r.First.Get()
	if last, ended := r.Last.Get(); begun && ended {
		ttft := float64(first-at) / 1e6
		t.ttftSum += ttft
		t.ttfts++
		t.ttft = append(t.ttft, ttft)
		t.decode += float64(last-first) / 1e6
		t.gaps += r.Gaps.Len()
	}
	if r.CachedTokens != nil {
		t.cached += *r.CachedTokens
		t.prompt += *cmp.Or(r.PromptTokens, &r.PromptRequested)
	}
}

func (t *tally) merge(o *tally) {
	t.done += o.done
	t.failed += o.failed
	t.ttftSum += o.ttftSum
	t.ttfts += o.ttfts
	t.decode += o.decode
	t.gaps += o.gaps
	t.prompt += o.prompt
	t.cached += o.cached
}

package live

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/text"
	"bench/experiment/unit"
	"bench/experiment/verdict"
	"bench/sweep"
	"bench/sweep/forecast"
	"bench/sweep/matrix"
)

// Lines writes a sweep as lines for a log: one for each event, with the time of day, and one every few seconds
// while a server starts or finishes what it was sent before a row.
type Lines struct {
	mu     sync.Mutex
	w      io.Writer
	status status

	stop func()
}

// startingEvery is the time between two lines about a server that starts.
const startingEvery = 10 * time.Second

// NewLines writes the events of a sweep of the rows of m that only picks, until its Stop.
func NewLines(w io.Writer, m *matrix.Matrix, only []string) *Lines {
	x := &Lines{w: w, status: status{remaining: forecast.NewRemaining(m, only)}}
	x.stop = every(startingEvery, func(now time.Time) {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.starting(now)
		x.settling(now)
	})
	return x
}

// every calls f at each interval until stop, which waits for it.
func every(interval time.Duration, f func(now time.Time)) (stop func()) {
	quit := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case now := <-tick.C:
				f(now)
			case <-quit:
				return
			}
		}
	})
	return func() {
		close(quit)
		done.Wait()
	}
}

func (x *Lines) Stop() { x.stop() }

func (x *Lines) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.w.Write(p)
}

func (x *Lines) Event(e sweep.Event) {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := time.Now()
	x.status.apply(e, now)
	lines := eventLines(e)
	switch {
	case e.Begun != nil:
		line := text.Escape(e.Begun.Spec.Label()) + " …"
		if takes := x.status.remaining.Row(e.Begun.Spec); takes.Known() {
			line += " " + takes.String()
		}
		lines = []string{line}
	case e.Finished != nil:
		line := rowLine(e.Finished)
		if !e.Finished.Kept && len(x.status.remaining.Todo) > 0 {
			line += "; " + x.status.leftText(x.status.reading(), now)
		}
		lines = []string{line}
	case e.Started != nil:
		fmt.Fprintln(x.w, strings.Join(lines, "\n"))
		return
	}
	number := ""
	if row := cmp.Or(e.Begun, e.Finished, e.Skipped, e.Cut); row != nil {
		number = fmt.Sprintf("[%d/%d] ", row.Index, row.Total)
	}
	for _, line := range lines {
		x.put(now, "%s%s", number, line)
	}
}

func (x *Lines) put(now time.Time, format string, args ...any) {
	fmt.Fprintf(x.w, now.Format(time.TimeOnly)+" "+format+"\n", args...)
}

func (x *Lines) starting(now time.Time) {
	s := x.status.server
	if s == nil {
		return
	}
	const most = 100 // columns of the log's line
	log := text.Ellipsis(text.Escape(lastLine(s)), most)
	x.put(now, "%s", strings.TrimRight(fmt.Sprintf("%s: %s  %s", text.Escape(startText(s)),
		unit.Clock(now.Sub(x.status.since)), log), " "))
}

func (x *Lines) settling(now time.Time) {
	row := x.status.row
	if row == nil {
		return
	}
	if n := x.status.reading().Settling; n > 0 {
		x.put(now, "[%d/%d] %s: %s", row.Index, row.Total, settlingText(n), unit.Clock(now.Sub(x.status.since)))
	}
}

// eventLines are the lines of events that read the same in every form.
func eventLines(e sweep.Event) []string {
	switch {
	case e.Starting != nil:
		return []string{text.Escape(fmt.Sprintf("%s (log: %s)", startText(e.Starting), e.Starting.Log))}
	case e.Started != nil:
		lines := []string{text.Escape("results go to " + e.Started.Dir)}
		if e.Started.Kept > 0 {
			lines = append(lines, fmt.Sprintf("%d of %d rows are kept", e.Started.Kept, e.Started.Total))
		}
		return lines
	case e.Skipped != nil:
		return []string{skippedLine(e.Skipped)}
	case e.Cut != nil:
		return []string{cutLine(e.Cut)}
	case e.Scouting != nil:
		return []string{text.Escape(e.Scouting.Name +
			": a few seconds of requests one after the other, then more at a time, to find a first rate")}
	case e.Found != nil:
		return []string{text.Escape(e.Found.Text)}
	}
	return nil
}

func cutLine(k *sweep.RowEvent) string {
	first, _, _ := strings.Cut(k.Reason, "\n")
	return text.Escape(k.Spec.Label() + ": cut: " + first + "; it begins again when all workers are there (within 1m)")
}

func skippedLine(k *sweep.RowEvent) string {
	name := k.Spec.Label()
	if k.Spec.Repeats > 1 {
		name += fmt.Sprintf(" (repeat %d)", k.Spec.Repeat)
	}
	return text.Escape(name + ": skipped: " + k.Reason)
}

// rowLine is a finished row in one line, the verdict first. Its percentiles have the mark of their sample size.
func rowLine(f *sweep.RowEvent) string {
	name := text.Escape(f.Row.Spec.Label())
	if f.Kept {
		return name + ": kept"
	}
	if f.Row.Spec.Repeats > 1 {
		name += fmt.Sprintf(" (repeat %d)", f.Row.Spec.Repeat)
	}
	return name + ": " + rowText(f.Row)
}

// rowText is rowLine without the name. What makes a row invalid comes before its verdict.
func rowText(r *record.Row) string {
	s := &r.Summary
	parts := []string{verdictText(r), unit.Format(s.Throughput.OutputTokensPerS, "tok/s"), findingsText(r)}
	if !r.Valid() {
		slices.Reverse(parts)
	}
	if s := r.Server.Settle; s != nil && s.WaitedS >= 1 {
		parts = append(parts, "waited "+unit.Clock(time.Duration(s.WaitedS*1e9))+" for an idle server")
	}
	parts = append(parts, "n="+unit.Count(s.Requests.Completed))
	if s.Requests.Failed > 0 {
		parts = append(parts, unit.Count(s.Requests.Failed)+" FAILED")
	}
	parts = append(parts, percentilesText(r, "ttft", s.TTFT), percentilesText(r, "ttfo", s.TTFO),
		percentilesText(r, "tpot", s.TPOT))
	if s.TTFT == nil || len(limited(r, "e2e")) > 0 {
		parts = append(parts, percentilesText(r, "e2e", s.E2E))
	}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ", ")
}

// verdictText is the verdict of a row with the limit that decides it; empty: no SLO.
func verdictText(r *record.Row) string {
	word, _ := verdict.OfRows(r)
	if v, ok := verdict.Deciding(r); ok {
		return string(word) + " (" + text.Escape(verdict.ShortReason(v)) + ")"
	}
	return string(word)
}

// percentilesText is the median of a latency, p95 and p99 if the row carries them, and what its SLO limits; empty:
// it was not measured.
func percentilesText(r *record.Row, metric string, of *stats.Summary) string {
	ps := record.PercentilesOf(of)
	if len(ps) == 0 {
		return ""
	}
	text := strings.ToUpper(metric)
	limits := limited(r, metric)
	for _, p := range ps {
		if p.Name == "p50" || limits[p.Name] || p.Grade != stats.NoBound && (p.Name == "p95" || p.Name == "p99") {
			text += " " + p.Name + " " + percentile(of, p.Name)
		}
	}
	return text
}

func limited(r *record.Row, latency string) map[string]bool {
	names := map[string]bool{}
	for _, v := range r.SLO {
		if name, stat := metric.Cut(v.Metric); name == latency {
			names[string(stat)] = true
		}
	}
	return names
}

// findingsText is the most severe thing that is wrong with a row: "INVALID", "2 cautions"; empty: nothing.
func findingsText(r *record.Row) string {
	n := len(r.Codes(record.Caution))
	switch {
	case !r.Valid():
		return text.Escape("INVALID: " + strings.Join(r.Codes(record.Invalid), ", "))
	case n > 0:
		return unit.Plural(n, "caution")
	}
	return ""
}

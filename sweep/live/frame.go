package live

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/text"
	"bench/experiment/unit"
	"bench/experiment/verdict"
	"bench/sweep"
	"bench/sweep/forecast"
	"bench/sweep/matrix"
)

// Sweep is the live view of bench sweep: finished rows are lines that stay; the frame below them has what
// runs, and what is to come.
type Sweep struct {
	view   *View
	matrix string
	color  bool

	mu     sync.Mutex
	status status
	name   int // columns of the longest name of a row
	pace   pace
}

// NewSweep shows a sweep of the rows of m that k.Only picks, on v, until its Stop.
func NewSweep(v *View, m *matrix.Matrix, only []string, color bool) *Sweep {
	s := newSweep(m, only, color)
	s.view = v
	v.frame = func(at Moment) []string {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.frame(s.status.reading(), at)
	}
	v.start()
	return s
}

func newSweep(m *matrix.Matrix, only []string, color bool) *Sweep {
	s := &Sweep{matrix: m.Name, color: color, status: status{remaining: forecast.NewRemaining(m, only)},
		name: narrowestName}
	s.status.total = len(s.status.remaining.Todo)
	for _, t := range s.status.remaining.Todo {
		s.name = max(s.name, text.Width(title(t.Spec, math.MaxInt)))
	}
	return s
}

func (s *Sweep) Event(e sweep.Event) {
	width, _ := s.view.Size()
	s.view.print(s.apply(e, time.Now(), width-1)...)
}

func (s *Sweep) apply(e sweep.Event, now time.Time, width int) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.apply(e, now)
	switch {
	case e.Begun != nil:
		s.pace = pace{}
	case e.Finished != nil:
		return []string{s.finished(e.Finished, width)}
	}
	return eventLines(e)
}

// frame draws the part that changes: lines that fit the width, at most as many as the height has room for.
func (s *Sweep) frame(r endpoint.Snapshot, at Moment) []string {
	lines := []string{""}
	put := func(format string, args ...any) {
		lines = append(lines, text.Ellipsis(text.Escape(fmt.Sprintf(format, args...)), at.width))
	}
	st := &s.status
	ahead := st.leftText(r, at.now)
	if at.interrupted {
		ahead = "interrupted: waiting for requests in flight; finished rows are kept"
	}
	where := fmt.Sprintf("  %d of %s done  %s  %s", st.done, unit.Plural(st.total, "row"),
		bar(float64(st.done)/float64(max(1, st.total)), at.width/5), ahead)
	// the time left is never cut
	put("%s%s", text.Shorten(s.matrix, max(narrowestName, at.width-text.Width(where))), where)
	switch {
	case st.server != nil:
		put("   %s: %s", startText(st.server), unit.Clock(at.now.Sub(st.since)))
		if line := lastLine(st.server); line != "" {
			put("   log: %s", line)
		}
	case st.row != nil:
		s.current(put, r, at)
	}
	s.coming(put, at.width, at.Height-1-len(lines))
	return lines[:max(0, min(len(lines), at.Height-1))]
}

func (s *Sweep) current(put func(string, ...any), r endpoint.Snapshot, at Moment) {
	row := s.status.row
	spec := row.Spec
	repeat := ""
	if spec.Repeats > 1 {
		repeat = fmt.Sprintf(", repeat %d of %d", spec.Repeat, spec.Repeats)
	}
	number := len(fmt.Sprint(s.status.total))
	once := *spec
	once.Repeats = 0 // the repeat follows in words
	put("%*d  %s%s", number, row.Index, title(&once, at.width-6-len(repeat)), repeat)
	if r.Counting > 0 {
		put("   counting   the server has counted the tokens of %s", unit.Plural(r.Counting, "prompt"))
	}
	if r.Settling > 0 {
		put("   settling   %s: %s", settlingText(r.Settling), unit.Clock(at.now.Sub(s.status.since)))
		return
	}
	if r.Begun.IsZero() {
		put("   preparing  connections and prefixes: %s", unit.Clock(at.now.Sub(s.status.since)))
		return
	}
	elapsed := at.now.Sub(r.Begun)
	expected, known := spec.ExpectedDuration()
	ended, total := r.Done, spec.Warmup.Requests // of the phase
	if r.Phase != record.PhaseWarmup {
		ended, total = r.Counted, spec.Requests
	}
	phase := map[string]string{record.PhaseWarmup: "warm-up", record.PhaseWindow: "window",
		record.PhaseCooldown: "cool-down"}[r.Phase]
	switch {
	case known && elapsed > expected:
		put("   %-9s  %s of %s: draining", phase, unit.Clock(elapsed), unit.Clock(expected))
	case known:
		put("   %-9s  %s of %s  %s  %s left", phase, unit.Clock(elapsed), unit.Clock(expected),
			bar(elapsed.Seconds()/expected.Seconds(), at.width/5), unit.Clock(expected-elapsed))
	case total > 0:
		put("   %-9s  %s, %s of %s requests  %s  %s left", phase, unit.Clock(elapsed), unit.Count(ended),
			unit.Count(total),
			bar(float64(ended)/float64(total), at.width/5), s.status.remaining.RowLeft(spec, r, at.now))
	default:
		put("   %-9s  %s", phase, unit.Clock(elapsed))
	}
	put("   requests   %s sent, %s done, %s failed, %s in flight", unit.Count(r.Sent), unit.Count(r.Done),
		unit.Count(r.Failed), unit.Count(r.InFlight))
	if r.Sessions > 0 {
		put("   sessions   %s begun, %s ended", unit.Count(r.Sessions), unit.Count(r.Over))
	}
	if spec.Streams() {
		put("   TTFT       %s", glance(r.FirstToken))
		put("   TPOT       %s", glance(r.TPOT))
		put("   ITL        %s", glance(r.ITL))
	} else {
		put("   E2E        %s", glance(r.FirstToken))
	}
	put("   output     %s", s.pace.add(at.now, r))
	put("   lag        %s", glance(r.Lag))
}

func settlingText(requests int) string {
	return "waiting for the server to finish " + unit.Plural(requests, "request")
}

// glance writes a latency so far: the percentiles that its n carries, of p90 and p95 the higher one.
func glance(g endpoint.LiveLatency) string {
	if g.N == 0 {
		return "none yet"
	}
	var parts []string
	add := func(name string, ms float64) {
		if !math.IsNaN(ms) {
			parts = append(parts, name+" "+unit.Format(ms, "ms"))
		}
	}
	add("p50", g.P50)
	if math.IsNaN(g.P95) {
		add("p90", g.P90)
	}
	add("p95", g.P95)
	add("p99", g.P99)
	add("max", g.Max)
	return strings.Join(append(parts, "n="+unit.Count(g.N)), "   ")
}

func (s *Sweep) coming(put func(string, ...any), width, room int) {
	todo := s.status.remaining.Todo
	if len(todo) == 0 || room < 3 {
		return
	}
	const most = 12
	shown := min(len(todo), room-2, most)
	put("")
	before := s.status.total - len(todo)
	names := min(s.name, widestName, max(narrowestName, width-len("00    at least 10m 00s")))
	for i, t := range todo[:shown] {
		name := text.Pad(title(t.Spec, names), names)
		put("%*d  %s  %s", len(fmt.Sprint(s.status.total)), before+i+1, name, s.status.remaining.Row(t.Spec))
	}
	if more := len(todo) - shown; more > 0 {
		put("   and %s", unit.Plural(more, "more row"))
	}
}

// bar draws a share from 0 to 1 as a line of width columns.
func bar(share float64, width int) string {
	full := int(math.Round(min(1, max(0, share)) * float64(width)))
	return strings.Repeat("━", full) + strings.Repeat("─", width-full)
}

const (
	narrowestName = 17
	widestName    = 48
)

// finished is a row in one line below others: its name, and as much of its figures as fits the width.
func (s *Sweep) finished(f *sweep.RowEvent, width int) string {
	number := fmt.Sprintf("%*d/%d  ", len(fmt.Sprint(f.Total)), f.Index, f.Total)
	if f.Kept {
		return number + title(&f.Row.Spec, width-len(number)-len("  kept")) + "  kept"
	}
	name := min(s.name, max(narrowestName, width/4), widestName)
	line := number + text.Pad(title(&f.Row.Spec, name), name) + "  "
	word, _ := verdict.OfRows(f.Row)
	figures, judged := strings.CutPrefix(text.Ellipsis(rowText(f.Row), width-text.Width(line)), string(word))
	if judged {
		line += s.paint(string(word), word)
	}
	return line + figures
}

// paint colours a verdict; the word carries the meaning without colour.
func (s *Sweep) paint(word string, v stats.Verdict) string {
	code := map[stats.Verdict]string{stats.Pass: "32", stats.Fail: "31", stats.Undecided: "33"}[v]
	if !s.color || code == "" {
		return word
	}
	return "\x1b[" + code + "m" + word + "\x1b[0m"
}

// title is a point and its repeat in at most width columns.
func title(s *experiment.Spec, width int) string {
	repeat := ""
	if s.Repeats > 1 {
		repeat = fmt.Sprintf(" r%d", s.Repeat)
	}
	return text.Shorten(text.Escape(s.Label())+repeat, width)
}

// percentile is one of a latency with the mark of its sample size; empty: it was not measured.
func percentile(s *stats.Summary, name string) string {
	p, ok := record.PercentilesOf(s).Get(name)
	if !ok {
		return ""
	}
	mark, ms, ok := p.Mark()
	if !ok {
		return fmt.Sprintf("n=%d", p.N)
	}
	return mark + unit.Format(ms, "ms")
}

// pace is the output rate of the requests that ended in the last paceSpan.
type pace struct{ samples []sample }

type sample struct {
	at     time.Time
	tokens int
}

const paceSpan = 10 * time.Second

func (p *pace) add(now time.Time, r endpoint.Snapshot) string {
	if len(p.samples) == 0 {
		p.samples = []sample{{at: r.Begun}}
	}
	p.samples = append(p.samples, sample{now, r.Tokens})
	for len(p.samples) > 2 && now.Sub(p.samples[1].at) >= paceSpan {
		p.samples = p.samples[1:]
	}
	first := p.samples[0]
	over := now.Sub(first.at)
	if r.Done == 0 || over < time.Second {
		return "none yet"
	}
	perS := float64(r.Tokens-first.tokens) / over.Seconds()
	return fmt.Sprintf("%s (requests that ended in the last %s)", unit.Format(perS, "tok/s"), unit.Clock(over))
}

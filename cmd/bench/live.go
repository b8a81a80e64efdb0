package main

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"bench/experiment/endpoint"
	"bench/experiment/record"
	"bench/experiment/unit"
	"bench/sweep"
)

// scene is what the live view tells: what a sweep does now, what it has done, and what is to come. Finished rows are lines
// that stay; the frame below them is drawn again and again.
type scene struct {
	matrix  string
	agenda  *agenda
	color   bool
	longest int // width of the longest name of a row

	total, done int             // rows
	server      *sweep.Starting // being started; nil: none is
	row         *sweep.Begun    // nil: none runs
	since       time.Time       // the server's start, or the row's
	pace        pace
	cut         bool // the user has ended it
}

func newScene(matrix string, a *agenda, color bool) scene {
	s := scene{matrix: matrix, agenda: a, color: color, total: len(a.todo), longest: narrowestName}
	for _, t := range a.todo {
		s.longest = max(s.longest, text.StringWidth(title(t.spec)))
	}
	return s
}

// event takes a step of the run, and gives the lines about it that stay.
func (s *scene) event(e sweep.Event, now time.Time, width int) []string {
	switch {
	case e.Starting != nil:
		s.server, s.row, s.since = e.Starting, nil, now
		s.agenda.variant = e.Starting.Variant
		return []string{plain(starting(e.Starting))}
	case e.Started != nil:
		s.total = e.Started.Total
		lines := []string{plain("results go to " + e.Started.Dir)}
		if e.Started.Kept > 0 {
			lines = append(lines, fmt.Sprintf("%d of %d rows are there already", e.Started.Kept, e.Started.Total))
		}
		return lines
	case e.Begun != nil:
		if s.server != nil {
			s.agenda.start = now.Sub(s.since)
		}
		s.server, s.row, s.since, s.total, s.pace = nil, e.Begun, now, e.Begun.Total, pace{}
		s.agenda.reach(e.Begun.ID)
	case e.Finished != nil:
		f := e.Finished
		if s.row != nil && !f.Kept {
			s.agenda.learn(s.row.Spec, now.Sub(s.since))
		}
		s.row, s.total, s.done = nil, f.Total, s.done+1
		s.agenda.reach(f.Row.ID)
		return []string{s.finished(f, width)}
	case e.Found != nil:
		s.agenda.hunting = false
		return []string{plain(e.Found.Text)}
	}
	return nil
}

// frame is the part that moves, in lines that fit the width, and no more of them than the height has room for.
func (s *scene) frame(r endpoint.Reading, now time.Time, width, height int) []string {
	var lines []string
	put := func(format string, args ...any) {
		lines = append(lines, text.Trim(plain(fmt.Sprintf(format, args...)), width))
	}
	put("")
	left := s.agenda.left()
	switch {
	case s.server != nil:
		left.add(span{least: s.agenda.start, most: s.agenda.start, open: s.agenda.start == 0}.less(now.Sub(s.since)))
	case s.row != nil:
		left.add(s.agenda.rest(s.row.Spec, r, now))
	}
	ahead := left.String() + " left"
	if s.cut {
		ahead = "interrupted: requests in flight may end, finished rows are kept"
	}
	where := fmt.Sprintf("  %d of %s done  %s  %s", s.done, count(s.total, "row"), bar(float64(s.done)/float64(max(1, s.total)), width/5), ahead)
	put("%s%s", shorten(s.matrix, max(narrowestName, width-text.StringWidth(where))), where) // how long it takes is never what is cut off
	switch {
	case s.server != nil:
		put("   starting server %d %s: %s", s.server.N, s.server.Variant, clock(now.Sub(s.since)))
	case s.row != nil:
		s.current(put, r, now, width)
	}
	s.coming(put, height-1-len(lines))
	return lines[:max(0, min(len(lines), height-1))]
}

// reading is that of the row that runs.
func (s *scene) reading() endpoint.Reading {
	if s.row == nil {
		return endpoint.Reading{}
	}
	return s.row.Progress.Read()
}

// current tells how the row fares that runs.
func (s *scene) current(put func(string, ...any), r endpoint.Reading, now time.Time, width int) {
	spec := s.row.Spec
	repeat := ""
	if spec.Repeats > 1 {
		repeat = fmt.Sprintf(", repeat %d of %d", spec.Repeat, spec.Repeats)
	}
	put("%*d  %s%s", len(fmt.Sprint(s.total)), s.row.Index, shorten(plain(spec.Pretty()), width-6-len(repeat)), repeat)
	if r.Begun.IsZero() {
		put("   preparing  connections and prefixes: %s", clock(now.Sub(s.since)))
		return
	}
	elapsed := now.Sub(r.Begun)
	expected, known := spec.Expected()
	total := spec.Warmup.Requests + spec.Requests
	phase := map[string]string{record.PhaseWarmup: "warm-up", record.PhaseWindow: "window", record.PhaseCooldown: "cool-down"}[r.Phase]
	switch {
	case known && elapsed > expected:
		put("   %-9s  %s of %s: the last answers are awaited", phase, clock(elapsed), clock(expected))
	case known:
		put("   %-9s  %s of %s  %s  %s left", phase, clock(elapsed), clock(expected), bar(elapsed.Seconds()/expected.Seconds(), width/5), clock(expected-elapsed))
	case total > 0:
		put("   %-9s  %s, %s of %s requests  %s  %s left", phase, clock(elapsed), unit.Count(r.Done), unit.Count(total), bar(float64(r.Done)/float64(total), width/5), s.agenda.rest(spec, r, now))
	default:
		put("   %-9s  %s", phase, clock(elapsed))
	}
	put("   requests   %s sent, %s done, %s failed, %s in flight", unit.Count(r.Sent), unit.Count(r.Done), unit.Count(r.Failed), unit.Count(r.InFlight))
	latency := "TTFT"
	if !spec.Streams() {
		latency = "e2e"
	}
	put("   %-9s  %s", latency, glance(r.First))
	put("   output     %s", s.pace.add(now, r))
	put("   lag        %s", glance(r.Lag))
}

// glance writes a latency so far.
func glance(g endpoint.Glance) string {
	if g.N == 0 {
		return "none yet"
	}
	part := func(name string, ms float64) string {
		if math.IsNaN(ms) {
			return name + " –"
		}
		return name + " " + unit.Format(ms, "ms")
	}
	return strings.Join([]string{part("p50", g.P50), part("p99", g.P99), part("max", g.Max), "n=" + unit.Count(g.N)}, "   ")
}

// coming lists rows that have not begun, in so many lines.
func (s *scene) coming(put func(string, ...any), room int) {
	todo := s.agenda.todo
	if len(todo) == 0 || room < 3 {
		return
	}
	const most = 12
	shown := min(len(todo), room-2, most)
	if len(todo) == shown+1 && room-2 > shown {
		shown++ // a line that names it takes no more room than one that counts it
	}
	put("")
	before := s.total - len(todo)
	names := 0
	for _, t := range todo[:shown] {
		names = max(names, text.StringWidth(title(t.spec)))
	}
	names = min(names, widestName)
	for i, t := range todo[:shown] {
		put("%*d  %s  %s", len(fmt.Sprint(s.total)), before+i+1, text.Pad(shorten(title(t.spec), names), names, ' '), s.agenda.rowSpan(t.spec))
	}
	if more := len(todo) - shown; more > 0 {
		put("   and %s more", count(more, "row"))
	}
}

// bar is a share from 0 to 1 as a line.
func bar(share float64, width int) string {
	full := int(math.Round(min(1, max(0, share)) * float64(width)))
	return strings.Repeat("━", full) + strings.Repeat("─", width-full)
}

// pace is the output of the requests that ended in the last seconds.
type pace struct{ samples []sample }

type sample struct {
	at     time.Time
	tokens int
}

// paceSpan is what "in the last seconds" means.
const paceSpan = 10 * time.Second

// add takes a reading, and says the pace.
func (p *pace) add(now time.Time, r endpoint.Reading) string {
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
	return fmt.Sprintf("%s of the requests that ended in the last %s", unit.Format(float64(r.Tokens-first.tokens)/over.Seconds(), "tok/s"), clock(over))
}

// wholeLines takes whole lines out of what was written, and keeps the rest.
func wholeLines(b *bytes.Buffer) []string {
	at := bytes.LastIndexByte(b.Bytes(), '\n')
	if at < 0 {
		return nil
	}
	return strings.Split(string(b.Next(at + 1)[:at]), "\n")
}

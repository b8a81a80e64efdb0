package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"bench/experiment/record"
	"bench/experiment/safetext"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/experiment/verdict"
	"bench/sweep"
)

// isTerminal says that people look at w, not a file or a pipe.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// colors says whether w is a terminal whose user has nothing against colours (https://no-color.org).
func colors(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// watchFlags say how a sweep tells what it does.
type watchFlags struct{ plain, json bool }

func (f *watchFlags) register(fl *pflag.FlagSet) {
	fl.BoolVar(&f.plain, "plain", false, "one line for each event instead of the live view; so it is wherever standard error is no terminal")
	fl.BoolVar(&f.json, "json", false, "events as JSON lines on standard output, instead of the live view and the final table (docs/results.md)")
}

// watcher shows what a sweep does. Its notes is where others write to while it does, line by line.
type watcher struct {
	event func(sweep.Event)
	notes io.Writer
	stop  func()
	ended func(*sweep.Result) // after stop, when the report is made
}

// watch makes the watcher that the flags and the terminal ask for.
func (c *cli) watch(f watchFlags, m *sweep.Matrix, only []string, interrupted func() bool) watcher {
	a := newAgenda(m, only)
	switch {
	case f.json:
		e := newEvents(c.stdout, a)
		return watcher{e.event, c.stderr, e.stop, e.ended}
	case f.plain || !isTerminal(c.stderr) || os.Getenv("TERM") == "dumb":
		return watcher{func(e sweep.Event) { printEvent(c.stderr, e) }, c.stderr, func() {}, func(*sweep.Result) {}}
	}
	l := newLive(c.stderr.(*os.File), m.Name, a, interrupted)
	return watcher{l.event, l, l.stop, func(*sweep.Result) {}}
}

// printEvent writes an event in a line that reads well in a log.
func printEvent(w io.Writer, e sweep.Event) {
	line := func(format string, args ...any) { fmt.Fprintln(w, plain(fmt.Sprintf(format, args...))) }
	switch {
	case e.Starting != nil:
		line("%s", starting(e.Starting))
	case e.Started != nil:
		line("results go to %s", e.Started.Dir)
		if e.Started.Kept > 0 {
			line("%d of %d rows are there already", e.Started.Kept, e.Started.Total)
		}
	case e.Begun != nil:
		line("[%d/%d] %s …", e.Begun.Index, e.Begun.Total, e.Begun.Spec.Pretty())
	case e.Finished != nil:
		line("[%d/%d] %s", e.Finished.Index, e.Finished.Total, finished(e.Finished))
	case e.Found != nil:
		line("%s", e.Found.Text)
	}
}

func starting(s *sweep.Starting) string {
	return fmt.Sprintf("%s (log: %s)", strings.TrimSpace(fmt.Sprintf("starting server %d %s", s.N, s.Variant)), s.Log)
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
	parts = append(parts, unit.Format(s.Throughput.OutputTokensPerS, "tok/s"))
	if v, _ := verdict.SLOOf(f.Row); v != "" {
		parts = append(parts, string(v))
	}
	if n := len(f.Row.Findings); n > 0 {
		parts = append(parts, count(n, "finding"))
	}
	return name + ": " + strings.Join(parts, ", ")
}

// median adds the p50 of a latency with its mark; what has no value is left out.
func median(parts []string, metric string, s *stats.Summary) []string {
	if text := percentile(s, "p50"); text != "" {
		return append(parts, metric+" p50 "+text)
	}
	return parts
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

// count is a number of things: 1 finding, 2 findings.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// plain makes names from untrusted files safe for a terminal, in one line.
func plain(s string) string { return safetext.Escape(s) }

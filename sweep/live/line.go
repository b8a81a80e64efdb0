package live

import (
	"fmt"
	"io"
	"strings"

	"bench/experiment/record"
	"bench/experiment/safetext"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/experiment/verdict"
	"bench/sweep"
)

// PrintEvent writes an event as one line for a log.
func PrintEvent(w io.Writer, e sweep.Event) {
	lines := eventLines(e)
	switch {
	case e.Begun != nil:
		lines = []string{safetext.Escape(fmt.Sprintf("[%d/%d] %s …", e.Begun.Index, e.Begun.Total, e.Begun.Spec.Label()))}
	case e.Finished != nil:
		lines = []string{fmt.Sprintf("[%d/%d] %s", e.Finished.Index, e.Finished.Total, RowLine(e.Finished))}
	}
	for _, line := range lines {
		fmt.Fprintln(w, line)
	}
}

// eventLines are the lines of events that read the same in every form.
func eventLines(e sweep.Event) []string {
	switch {
	case e.Starting != nil:
		server := strings.TrimSpace(fmt.Sprintf("starting server %d %s", e.Starting.N, e.Starting.Variant))
		return []string{safetext.Escape(fmt.Sprintf("%s (log: %s)", server, e.Starting.Log))}
	case e.Started != nil:
		lines := []string{safetext.Escape("results go to " + e.Started.Dir)}
		if e.Started.Kept > 0 {
			lines = append(lines, fmt.Sprintf("%d of %d rows are kept", e.Started.Kept, e.Started.Total))
		}
		return lines
	case e.Found != nil:
		return []string{safetext.Escape(e.Found.Text)}
	}
	return nil
}

// RowLine is a finished row in one line. Its percentiles have the mark of their sample size.
func RowLine(f *sweep.Finished) string {
	s := &f.Row.Summary
	name := safetext.Escape(f.Row.Spec.Label())
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
	median := func(metric string, of *stats.Summary) {
		if text := percentile(of, "p50"); text != "" {
			parts = append(parts, metric+" p50 "+text)
		}
	}
	median("ttft", s.TTFT)
	median("tpot", s.TPOT)
	if s.TTFT == nil {
		median("e2e", s.E2E)
	}
	parts = append(parts, unit.Format(s.Throughput.OutputTokensPerS, "tok/s"))
	if v, _ := verdict.OfRows(f.Row); v != "" {
		parts = append(parts, string(v))
	}
	if text := findingsText(f.Row); text != "" {
		parts = append(parts, text)
	}
	return name + ": " + strings.Join(parts, ", ")
}

// findingsText is the most severe thing that is wrong with a row: "INVALID", "2 cautions"; empty: nothing.
func findingsText(r *record.Row) string {
	n := len(r.Codes(record.Caution))
	switch {
	case !r.Valid():
		return "INVALID"
	case n > 0:
		return unit.Plural(n, "caution")
	}
	return ""
}

package live

import (
	"fmt"
	"strings"

	"bench/experiment"
	"bench/experiment/columns"
	"bench/experiment/record"
	"bench/experiment/safetext"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/experiment/verdict"
	"bench/sweep"
)

// Columns of a finished row that do not depend on its name.
const (
	verdictColumn  = len("UNDECIDED")
	figureColumn   = len("12,300 tok/s")
	findingsColumn = len("10 cautions")
	latencyColumn  = len("TTFT p50 ~52.1 ms")
	narrowestName  = 17
	widestName     = 48
)

// finished is a row in one line of a table without headings. Cells that do not fit the width are left out,
// from the right.
func (s *Sweep) finished(f *sweep.Finished, width int) string {
	number := fmt.Sprintf("%*d/%d", len(fmt.Sprint(f.Total)), f.Index, f.Total)
	if f.Kept {
		return number + "  " + columns.Clip(title(&f.Row.Spec), width) + "  kept"
	}
	name := min(s.name, max(narrowestName, width-59), widestName)
	line := number + "  " + columns.Pad(columns.Shorten(title(&f.Row.Spec), name), name)
	for i, cell := range s.cells(f) {
		if i > 2 && columns.Width(line+strings.TrimRight(cell, " "))+2 > width {
			break
		}
		line += "  " + cell
	}
	return strings.TrimRight(line, " ")
}

// cells are the figures of a finished row, the most important first.
func (s *Sweep) cells(f *sweep.Finished) []string {
	sum := &f.Row.Summary
	verdict, _ := verdict.OfRows(f.Row)
	word, findings := string(verdict), findingsText(f.Row)
	if word == "" {
		word = "–"
	}
	cells := []string{
		columns.Pad(s.paint(word, verdict), verdictColumn),
		columns.PadLeft(unit.Format(sum.Throughput.OutputTokensPerS, "tok/s"), figureColumn),
		columns.Pad(findings, findingsColumn),
	}
	if n := sum.Requests.Failed; n > 0 {
		cells = append(cells, s.paint(unit.Count(n)+" failed", stats.Fail))
	}
	latency, of := "TTFT", sum.TTFT
	if of == nil {
		latency, of = "e2e", sum.E2E
	}
	for _, x := range []struct {
		name string
		of   *stats.Summary
		p    string
	}{{latency, of, "p50"}, {latency, of, "p99"}, {"TPOT", sum.TPOT, "p50"}} {
		if value := percentile(x.of, x.p); value != "" {
			cells = append(cells, columns.Pad(x.name+" "+x.p+" "+value, latencyColumn))
		}
	}
	return cells
}

// paint colours a verdict; the word carries the meaning without colour.
func (s *Sweep) paint(word string, v stats.Verdict) string {
	code := map[stats.Verdict]string{stats.Pass: "32", stats.Fail: "31", stats.Undecided: "33"}[v]
	if !s.color || code == "" {
		return word
	}
	return "\x1b[" + code + "m" + word + "\x1b[0m"
}

// title is a point and its repeat, short, as in the names of the row's files.
func title(s *experiment.Spec) string {
	if s.Repeats > 1 {
		return fmt.Sprintf("%s r%d", safetext.Escape(s.Label()), s.Repeat)
	}
	return safetext.Escape(s.Label())
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

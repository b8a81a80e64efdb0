package main

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"bench/experiment"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/experiment/verdict"
	"bench/sweep"
)

// The columns of a finished row that do not depend on its name.
const (
	verdictColumn  = len("UNDECIDED")
	figureColumn   = len("12,300 tok/s")
	findingsColumn = len("10 findings")
	latencyColumn  = len("TTFT p50 ~52.1 ms")
	narrowestName  = 17
	widestName     = 48
)

// finished is a row in one line of a table without headings: what does not fit the width is left out, from the right.
func (s *scene) finished(f *sweep.Finished, width int) string {
	number := fmt.Sprintf("%*d/%d", len(fmt.Sprint(f.Total)), f.Index, f.Total)
	if f.Kept {
		return number + "  " + text.Trim(title(&f.Row.Spec), width) + "  kept"
	}
	name := min(s.longest, max(narrowestName, width-62), widestName)
	line := number + "  " + text.Pad(shorten(title(&f.Row.Spec), name), name, ' ')
	for i, cell := range s.cells(f) {
		if i > 2 && text.StringWidthWithoutEscSequences(line+strings.TrimRight(cell, " "))+2 > width {
			break
		}
		line += "  " + cell
	}
	return strings.TrimRight(line, " ")
}

// cells are what is said of a finished row, what matters most first.
func (s *scene) cells(f *sweep.Finished) []string {
	sum := &f.Row.Summary
	verdict, _ := verdict.SLOOf(f.Row)
	word, findings := string(verdict), ""
	if word == "" {
		word = "–"
	}
	if n := len(f.Row.Findings); n > 0 {
		findings = count(n, "finding")
	}
	cells := []string{
		s.paint(word, verdict) + strings.Repeat(" ", verdictColumn-text.StringWidth(word)),
		text.AlignRight.Apply(unit.Format(sum.Throughput.OutputTokensPerS, "tok/s"), figureColumn),
		text.Pad(findings, findingsColumn, ' '),
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
			cells = append(cells, text.Pad(x.name+" "+x.p+" "+value, latencyColumn, ' '))
		}
	}
	return cells
}

// paint colours a verdict; the word stays what tells it.
func (s *scene) paint(word string, v stats.Verdict) string {
	code := map[stats.Verdict]string{stats.Pass: "32", stats.Fail: "31", stats.Undecided: "33"}[v]
	if !s.color || code == "" {
		return word
	}
	return "\x1b[" + code + "m" + word + "\x1b[0m"
}

// title is a point and its repeat, in short as in the row's files.
func title(s *experiment.Spec) string {
	if s.Repeats > 1 {
		return fmt.Sprintf("%s r%d", plain(s.Pretty()), s.Repeat)
	}
	return plain(s.Pretty())
}

// shorten cuts a text in its middle: the axes at its end tell points apart.
func shorten(s string, width int) string {
	if text.StringWidth(s) <= width || width < 3 {
		return s
	}
	head := text.Trim(s, width/3)
	r := []rune(s)
	tail := len(r)
	for room := width - 1 - text.StringWidth(head); tail > 0 && text.RuneWidth(r[tail-1]) <= room; tail-- {
		room -= text.RuneWidth(r[tail-1])
	}
	return head + "…" + string(r[tail:])
}

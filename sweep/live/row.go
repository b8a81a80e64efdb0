package live

import (
	"fmt"
	"slices"
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
	reasonColumn   = len("ttft_p95 needs 1,258 more")
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
		return number + "  " + title(&f.Row.Spec, width-len(number)-len("    kept")) + "  kept"
	}
	others := len(number) + 4*len("  ") + verdictColumn + figureColumn + reasonColumn
	name := min(s.name, max(narrowestName, width-others), widestName)
	line := number + "  " + columns.Pad(title(&f.Row.Spec, name), name)
	for i, cell := range s.cells(f) {
		if i == 2 { // its reason is worth more than its columns
			cell = columns.Ellipsis(cell, max(0, width-columns.Width(line)-2))
		}
		if i > 1 && columns.Width(line+strings.TrimRight(cell, " "))+2 > width {
			break
		}
		line += "  " + cell
	}
	return strings.TrimRight(line, " ")
}

// cells are the figures of a finished row, the most important first: the third is what makes it invalid or keeps it
// from a PASS, else the tail of its latency.
func (s *Sweep) cells(f *sweep.Finished) []string {
	sum := &f.Row.Summary
	overall, _ := verdict.OfRows(f.Row)
	word := string(overall)
	if word == "" {
		word = "–"
	}
	metric, of := "ttft", sum.TTFT
	if of == nil {
		metric, of = "e2e", sum.E2E
	}
	latency := func(metric string, of *stats.Summary, p string) string {
		if value := percentile(of, p); value != "" {
			return strings.ToUpper(metric) + " " + p + " " + value
		}
		return ""
	}
	tail := latency(metric, of, tailOf(f.Row, metric, of))
	reason, findings := tail, findingsText(f.Row)
	if v, ok := verdict.Deciding(f.Row); ok {
		reason = safetext.Escape(verdict.ShortReason(v))
	}
	if codes := f.Row.Codes(record.Invalid); len(codes) > 0 {
		reason, findings = safetext.Escape(findings+": "+strings.Join(codes, ", ")), ""
	}
	cells := []string{
		columns.Pad(s.paint(word, overall), verdictColumn),
		columns.PadLeft(unit.Format(f.Row.Summary.Throughput.OutputTokensPerS, "tok/s"), figureColumn),
		columns.Pad(reason, reasonColumn),
		columns.Pad(findings, findingsColumn),
	}
	if n := sum.Requests.Failed; n > 0 {
		cells = append(cells, s.paint(unit.Count(n)+" failed", stats.Fail))
	}
	shown := []string{"", reason}
	for _, cell := range []string{latency(metric, of, "p50"), tail, latency("tpot", sum.TPOT, "p50"), latency("tpot", sum.TPOT, tailOf(f.Row, "tpot", sum.TPOT))} {
		if !slices.Contains(shown, cell) {
			cells, shown = append(cells, columns.Pad(cell, latencyColumn)), append(shown, cell)
		}
	}
	return cells
}

// tailOf is the percentile to show of a latency: the highest that the SLO limits, else the highest of p99, p95 and
// p90 that the row carries, else p50.
func tailOf(r *record.Row, metric string, of *stats.Summary) string {
	limits := limited(r, metric)
	for _, name := range slices.Backward(record.PercentileNames[1:]) {
		if limits[name] {
			return name
		}
	}
	for _, name := range []string{"p99", "p95", "p90"} {
		if p, ok := record.PercentilesOf(of).Get(name); ok && p.Grade != stats.NoBound {
			return name
		}
	}
	return "p50"
}

// paint colours a verdict; the word carries the meaning without colour.
func (s *Sweep) paint(word string, v stats.Verdict) string {
	code := map[stats.Verdict]string{stats.Pass: "32", stats.Fail: "31", stats.Undecided: "33"}[v]
	if !s.color || code == "" {
		return word
	}
	return "\x1b[" + code + "m" + word + "\x1b[0m"
}

// title is a point and its repeat in at most width columns. If it is too wide, "concurrency=4" becomes "c=4" and
// "prefix.state=cold" "state=cold"; then the name is cut: the point distinguishes rows.
func title(s *experiment.Spec, width int) string {
	repeat := ""
	if s.Repeats > 1 {
		repeat = fmt.Sprintf(" r%d", s.Repeat)
	}
	whole := safetext.Escape(s.Label()) + repeat
	if columns.Width(whole) <= width {
		return whole
	}
	name, point := safetext.Escape(s.Name), ""
	for _, a := range s.Point {
		key := a.Key[strings.LastIndexByte(a.Key, '.')+1:]
		if key == "concurrency" {
			key = "c"
		}
		point += " " + key + "=" + a.Value
	}
	point = safetext.Escape(point) + repeat
	const least = 6 // columns of a name that still tells rows apart
	if room := width - columns.Width(point); room >= min(least, columns.Width(name)) {
		return columns.Ellipsis(name, room) + point
	}
	return columns.Shorten(name+point, width)
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

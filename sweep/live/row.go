package live

import (
	"fmt"
	"strings"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/text"
	"bench/experiment/unit"
	"bench/experiment/verdict"
	"bench/sweep"
)

const (
	narrowestName = 17
	widestName    = 48
)

// finished is a row in one line below others: its name, and as much of its figures as fits the width.
func (s *Sweep) finished(f *sweep.Finished, width int) string {
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

// title is a point and its repeat in at most width columns. If it is too wide, "concurrency=4" becomes "c=4" and
// "prefix.state=cold" "state=cold"; then the name is cut: the point distinguishes rows.
func title(s *experiment.Spec, width int) string {
	repeat := ""
	if s.Repeats > 1 {
		repeat = fmt.Sprintf(" r%d", s.Repeat)
	}
	whole := text.Escape(s.Label()) + repeat
	if text.Width(whole) <= width {
		return whole
	}
	name, point := text.Escape(s.Name), ""
	for _, a := range s.Point {
		key := a.Key[strings.LastIndexByte(a.Key, '.')+1:]
		if key == "concurrency" {
			key = "c"
		}
		point += " " + key + "=" + a.Value
	}
	point = text.Escape(point) + repeat
	const least = 6 // columns of a name that still tells rows apart
	if room := width - text.Width(point); room >= min(least, text.Width(name)) {
		return text.Ellipsis(name, room) + point
	}
	return text.Shorten(name+point, width)
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

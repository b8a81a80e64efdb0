package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"bench/experiment/metric"
	"bench/experiment/stats"
	"bench/experiment/text"
	"bench/experiment/unit"
	"bench/report/compare"
)

// Forest is lines to draw, each with its 95 % interval. To the right is worse. Lines are in the order of reading: what
// the gate does not pass, worse, better, the others.
type Forest struct {
	Main  []ForestLine // the figures of the gate, and the most important ones
	Rest  []ForestLine
	Reach float64 // end of the axis on either side; what lies beyond is drawn as an arrow
}

type ForestLine struct {
	Point  string // with the class of a mix
	Figure string // TPOT p50
	Change Cell   // in the direction of the figure: "+5.1 %", "[+3.9, +6.3]"
	Mark   ForestMark

	At     float64        // the change; above 0 is worse
	Within stats.Interval // its ends, likewise; of a raw change unused
	Limit  float64        // threshold of the gate; 0: none

	Metric  *compare.Metric
	refused bool    // the sides are not comparable: all changes are raw
	rank    int     // in the order of reading
	chance  float64 // P, adjusted for the false discovery rate among all main figures; 1: not tested, or none of them
}

// headlineFigures are in the order in which a sentence names them, after those that an SLO limits.
var headlineFigures = []string{"output_tokens_per_s", "ttfo_p50", "ttft_p50", "tpot_p50", "e2e_p50",
	"ttfo_p99", "ttft_p99", "tpot_p99", "e2e_p99", metric.AnswersValid, metric.AnswersCorrect, "session_time_p50",
	metric.Interactivity, metric.ErrorRate}

// few is the number of lines up to which nothing is folded.
const few = 8

func NewForest(c *compare.Comparison) Forest {
	var all []ForestLine
	eachFigure(c, func(point string, m *compare.Metric, refused bool) {
		if l, ok := newForestLine(point, m); ok {
			l.refused = refused
			l.rank = l.rankOf(c.Gate != nil)
			all = append(all, l)
		}
	})
	slices.SortStableFunc(all, func(a, b ForestLine) int { return cmp.Compare(a.rank, b.rank) })
	n := len(all)
	if i := slices.IndexFunc(all, func(l ForestLine) bool { return l.rank >= beside }); i >= 0 && n > few {
		n = i
	}
	adjust(all, n)
	slices.SortStableFunc(all, func(a, b ForestLine) int { // what chance can explain stands behind what it cannot
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(max(a.chance, surprise), max(b.chance, surprise)),
			cmp.Compare(math.Abs(b.excess()), math.Abs(a.excess())))
	})
	return Forest{Main: all[:n:n], Rest: all[n:], Reach: reachOf(all[:n])}
}

// adjust sets the chance of the main figures. Of those without a threshold a gate's picture has only the worse ones:
// here all count.
func adjust(all []ForestLine, shown int) {
	var p []float64
	var main []int
	for i := range all {
		if l := &all[i]; l.Metric.P != nil && l.Mark != MarkRaw && (i < shown || l.chief()) {
			p, main = append(p, *l.Metric.P), append(main, i)
		}
	}
	for k, adjusted := range stats.FalseDiscovery(p) {
		all[main[k]].chance = adjusted
	}
}

func (f *Forest) Lines() []ForestLine { return slices.Concat(f.Main, f.Rest) }

func (f *Forest) Cut(most int) Forest {
	n := min(most, len(f.Main))
	return Forest{Main: f.Main[:n], Rest: slices.Concat(f.Main[n:], f.Rest), Reach: f.Reach}
}

// Deciding has the lines that decide: FAIL and UNDECIDED at the gate, worse, better. Without one it has those that
// lean, else the first few.
func (f *Forest) Deciding() Forest {
	for _, decides := range []func(*ForestLine) bool{(*ForestLine).decides, (*ForestLine).leans} {
		lines := slices.DeleteFunc(slices.Clone(f.Main), func(l ForestLine) bool { return !decides(&l) })
		if len(lines) > 0 {
			rest := slices.DeleteFunc(slices.Clone(f.Main), func(l ForestLine) bool { return decides(&l) })
			d := Forest{Main: lines, Rest: append(rest, f.Rest...)}
			d = d.Cut(mostLinesOf)
			d.Reach = reachOf(d.Main)
			return d
		}
	}
	return f.Cut(few)
}

func (l *ForestLine) decides() bool { return l.gated() || l.Mark == MarkWorse || l.Mark == MarkBetter }

func (l *ForestLine) gated() bool {
	return l.Metric.Gate == stats.Fail || l.Metric.Gate == stats.Undecided
}

func newForestLine(point string, m *compare.Metric) (l ForestLine, ok bool) {
	l = ForestLine{Point: point, Figure: metric.Words(m.Name), Change: changeCell(m), Metric: m, chance: 1}
	if m.Threshold != nil {
		l.Limit = m.Threshold.Worse
	}
	switch {
	case m.Neutral || m.Given:
		return l, false
	case m.Change != nil:
		if l.Mark = ForestMark(m.Verdict); l.Mark == MarkInconclusive && m.Gate == stats.Pass {
			l.Mark = MarkPass
		}
		lo, hi := compare.WorseBy(m.Name, m.CI95.Lo), compare.WorseBy(m.Name, m.CI95.Hi)
		l.At, l.Within = compare.WorseBy(m.Name, *m.Change), stats.Interval{Lo: min(lo, hi), Hi: max(lo, hi)}
	case m.RawChange != nil:
		l.Mark, l.At = MarkRaw, compare.WorseBy(m.Name, *m.RawChange)
	default:
		return l, false
	}
	return l, true
}

const beside = 10 // the first of the lines that are folded

func (l *ForestLine) rankOf(gated bool) int {
	switch {
	case l.Metric.Threshold == nil && (!l.chief() || gated && l.Mark != MarkWorse):
		return beside + slices.Index(ForestMarks, l.Mark)
	case l.Metric.Gate == stats.Fail:
		return 0
	case l.Metric.Gate == stats.Undecided:
		return 1
	case l.Mark == MarkWorse:
		return 2
	case l.Mark == MarkBetter:
		return 3
	}
	return 4 + slices.Index(ForestMarks, l.Mark)
}

func (l *ForestLine) chief() bool {
	m := l.Metric
	carried := m.BaseQuoted.Grade.Worst(m.NewQuoted.Grade) != stats.NoBound
	switch {
	case !m.Limited && !slices.Contains(headlineFigures, m.Name):
		return false
	case l.Mark == MarkRaw && !((l.refused || m.Limited) && carried):
		return false
	}
	return !metric.IsShare(m.Name) || l.At != 0
}

func (l *ForestLine) Tip() string {
	why := l.Metric.Why
	if l.Mark != MarkRaw {
		why = comparedCell(l.Metric, false).Text
	}
	base, changed := sideCells(l.Metric)
	return fmt.Sprintf("%s\n%s: %s → %s\n%s\n%s", l.Point, l.Figure, base.Text, changed.Text, l.Change.Full(), why)
}

// reachOf: a change many times as large as the others does not hide them.
func reachOf(lines []ForestLine) float64 {
	reach := 0.0
	var ends []float64
	for i := range lines {
		l := &lines[i]
		reach = max(reach, 1.5*l.Metric.Margin)
		end := math.Abs(l.At)
		if l.Mark == MarkWorse || l.Mark == MarkBetter || l.Mark == MarkNoChange {
			end = max(end, math.Abs(l.Within.Lo), math.Abs(l.Within.Hi))
		}
		if !math.IsInf(end, 0) {
			ends = append(ends, 1.1*end)
		}
	}
	if len(ends) > 0 {
		slices.Sort(ends)
		most := ends[(len(ends)-1)*9/10]
		reach = max(reach, min(ends[len(ends)-1], 3*most))
	}
	return niceReach(max(reach, 0.01))
}

// niceReach is the next of 1, 2, 3, 5, 10, … times a power of ten.
func niceReach(x float64) float64 {
	scale := math.Pow(10, math.Floor(math.Log10(x)))
	for _, step := range []float64{1, 2, 3, 5} {
		if x <= step*scale*(1+1e-9) {
			return step * scale
		}
	}
	return 10 * scale
}

// ForestMark is the shape of a mark: colour is never the only carrier of meaning.
type ForestMark string

const (
	MarkWorse        ForestMark = "worse"
	MarkBetter       ForestMark = "better"
	MarkNoChange     ForestMark = "no change"
	MarkPass         ForestMark = "not worse than the threshold" // PASS of the gate, else inconclusive
	MarkInconclusive ForestMark = "inconclusive"
	MarkRaw          ForestMark = "not tested" // no interval
)

var ForestMarks = []ForestMark{MarkWorse, MarkBetter, MarkNoChange, MarkPass, MarkInconclusive, MarkRaw}

func (m ForestMark) Text() string {
	return map[ForestMark]string{MarkWorse: "▶", MarkBetter: "◀", MarkNoChange: "●", MarkPass: "■",
		MarkInconclusive: "○", MarkRaw: "×"}[m]
}

func (m ForestMark) Kind() Kind {
	return map[ForestMark]Kind{MarkWorse: Failed, MarkBetter: Passed, MarkInconclusive: Undecided, MarkRaw: Faint}[m]
}

const (
	narrowestBar = 19
	widestBar    = 41
	widestLabel  = 48
	mostLinesOf  = 12 // of a forest
)

func (p *printer) forest(f *Forest) {
	lines := f.Main[:min(mostLinesOf, len(f.Main))]
	if len(lines) == 0 {
		return
	}
	label, numbers := 0, 0
	texts := make([]string, len(lines))
	for i := range lines {
		texts[i] = lines[i].Change.Full()
		if lines[i].gated() {
			texts[i] += " " + string(lines[i].Metric.Gate)
		}
		label, numbers = max(label, text.Width(lines[i].label())), max(numbers, text.Width(texts[i]))
	}
	label = min(label, widestLabel, max(narrowestName, p.width-numbers-narrowestBar-4))
	bar := min(widestBar, p.width-label-numbers-4)
	bar = max(narrowestBar, bar-(1-bar%2)) // zero is in its middle
	p.line("")
	reach := unit.Brief(100*f.Reach, 3) + " %"
	left, right, scale := reach+" better", reach+" worse", ""
	if text.Width(left) > bar/2-1 { // no room for the scale
		left, right, scale = "better", "worse", "   axis to "+reach
	}
	p.line(strings.Repeat(" ", label+2) + text.Pad(left, bar/2) + "0" + text.PadLeft(right, bar/2))
	for i := range lines {
		l := &lines[i]
		name := text.Pad(text.Shorten(l.label(), label), label)
		p.line(name + "  " + p.bar(l, f.Reach, bar) + "  " + p.paint(l.Mark.Kind(), texts[i]))
	}
	var marks []string
	for _, mark := range ForestMarks {
		if slices.ContainsFunc(lines, func(l ForestLine) bool { return l.Mark == mark }) {
			marks = append(marks, mark.Text()+" "+string(mark))
		}
	}
	if slices.ContainsFunc(lines, func(l ForestLine) bool { return l.Limit > 0 }) {
		marks = append(marks, "┆ threshold")
	}
	p.wrap("  ", strings.Join(append(marks, "├─┤ 95 % interval"), "   ")+scale)
}

func (l *ForestLine) label() string { return text.Escape(l.Point + " " + l.Figure) }

// bar draws a line between -reach and reach. An arrow leads to what lies beyond.
func (p *printer) bar(l *ForestLine, reach float64, width int) string {
	cells := slices.Repeat([]string{" "}, width)
	at := func(x float64) int {
		return max(0, min(width-1, int(math.Round((x/reach+1)/2*float64(width-1)))))
	}
	if l.Mark != MarkRaw {
		from, to := at(l.Within.Lo), at(l.Within.Hi)
		for i := from; i <= to; i++ {
			cells[i] = "─"
		}
		cells[from], cells[to] = "├", "┤"
		if l.Within.Lo < -reach {
			cells[from] = "←"
		}
		if l.Within.Hi > reach {
			cells[to] = "→"
		}
	}
	cells[width/2] = map[bool]string{true: "│", false: "┼"}[cells[width/2] == " "]
	if l.Limit > 0 && l.Limit <= reach {
		cells[at(l.Limit)] = "┆"
	}
	mark := at(l.At)
	switch {
	case l.At > reach:
		cells[width-1], mark = "→", width-2
	case l.At < -reach:
		cells[0], mark = "←", 1
	}
	cells[mark] = p.paint(l.Mark.Kind(), l.Mark.Text())
	return strings.Join(cells, "")
}

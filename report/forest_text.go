package report

import (
	"math"
	"slices"
	"strings"

	"bench/experiment/stats"
	"bench/experiment/text"
	"bench/experiment/unit"
)

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
		texts[i] = lines[i].Change
		if g := lines[i].Metric.Gate; g == stats.Fail || g == stats.Undecided {
			texts[i] += " " + string(g)
		}
		label, numbers = max(label, text.Width(lines[i].label())), max(numbers, text.Width(texts[i]))
	}
	label = min(label, widestLabel, max(narrowestName, p.width-numbers-narrowestBar-4))
	bar := min(widestBar, p.width-label-numbers-4)
	bar -= 1 - bar%2 // zero is in its middle
	if bar < narrowestBar {
		bar = narrowestBar
	}
	p.line("")
	axis, scaled := axisText(f.Reach, bar)
	p.line(strings.Repeat(" ", label+2) + axis)
	for i := range lines {
		l := &lines[i]
		name := text.Pad(text.Shorten(l.label(), label), label)
		p.line(name + "  " + p.bar(l, f.Reach, bar) + "  " + p.paint(l.Mark.Kind(), texts[i]))
	}
	marks := marksText(lines)
	if !scaled {
		marks += "   axis to " + reachText(f.Reach)
	}
	p.wrap("  ", marks)
}

func (l *ForestLine) label() string { return text.Escape(l.Point + " " + l.Figure) }

func reachText(reach float64) string { return unit.Brief(100*reach, 3) + " %" }

// axisText names the ends and the middle of the axis; scaled is false if there is no room for its scale.
func axisText(reach float64, width int) (axis string, scaled bool) {
	left, right, scaled := reachText(reach)+" better", reachText(reach)+" worse", true
	if text.Width(left) > width/2-1 {
		left, right, scaled = "better", "worse", false
	}
	return text.Pad(left, width/2) + "0" + text.PadLeft(right, width/2), scaled
}

func marksText(lines []ForestLine) string {
	var parts []string
	for _, mark := range ForestMarks {
		if slices.ContainsFunc(lines, func(l ForestLine) bool { return l.Mark == mark }) {
			parts = append(parts, mark.Text()+" "+string(mark))
		}
	}
	if slices.ContainsFunc(lines, func(l ForestLine) bool { return l.Limit > 0 }) {
		parts = append(parts, "┆ threshold")
	}
	return strings.Join(append(parts, "├─┤ 95 % interval"), "   ")
}

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

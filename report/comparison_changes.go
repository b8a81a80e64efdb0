package report

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"bench/experiment/unit"
	"bench/report/compare"
)

// changes are the main figures, the largest change first.
type changes struct {
	worse, better []ForestLine // that chance among all main figures does not explain
	other         []ForestLine // tested
	raw           []ForestLine // not tested
}

// findings sorts the lines. A sentence calls a figure worse or better only if it differs among all main figures: of
// forty that are tested alone two differ by chance.
func (f *Forest) findings() (found changes) {
	for i, l := range f.Lines() {
		named := l.chance <= surprise || l.Metric.Threshold != nil // gated ones are adjusted already
		switch {
		case l.Mark == MarkRaw:
			found.raw = append(found.raw, l)
		case i >= len(f.Main) && len(f.Main) > 0 && !l.chief():
		case named && l.Mark == MarkWorse:
			found.worse = append(found.worse, l)
		case named && l.Mark == MarkBetter:
			found.better = append(found.better, l)
		default:
			found.other = append(found.other, l)
		}
	}
	for _, lines := range [][]ForestLine{found.worse, found.better, found.other, found.raw} {
		slices.SortStableFunc(lines, func(a, b ForestLine) int {
			return cmp.Compare(math.Abs(b.excess()), math.Abs(a.excess()))
		})
	}
	return found
}

const surprise = 0.05

// answer leads with the largest change, and with its lean if no figure differs.
func (x *changes) answer(c *compare.Comparison) ComparisonAnswer {
	switch {
	case len(x.worse)+len(x.better) > 0:
		return x.differ(c)
	case len(x.other) == 0:
		l := &x.raw[0]
		return ComparisonAnswer{Lead: "Not tested:", Kind: Undecided,
			Text: l.Figure + " " + l.values() + ", " + PointWords(l.Point) + ": " + l.Metric.Why}
	}
	open := func(l ForestLine) bool { return l.Mark != MarkNoChange }
	first := slices.IndexFunc(x.other, func(l ForestLine) bool { return open(l) && l.leans() })
	if first < 0 {
		first = slices.IndexFunc(x.other, open)
	}
	if first < 0 {
		l := &x.other[0]
		return ComparisonAnswer{Lead: "No change:",
			Text: "the largest is " + l.Figure + " " + l.values() + ", " + PointWords(l.Point)}
	}
	l := &x.other[first]
	decides := deciders(l.Metric)
	if l.Mark != MarkInconclusive { // alone it differs
		decides = "one of " + unit.Plural(len(x.other), "main figure") + " can differ so by chance"
	}
	return ComparisonAnswer{Lead: l.Figure, Kind: Undecided,
		Text: clauses(l.values()+", "+l.leanText()+", "+PointWords(l.Point), firstText(changedBeside(c)), decides)}
}

func (x *changes) differ(c *compare.Comparison) ComparisonAnswer {
	lines, other, kind := x.worse, x.better, Failed
	if len(lines) == 0 || len(other) > 0 && -other[0].excess() > lines[0].excess() {
		lines, other, kind = other, lines, Passed
	}
	also := ""
	if len(other) > 0 {
		o := &other[0]
		also, kind = o.Figure+" "+o.Change+", "+o.Verdict()+", "+pointsOf(other), Undecided
	}
	l := &lines[0]
	return ComparisonAnswer{Lead: l.Figure, Kind: kind,
		Text: clauses(l.values()+", "+l.Verdict()+", "+pointsOf(lines), also, firstText(changedBeside(c)))}
}

// pointsOf names the point of the first line, and counts the others of its figure.
func pointsOf(lines []ForestLine) string {
	var names []string
	for _, l := range lines {
		if l.Figure == lines[0].Figure {
			names = append(names, PointWords(l.Point))
		}
	}
	return andMorePoints(names)
}

// clauses joins the parts of a sentence that are not empty.
func clauses(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "; ")
}

func firstText(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return texts[0]
}

// rawText names the largest change of figures that are not comparable.
func (x *changes) rawText() string {
	i := slices.IndexFunc(x.raw, func(l ForestLine) bool { return l.chief() })
	if i < 0 {
		return ""
	}
	return "raw: " + x.raw[i].Figure + " " + x.raw[i].Change + ", " + PointWords(x.raw[i].Point)
}

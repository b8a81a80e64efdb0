package report

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"bench/experiment/metric"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/experiment/verdict"
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
		Text: clauses(l.values()+", "+l.leanText()+", "+PointWords(l.Point), cmp.Or(changedBeside(c)...), decides)}
}

func (x *changes) differ(c *compare.Comparison) ComparisonAnswer {
	lines, other, kind := x.worse, x.better, Failed
	if len(lines) == 0 || len(other) > 0 && -other[0].excess() > lines[0].excess() {
		lines, other, kind = other, lines, Passed
	}
	also := ""
	if len(other) > 0 {
		o := &other[0]
		also, kind = o.Figure+" "+o.Change.Full()+verdictAndPoints(other), Undecided
	}
	l := &lines[0]
	return ComparisonAnswer{Lead: l.Figure, Kind: kind,
		Text: clauses(l.values()+verdictAndPoints(lines), also, cmp.Or(changedBeside(c)...))}
}

// verdictAndPoints are of the first line: they name its point, and count the others of its figure.
func verdictAndPoints(lines []ForestLine) string {
	var names []string
	for _, l := range lines {
		if l.Figure == lines[0].Figure {
			names = append(names, PointWords(l.Point))
		}
	}
	return ", " + lines[0].Verdict() + ", " + andMorePoints(names)
}

// clauses joins the parts of a sentence that are not empty.
func clauses(parts ...string) string { return joined("; ", parts...) }

func joined(by string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), by)
}

// rawText names the largest change of figures that are not comparable.
func (x *changes) rawText() string {
	i := slices.IndexFunc(x.raw, func(l ForestLine) bool { return l.chief() })
	if i < 0 {
		return ""
	}
	return "raw: " + x.raw[i].Figure + " " + x.raw[i].Change.Full() + ", " + PointWords(x.raw[i].Point)
}

// excess is the change over the gate's threshold, else over the smallest change that matters; below 0: better.
func (l *ForestLine) excess() float64 { return l.At / cmp.Or(l.Limit, l.Metric.Margin, 1) }

// lean is the probability that the figure is worse, or better, as it seems: one-sided.
func (l *ForestLine) lean() float64 {
	if l.At == 0 {
		return 0
	}
	return 1 - l.chance/2
}

func (l *ForestLine) leans() bool { return l.lean() >= verdict.Leaning }

func (l *ForestLine) leanText() string {
	if !l.leans() {
		return "no lean"
	}
	to := map[bool]string{true: "worse", false: "better"}[l.At > 0]
	return "likely " + to + " (" + verdict.Probability(l.lean()) + ")"
}

// Verdict is "worse", "no change", or the lean of what is inconclusive: "likely worse (p = 0.97)".
func (l *ForestLine) Verdict() string {
	if l.Mark == MarkInconclusive {
		return l.leanText()
	}
	return string(l.Mark)
}

// values is "10.0 → 10.8 ms, +8.0 % [-0.2, +16.8]".
func (l *ForestLine) values() string {
	base, changed := Quantity(*l.Metric.Base, l.Metric.Unit), Quantity(*l.Metric.New, l.Metric.Unit)
	if number, of, _ := strings.Cut(base, " "); strings.HasSuffix(changed, " "+of) {
		base = number
	}
	return base + " → " + changed + ", " + l.Change.Full()
}

// deciders is "3 runs a side decide", or why more runs decide nothing; empty: it is decided.
func deciders(m *compare.Metric) string {
	if n := needed(m); n > 0 {
		return m.Needed(n, " a side") + " decide"
	}
	if m.Verdict == compare.Inconclusive {
		return m.Why
	}
	return ""
}

var axes = regexp.MustCompile(`^(.+?)((?: [a-z0-9_.]+=\S+)+)( \(class .+\))?$`)

// PointWords is "chat at concurrency 4" for "chat concurrency=4".
func PointWords(name string) string {
	m := axes.FindStringSubmatch(name)
	if m == nil {
		return name
	}
	values := strings.Fields(m[2])
	for i, v := range values {
		values[i] = strings.Replace(v, "=", " ", 1)
	}
	return m[1] + " at " + strings.Join(values, ", ") + m[3]
}

// sinceText is the first night with the case; of a new regression that of the new run.
func sinceText(c *compare.Comparison, x compare.Case) string {
	at := x.SinceAt
	switch n := len(c.NewRuns); {
	case at.IsZero() && x.Since != "":
		return " since " + x.Since
	case at.IsZero() && x.Verdict == stats.Fail && n > 0:
		at = c.NewRuns[n-1].StartedAt
	}
	if at.IsZero() {
		return ""
	}
	return " since " + at.UTC().Format("2 Jan")
}

// changeCell is "+5.1 % [+3.9, +6.3]"; of a figure that was not tested the raw change, with "~" if n is too small.
func changeCell(m *compare.Metric) Cell {
	switch {
	case m.Change != nil:
		return Cell{Text: signed(m, *m.Change), Within: withinText(m.CI95)}
	case m.RawChange != nil:
		return TextCell(rawMark(m) + signed(m, *m.RawChange))
	}
	return TextCell("–")
}

// signed is a change with its sign and unit: "+5.1 %"; of a share "+0.5 points".
func signed(m *compare.Metric, change float64) string {
	return percentDigits(change) + map[bool]string{true: " points", false: " %"}[metric.IsShare(m.Name)]
}

func withinText(x stats.Interval) string {
	return "[" + percentDigits(x.Lo) + ", " + percentDigits(x.Hi) + "]"
}

func percentDigits(share float64) string {
	x := 100 * share
	if math.IsInf(x, 0) {
		return "–"
	}
	decimals := 1
	switch size := math.Abs(x); {
	case size >= 99.95:
		decimals = 0
	case size < 0.995:
		decimals = 2
	}
	text := strconv.FormatFloat(x, 'f', decimals, 64)
	switch {
	case strings.Trim(text, "-0.") == "":
		return "0"
	case x > 0:
		return "+" + text
	}
	return text
}

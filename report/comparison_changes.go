package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"bench/experiment"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/report/compare"
)

type changes struct {
	worse, better []ForestLine // that chance among all main figures does not explain
	counts        map[ForestMark]int
	tested        int                     // all but the raw ones
	kinds         map[ForestMark][]string // metrics of the lines of a mark, without their statistics
	need          string                  // what the first inconclusive main figure needs; empty: unknown
}

// findings sorts the lines. A sentence names a figure only if it differs among all main figures: of forty
// that are tested alone two differ by chance. Those of a gate's picture are all of them, not the worse ones.
func (f *Forest) findings() changes {
	found := changes{counts: map[ForestMark]int{}, kinds: map[ForestMark][]string{}}
	var p []float64
	var main []ForestLine
	for _, l := range f.Lines() {
		found.counts[l.Mark]++
		if kind := metricWords(l.Metric.Name); !slices.Contains(found.kinds[l.Mark], kind) {
			found.kinds[l.Mark] = append(found.kinds[l.Mark], kind)
		}
		if l.Mark != MarkRaw {
			found.tested++
		}
	}
	for i, l := range f.Lines() {
		if i >= len(f.Main) && !l.chief() {
			continue
		}
		if l.Metric.P != nil {
			p, main = append(p, *l.Metric.P), append(main, l)
		}
		if l.Mark == MarkInconclusive && found.need == "" && needed(l.Metric) > 0 {
			found.need = decidingText(l.Metric)
		}
	}
	for i, adjusted := range stats.FalseDiscovery(p) {
		gated := main[i].Metric.Threshold != nil // they are adjusted already
		switch l := main[i]; {
		case adjusted > surprise && !gated:
		case l.Mark == MarkWorse:
			found.worse = append(found.worse, l)
		case l.Mark == MarkBetter:
			found.better = append(found.better, l)
		}
	}
	return found
}

const surprise = 0.05

// sentence has the words better and worse only if they are said nowhere else.
func (x *changes) sentence(worded bool, facts ...string) string {
	var parts []string
	add := func(what string, lines []ForestLine) {
		text := quoteLines(lines, 2)
		if worded {
			text = what + ": " + text
		}
		if len(lines) > 0 {
			parts = append(parts, text)
		}
	}
	add("better", x.better)
	add("worse", x.worse)
	return strings.Join(append(append(parts, facts...), x.countsText()), "; ")
}

// countsText is "of 34 figures 2 better (TPOT), 8 no change, 24 inconclusive; 6 not tested".
func (x *changes) countsText() string {
	var parts []string
	named := len(x.worse)+len(x.better) > 0
	for _, mark := range ForestMarks {
		n := x.counts[mark]
		if n == 0 || mark == MarkRaw {
			continue
		}
		text := unit.Count(n) + " " + string(mark)
		switch {
		case mark == MarkWorse || mark == MarkBetter:
			if !named {
				text += " if tested alone"
			}
			text += " (" + unit.Some(x.kinds[mark]) + ")"
		case mark == MarkInconclusive && !named && x.need != "":
			text += " (" + x.need + ")"
		}
		parts = append(parts, text)
	}
	text := fmt.Sprintf("of %s %s", unit.Plural(x.tested, "figure"), strings.Join(parts, ", "))
	if x.tested == 0 {
		text = "no figure was tested"
	}
	if n := x.counts[MarkRaw]; n > 0 {
		text += fmt.Sprintf("; %s not tested", unit.Count(n))
	}
	return text
}

// decidingText is what would decide a figure: "TPOT p50: 7 runs per side would show 5 %".
func decidingText(m *compare.Metric) string {
	shown := marginText(m)
	if m.NeedForChange > 0 {
		shown = signed(m, *m.Change)
	}
	return fmt.Sprintf("%s: %s would show %s", FigureWords(m.Name), m.Needed(needed(m)), shown)
}

// quoteLines names the largest change of the most important kinds, those that the SLO limits first.
func quoteLines(lines []ForestLine, most int) string {
	byKind := map[string][]ForestLine{}
	for _, l := range lines {
		k := kindOf(l.Metric.Name)
		byKind[k] = append(byKind[k], l)
	}
	var parts []string
	kinds := []string{"answers", "throughput", "ttfo", "ttft", "tpot", "e2e", "session", experiment.ErrorRate, ""}
	slices.SortStableFunc(kinds, func(a, b string) int {
		return -cmp.Compare(limitedLines(byKind[a]), limitedLines(byKind[b]))
	})
	for _, k := range kinds {
		if len(byKind[k]) > 0 && len(parts) < most {
			parts = append(parts, quoteKind(byKind[k]))
		}
	}
	return strings.Join(parts, ", ")
}

func limitedLines(lines []ForestLine) int {
	if slices.ContainsFunc(lines, func(l ForestLine) bool { return l.Metric.Limited }) {
		return 1
	}
	return 0
}

func (f *Forest) rawText() string {
	if len(f.Main) == 0 {
		return ""
	}
	return "; raw: " + quoteLines(f.Main, 3)
}

func kindOf(name string) string {
	metric, _, _ := strings.Cut(name, "_")
	switch {
	case slices.Contains(experiment.Throughputs, name):
		return "throughput"
	case name == experiment.ErrorRate:
		return name
	case name == experiment.Interactivity:
		return "session"
	case slices.Contains([]string{"ttfo", "ttft", "tpot", "e2e", "answers", "session"}, metric):
		return metric
	}
	return ""
}

// quoteKind is "+8.8 % output tok/s [+2.1, +15.4] at D concurrency=8 (3 points)": the most important figure.
func quoteKind(lines []ForestLine) string {
	best := slices.MinFunc(lines, func(a, b ForestLine) int {
		return cmp.Or(cmp.Compare(headlineRank(a), headlineRank(b)),
			cmp.Compare(math.Abs(b.At), math.Abs(a.At)))
	})
	same := 0
	for _, l := range lines {
		if l.Metric.Name == best.Metric.Name {
			same++
		}
	}
	change, within, _ := strings.Cut(best.Change, " [")
	if within != "" {
		within = " [" + within
	}
	text := fmt.Sprintf("%s %s%s at %s", change, best.Figure, within, best.Point)
	if same > 1 {
		text += fmt.Sprintf(" (%s)", unit.Plural(same, "point"))
	}
	return text
}

// headlineRank orders the figures of a kind: latencies that the SLO limits come first, at the percentile of the limit.
func headlineRank(l ForestLine) int {
	if l.Metric.Limited && !slices.Contains(experiment.Throughputs, l.Metric.Name) {
		return -1
	}
	if i := slices.Index(headlineFigures, l.Metric.Name); i >= 0 {
		return i
	}
	return len(headlineFigures)
}

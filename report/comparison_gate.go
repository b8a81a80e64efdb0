package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"bench/experiment"
	"bench/experiment/diagnosis"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/report/compare"
)

func newBaseAnswer(c *compare.Comparison) ComparisonAnswer {
	text := c.NewBase.String()
	if c.Gate != nil {
		return ComparisonAnswer{Lead: string(c.Gate.Verdict), Text: text,
			Kind: verdictCell(c.Gate.Verdict, 0).Kind}
	}
	_, text, _ = strings.Cut(text, ": ")
	return ComparisonAnswer{Lead: "New base", Text: text}
}

func gateAnswer(c *compare.Comparison, f *Forest) ComparisonAnswer {
	g := c.Gate
	a := ComparisonAnswer{Lead: string(g.Verdict), Kind: verdictCell(g.Verdict, 0).Kind}
	switch {
	case g.Passes && g.Verdict == stats.Fail: // known since an earlier run
		a.Lead, a.Kind = "Known regression, passes", Undecided
	case g.Passes && g.Verdict == stats.Undecided:
		a.Lead += ", passes"
	}
	var cases []compare.Case
	for _, x := range g.Cases {
		if x.Verdict == g.Verdict {
			cases = append(cases, x)
		}
	}
	if g.Verdict == stats.Pass {
		a.Text = fmt.Sprintf("none of %s is worse by more than its threshold",
			unit.Plural(len(cases), "figure"))
		return a
	}
	if len(cases) == 0 {
		a.Text = "no figure was compared"
		return a
	}
	first := slices.MinFunc(cases, func(x, y compare.Case) int {
		return cmp.Compare(f.excess(y),
			f.excess(x))
	})
	a.Text = f.caseText(first)
	if n := len(cases) - 1; n > 0 {
		a.Text += fmt.Sprintf("; %s more %s", unit.Count(n), g.Verdict)
	}
	return a
}

func Counts(c *compare.Comparison, f *Forest) []diagnosis.Fact {
	var names []string
	counts := map[string]int{}
	switch {
	case c.Gate != nil:
		names = []string{string(stats.Fail), string(stats.Undecided), string(stats.Pass)}
		for _, x := range c.Gate.Cases {
			counts[string(x.Verdict)]++
		}
	case !c.Refused:
		for _, mark := range ForestMarks {
			names = append(names, mark.Words())
		}
		for _, l := range f.Lines() {
			counts[l.Mark.Words()]++
		}
	}
	var out []diagnosis.Fact
	for _, name := range names {
		if counts[name] > 0 {
			out = append(out, diagnosis.Fact{Name: name, Value: unit.Count(counts[name])})
		}
	}
	return out
}

func (f *Forest) lineOf(x compare.Case) *ForestLine {
	i := slices.IndexFunc(f.Main, func(l ForestLine) bool {
		return l.Point == x.Where() &&
			l.Metric.Name == x.Metric
	})
	if i < 0 {
		return nil
	}
	return &f.Main[i]
}

func (f *Forest) excess(x compare.Case) float64 {
	if l := f.lineOf(x); l != nil && l.Limit > 0 {
		return l.At / l.Limit
	}
	return math.Inf(-1)
}

// caseText is a case in words: "tpot_p50 at A concurrency=4 is +5.1 % [+3.9, +6.3], more than +3 %".
func (f *Forest) caseText(x compare.Case) string {
	where := cmp.Or(x.Metric, "all figures")
	if w := x.Where(); w != "" {
		where += " at " + w
	}
	l := f.lineOf(x)
	if l == nil || l.Metric.Change == nil {
		return where + ": " + x.Reason()
	}
	text := where + " is " + l.Change
	_, other, _ := strings.Cut(x.Why, l.Metric.Describe()) // a reason beside the figure
	switch n := needed(l.Metric); {
	case x.Verdict == stats.Fail && x.Since != "":
		return text + ", more than " + limitText(l.Metric) + ", known since " + x.Since
	case x.Verdict == stats.Fail:
		return text + ", more than " + limitText(l.Metric)
	case x.Suspected:
		return text + ", more than " + limitText(l.Metric) + " only with invalid rows"
	case other != "":
		return text + other
	case n > 0:
		return text + ", needs " + l.Metric.Needed(n)
	}
	return text + ": " + l.Metric.Why
}

func limitText(m *compare.Metric) string {
	limit := m.Threshold.Worse
	if experiment.MoreIsBetter(m.Name) {
		limit = -limit
	}
	unitText := " %"
	if experiment.IsShare(m.Name) {
		unitText = " points"
	}
	return strings.Replace("+"+unit.Brief(100*limit, 4)+unitText, "+-", "-", 1)
}

package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"bench/experiment/metric"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/report/compare"
)

func newBaseAnswer(c *compare.Comparison) ComparisonAnswer {
	text := c.NewBase.String()
	if c.Gate != nil {
		return ComparisonAnswer{Lead: string(c.Gate.Verdict) + ":", Text: text,
			Kind: verdictCell(c.Gate.Verdict, 0).Kind}
	}
	_, text, _ = strings.Cut(text, ": ")
	return ComparisonAnswer{Lead: "New base:", Text: text}
}

func gateAnswer(c *compare.Comparison, f *Forest) ComparisonAnswer {
	g := c.Gate
	a := ComparisonAnswer{Lead: string(g.Verdict) + ":", Kind: verdictCell(g.Verdict, 0).Kind}
	switch {
	case g.Passes && g.Verdict == stats.Fail: // known since an earlier run
		a.Lead, a.Kind = "Known regression, passes:", Undecided
	case g.Passes && g.Verdict == stats.Undecided:
		a.Lead = string(g.Verdict) + ", passes:"
	}
	cases := slices.DeleteFunc(slices.Clone(g.Cases), func(x compare.Case) bool { return x.Verdict != g.Verdict })
	if len(cases) == 0 {
		a.Text = "no figure was compared"
		return a
	}
	first := slices.MinFunc(cases, func(x, y compare.Case) int { return cmp.Compare(f.excessOf(y), f.excessOf(x)) })
	more := ""
	if n := len(cases) - 1; n > 0 {
		more = unit.Count(n) + " more " + string(g.Verdict)
	}
	a.Text = clauses(f.CaseText(c, first), more)
	if g.Verdict == stats.Pass {
		a.Text = fmt.Sprintf("none of %s is worse by more than its threshold", unit.Plural(len(cases), "figure"))
		if l := f.lineOf(first); l != nil {
			a.Text += "; the largest is " + l.Figure + " " + l.Change + ", " + PointWords(l.Point)
		}
	}
	return a
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

// excessOf puts a share that did not change behind every figure that did, also for the better.
func (f *Forest) excessOf(x compare.Case) float64 {
	if l := f.lineOf(x); l != nil && (l.At != 0 || !metric.IsShare(x.Metric)) {
		return l.excess()
	}
	return math.Inf(-1)
}

// CaseText is a case of the gate in one sentence: "TPOT p50 +8.0 % [+6.1, +9.9] since 14 Nov, chat at concurrency 4;
// vLLM 0.20.1 → 0.21.0".
func (f *Forest) CaseText(c *compare.Comparison, x compare.Case) string {
	figure, at := "all figures", ""
	if x.Metric != "" {
		figure = metric.Words(x.Metric)
	}
	if where := x.Where(); where != "" {
		at = ", " + PointWords(where)
	}
	l := f.lineOf(x)
	if l == nil || l.Metric.Change == nil {
		return figure + at + ": " + x.Reason()
	}
	text := figure + " " + l.Change + sinceText(c, x)
	_, other, _ := strings.Cut(x.Why, l.Metric.Describe()) // a reason beside the figure
	if a := x.Alarm; a != nil {
		text = fmt.Sprintf("%s %s for %s", figure, signed(l.Metric, a.Size), unit.Plural(a.Nights, "night"))
		if a.PerNight != 0 {
			text = fmt.Sprintf("%s drifts %s a night, %s", figure, signed(l.Metric, a.PerNight),
				signed(l.Metric, a.Size))
		}
		text += sinceText(c, x)
	}
	switch {
	case x.Verdict == stats.Fail:
		return clauses(text+at, cmp.Or(changedThen(c, x)...))
	case len(x.Invalid) > 0:
		return PointWords(x.Where()) + ": every row is invalid (" + strings.Join(x.Invalid, ", ") + ")"
	case x.Suspected:
		return text + at + ", more than its threshold only with invalid rows"
	case l.Mark == MarkInconclusive:
		text += ", " + l.leanText()
	}
	return clauses(text+at+other, deciders(l.Metric))
}

// heldText names the figures that are better by more than their threshold; empty: none.
func heldText(c *compare.Comparison) string {
	var all []string
	for _, x := range c.Gate.Cases {
		if x.Better() {
			all = append(all, fmt.Sprintf("%s %s, %s", metric.Words(x.Metric), compare.Percent(*x.Change, true),
				PointWords(x.Where())))
		}
	}
	if len(all) == 0 {
		return ""
	}
	return "better by more than its threshold, so no base for later nights until bench compare RUN --accept: " +
		firstThree(all, "; ")
}

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

type ComparisonAnswer struct {
	Lead  string   // "FAIL:", or the figure: "TPOT p50"
	Text  string   // the change, since when, where, and what else changed
	Kind  Kind     // its colour
	Notes []string // what was not compared, and what can change the answer
}

// Sentence is the answer wherever one line has room: a title, a test case, the page of trends.
func (a ComparisonAnswer) Sentence() string { return a.Lead + " " + a.Text }

func AnswerComparison(c *compare.Comparison) ComparisonAnswer {
	f := NewForest(c)
	found := f.findings()
	var a ComparisonAnswer
	switch {
	case c.NewBase != nil && c.Gate != nil:
		v := c.Gate.Verdict
		a = ComparisonAnswer{Lead: string(v) + ":", Text: "new base: " + c.NewBase.Reason(), Kind: verdictKind(v)}
	case c.NewBase != nil:
		a = ComparisonAnswer{Lead: "New base:", Text: c.NewBase.Reason()}
	case c.NoBase != "":
		a = ComparisonAnswer{Lead: "Not compared:", Text: c.NoBase, Kind: Undecided}
	case c.Gate != nil:
		a = gateAnswer(c, &f)
	case c.Refused:
		a = ComparisonAnswer{Lead: "Not compared:", Kind: Undecided,
			Text: clauses(knobsText(compare.Refusing(c.Differences)), found.rawText())}
	case len(found.worse)+len(found.better) == 0 && c.ComparedSearch() >= 0:
		// The first that both sides answer: of two searches no load need be common, and a common one has few requests.
		s := &c.Searches[c.ComparedSearch()]
		a = ComparisonAnswer{Lead: searchGoal(s.Goal, s.Axis), Text: searchChange(s) + ", " + s.Point,
			Kind: ForestMark(s.Verdict).Kind()}
	case allRefused(c):
		a = ComparisonAnswer{Lead: "Not compared:", Text: clauses(pointsKnobs(c), found.rawText()), Kind: Undecided}
	case len(f.Lines()) == 0:
		a = ComparisonAnswer{Lead: "Nothing compared:", Text: "no figure is on both sides", Kind: Undecided}
	default:
		a = found.answer(c)
	}
	note := func(label, text string) {
		if text != "" {
			a.Notes = append(a.Notes, label+text)
		}
	}
	for _, cause := range c.Causes {
		note("why: ", cause)
	}
	a.Notes = append(a.Notes, searchesNotes(c, a.Text)...)
	a.Text = clauses(append([]string{a.Text}, sloChanges(c)...)...)
	a.Notes = append(a.Notes, notCompared(c)...)
	said := func(fact string) bool { return strings.Contains(a.Text, fact) }
	note("also differs: ", unit.Some(slices.DeleteFunc(changedBeside(c), said)))
	if c.Gate != nil {
		a.Notes = append(a.Notes, detectableNotes(c)...)
		if len(c.BaseRuns) > 0 {
			note("better by more than its threshold, so no base for later nights until bench compare RUN --accept: ",
				heldText(c))
		}
	}
	note("cautions: ", cautionsText(c))
	note("request records are missing, the spread within a repeat is estimated: ", andMore(c.WithoutRecords))
	note("changed after the run, or unreadable: ", alteredText(c.Altered))
	if c.BaseGPUSeconds != nil && c.NewGPUSeconds != nil {
		note("GPU-seconds to the answer: ", fmt.Sprintf("base %s, new %s", unit.Digits(*c.BaseGPUSeconds),
			unit.Digits(*c.NewGPUSeconds)))
	}
	return a
}

// knobsText names what keeps the sides from being compared: "hardware h100-sxm → h200-sxm".
func knobsText(ds []compare.Difference) string {
	return strings.Join(slices.Compact(factTexts(ds, "server")), ", ")
}

func allRefused(c *compare.Comparison) bool {
	return len(c.Points) > 0 && !slices.ContainsFunc(c.Points, func(p compare.Point) bool { return !p.Refused })
}

func pointsKnobs(c *compare.Comparison) string {
	why := compare.Refusing(c.Points[0].Differences)
	text := knobsText(why[:1]) + others(" and ", len(why), "more difference")
	if n := len(c.Points); n > 1 {
		text += " at " + c.Points[0].Name + others(" and ", n, "more point")
	}
	return text
}

func notCompared(c *compare.Comparison) (out []string) {
	var other []string
	var why []compare.Difference
	for i := range c.Points {
		if p := &c.Points[i]; p.Refused && !allRefused(c) {
			other, why = append(other, p.Name), append(why, compare.Refusing(p.Differences)...)
		}
	}
	if len(other) > 0 {
		out = append(out, "not compared: "+andMorePoints(other)+": "+knobsText(why[:1]))
	}
	if n := len(c.Missing); n > 0 {
		text := "only in base: " + andMorePoints(c.Missing)
		if why := c.Unmeasured[c.Missing[0]]; why != "" && n == 1 {
			text += " (" + why + ")"
		}
		out = append(out, text)
	}
	if len(c.Added) > 0 {
		out = append(out, "only in new: "+andMorePoints(c.Added))
	}
	if n := len(c.LeftOut); n > 0 {
		out = append(out, "left out of base: "+c.LeftOut[0].Run+": "+c.LeftOut[0].Why+others("; and ", n, "more run"))
	}
	return out
}

func andMorePoints(names []string) string {
	return names[0] + others(" and ", len(names), "more point")
}

// cautionsOf are the codes of cautions in order, with the point of each row that has them.
func cautionsOf(c *compare.Comparison) (codes []string, points map[string][]string, rows int) {
	points = map[string][]string{}
	for _, p := range c.Points {
		rows += max(p.BaseRepeats+p.NewRepeats, len(p.Cautions))
		for _, x := range p.Cautions {
			for _, code := range x.Codes {
				if points[code] == nil {
					codes = append(codes, code)
				}
				points[code] = append(points[code], p.Name)
			}
		}
	}
	return codes, points, rows
}

// cautionsText is "client_bound in all 8 rows; unsteady in 2 of 8 rows (open and 1 more point)".
func cautionsText(c *compare.Comparison) string {
	var parts []string
	codes, points, rows := cautionsOf(c)
	for _, code := range codes {
		where := "all " + unit.Plural(rows, "row")
		if n := len(points[code]); n < rows {
			at := andMorePoints(slices.Compact(points[code]))
			where = fmt.Sprintf("%d of %s (%s)", n, unit.Plural(rows, "row"), at)
		}
		parts = append(parts, code+" in "+where)
	}
	return firstThree(parts)
}

// sloChanges are facts of the runs: near a limit two equal runs can differ so.
func sloChanges(c *compare.Comparison) (out []string) {
	for _, x := range []struct {
		base, changed stats.Verdict
		proof         compare.Verdict // of a figure that the SLO limits
	}{{stats.Pass, stats.Fail, compare.Worse}, {stats.Fail, stats.Pass, compare.Better}} {
		var names []string
		proven := false
		for _, p := range c.Points {
			if p.Refused || p.BaseSLO != x.base || p.NewSLO != x.changed {
				continue
			}
			names = append(names, p.Name)
			p.Each(func(_ string, m *compare.Metric) { proven = proven || m.Limited && m.Verdict == x.proof })
		}
		if len(names) == 0 {
			continue
		}
		text := "SLO " + string(x.base) + " → " + string(x.changed) + " at " + andMorePoints(names)
		if !proven {
			text += " (no limited figure is proven " + string(x.proof) + ")"
		}
		out = append(out, text)
	}
	return out
}

// detectableNotes say which changes a gate detects: of a new base all, else only which thresholds are below the noise.
func detectableNotes(c *compare.Comparison) (notes []string) {
	all := c.Detectables()
	if c.NewBase != nil {
		all = c.NewBase.Detectable
	}
	if len(all) == 0 || c.Gate == nil {
		return nil
	}
	excess := func(s compare.Detectable) float64 { return s.Smallest / s.Threshold.Worse }
	blind := slices.DeleteFunc(slices.Clone(all), func(s compare.Detectable) bool { return excess(s) <= 1 })
	slices.SortStableFunc(blind, func(a, b compare.Detectable) int { return cmp.Compare(excess(b), excess(a)) })
	if c.NewBase != nil {
		notes = append(notes, fmt.Sprintf("the next run's gate detects a change of the threshold in %d of %s; %s",
			len(all)-len(blind), unit.Plural(len(all), "figure"), all[0].Spread.Words()))
	}
	if len(blind) > 0 {
		s := blind[0]
		notes = append(notes, fmt.Sprintf("threshold below the noise: %s at %s: smallest detectable change %s%s",
			s.Threshold, compare.OfClass(s.Point, s.Class), compare.Percent(s.Smallest, false),
			others("; ", len(blind), "more figure")))
	}
	return notes
}

func gateAnswer(c *compare.Comparison, f *Forest) ComparisonAnswer {
	g := c.Gate
	a := ComparisonAnswer{Lead: string(g.Verdict) + ":", Kind: verdictKind(g.Verdict)}
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
	if g.Verdict == stats.Pass {
		a.Text = fmt.Sprintf("none of %s is worse by more than its threshold", unit.Plural(len(cases), "figure"))
		if l := f.lineOf(first); l != nil {
			a.Text += "; the largest is " + l.Figure + " " + l.Change.Full() + ", " + PointWords(l.Point)
		}
		return a
	}
	a.Text = f.CaseText(c, first)
	if n := len(cases) - 1; n > 0 {
		a.Text += "; " + unit.Count(n) + " more " + string(g.Verdict)
	}
	return a
}

func (f *Forest) lineOf(x compare.Case) *ForestLine {
	i := slices.IndexFunc(f.Main, func(l ForestLine) bool { return l.Point == x.Where() && l.Metric.Name == x.Metric })
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
	text := figure + " " + l.Change.Full() + sinceText(c, x)
	_, other, _ := strings.Cut(x.Why, l.Metric.Describe()) // a reason beside the figure
	if a := x.Alarm; a != nil {
		text = fmt.Sprintf("%s %s for %s", figure, signed(l.Metric, a.Size), unit.Plural(a.Nights, "night"))
		if a.PerNight != 0 {
			night, all := signed(l.Metric, a.PerNight), signed(l.Metric, a.Size)
			text = fmt.Sprintf("%s drifts %s a night, %s", figure, night, all)
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
	return firstThree(all)
}

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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
	case c.NewBase != nil:
		a = newBaseAnswer(c)
	case c.NoBase != "":
		a = ComparisonAnswer{Lead: "Not compared:", Text: c.NoBase, Kind: Undecided}
	case c.Gate != nil:
		a = gateAnswer(c, &f)
	case c.Refused:
		a = ComparisonAnswer{Lead: "Not compared:", Kind: Undecided,
			Text: clauses(knobsText(compare.Refusing(c.Differences)), found.rawText())}
	case len(found.worse)+len(found.better) == 0 && c.ComparedSearch() >= 0:
		a = searchAnswer(c)
	case allRefused(c):
		a = ComparisonAnswer{Lead: "Not compared:", Text: clauses(pointsKnobs(c), found.rawText()), Kind: Undecided}
	case len(f.Lines()) == 0:
		a = ComparisonAnswer{Lead: "Nothing compared:", Text: "no figure is on both sides", Kind: Undecided}
	default:
		a = found.answer(c)
	}
	for _, cause := range c.Causes {
		a.Notes = append(a.Notes, "why: "+cause)
	}
	a.Notes = append(a.Notes, searchesNotes(c, a.Text)...)
	a.Text = clauses(append([]string{a.Text}, sloChanges(c)...)...)
	a.Notes = append(a.Notes, notCompared(c)...)
	said := func(fact string) bool { return strings.Contains(a.Text, fact) }
	if facts := slices.DeleteFunc(changedBeside(c), said); len(facts) > 0 {
		a.Notes = append(a.Notes, "also differs: "+unit.Some(facts))
	}
	if c.Gate != nil {
		a.Notes = append(a.Notes, detectableNotes(c)...)
		if x := heldText(c); x != "" && len(c.BaseRuns) > 0 {
			a.Notes = append(a.Notes, x)
		}
	}
	if x := cautionsText(c); x != "" {
		a.Notes = append(a.Notes, "cautions: "+x)
	}
	if n := len(c.WithoutRecords); n > 0 {
		a.Notes = append(a.Notes, "request records are missing, the spread within a repeat is estimated: "+
			andMore(c.WithoutRecords[0], n-1))
	}
	if n := len(c.Altered); n > 0 {
		a.Notes = append(a.Notes, "changed after the run, or unreadable: "+andMore(c.Altered[0], n-1)+
			" (bench verify lists them)")
	}
	if c.BaseGPUSeconds != nil && c.NewGPUSeconds != nil {
		a.Notes = append(a.Notes, fmt.Sprintf("GPU-seconds to the answer: base %s, new %s",
			unit.Digits(*c.BaseGPUSeconds), unit.Digits(*c.NewGPUSeconds)))
	}
	return a
}

// knobsText names what keeps the sides from being compared: "hardware h100-sxm → h200-sxm".
func knobsText(ds []compare.Difference) string {
	var texts []string
	for _, d := range ds {
		texts = append(texts, factText(d, "server"))
	}
	return strings.Join(slices.Compact(texts), ", ")
}

func allRefused(c *compare.Comparison) bool {
	return len(c.Points) > 0 && !slices.ContainsFunc(c.Points, func(p compare.Point) bool { return !p.Refused })
}

func pointsKnobs(c *compare.Comparison) string {
	why := compare.Refusing(c.Points[0].Differences)
	text := knobsText(why[:1])
	if more := len(why) - 1; more > 0 {
		text += " and " + unit.Plural(more, "more difference")
	}
	if len(c.Points) > 1 {
		names := []string{}
		for i := range c.Points {
			names = append(names, c.Points[i].Name)
		}
		text += " at " + andMorePoints(names)
	}
	return text
}

func notCompared(c *compare.Comparison) []string {
	var out []string
	var other []string
	var why []compare.Difference
	for i := range c.Points {
		if p := &c.Points[i]; p.Refused && !allRefused(c) {
			other, why = append(other, p.Name), append(why, compare.Refusing(p.Differences)...)
		}
	}
	if len(other) > 0 {
		out = append(out, fmt.Sprintf("not compared: %s: %s", andMorePoints(other), knobsText(why[:1])))
	}
	if n := len(c.Missing); n > 0 {
		text := "only in base: " + andMorePoints(c.Missing)
		if why := c.Unmeasured[c.Missing[0]]; why != "" && n == 1 {
			text += " (" + why + ")"
		}
		out = append(out, text)
	}
	if n := len(c.Added); n > 0 {
		out = append(out, "only in new: "+andMorePoints(c.Added))
	}
	if n := len(c.LeftOut); n > 0 {
		text := fmt.Sprintf("left out of base: %s: %s", c.LeftOut[0].Run, c.LeftOut[0].Why)
		if n > 1 {
			text += "; and " + unit.Plural(n-1, "more run")
		}
		out = append(out, text)
	}
	return out
}

func andMorePoints(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return fmt.Sprintf("%s and %s", names[0], unit.Plural(len(names)-1, "more point"))
}

// cautionsOf are the codes of cautions in order, with the point of each row that has them.
func cautionsOf(c *compare.Comparison) (codes []string, points map[string][]string, rows int) {
	points = map[string][]string{}
	for i := range c.Points {
		p := &c.Points[i]
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
			where = fmt.Sprintf("%d of %s (%s)", n, unit.Plural(rows, "row"), andMorePoints(slices.Compact(points[code])))
		}
		parts = append(parts, code+" in "+where)
	}
	return firstThree(parts, "; ")
}

// sloChanges are facts of the runs: near a limit two equal runs can differ so.
func sloChanges(c *compare.Comparison) (out []string) {
	for _, x := range []struct {
		base, changed stats.Verdict
		proof         compare.Verdict // of a figure that the SLO limits
	}{{stats.Pass, stats.Fail, compare.Worse}, {stats.Fail, stats.Pass, compare.Better}} {
		var names []string
		proven := false
		for i := range c.Points {
			p := &c.Points[i]
			if p.Refused || p.BaseSLO != x.base || p.NewSLO != x.changed {
				continue
			}
			names = append(names, p.Name)
			proven = proven || limitedIs(p, x.proof)
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

func limitedIs(p *compare.Point, v compare.Verdict) bool {
	is := func(m compare.Metric) bool { return m.Limited && m.Verdict == v }
	return slices.ContainsFunc(p.Metrics, is) ||
		slices.ContainsFunc(p.Classes, func(c compare.Class) bool { return slices.ContainsFunc(c.Metrics, is) })
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
			len(all)-len(blind),
			unit.Plural(len(all), "figure"), all[0].Spread.Words()))
	}
	if len(blind) > 0 {
		s := blind[0]
		text := fmt.Sprintf("threshold below the noise: %s at %s: smallest detectable change %s", s.Threshold,
			compare.OfClass(s.Point, s.Class),
			compare.Percent(s.Smallest, false))
		if more := len(blind) - 1; more > 0 {
			text += "; " + unit.Plural(more, "more figure")
		}
		notes = append(notes, text)
	}
	return notes
}

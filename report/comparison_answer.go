package report

import (
	"fmt"
	"slices"
	"strings"

	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/report/compare"
)

type ComparisonAnswer struct {
	Lead  string   // "FAIL", "NEW is better"
	Text  string   // the figures behind it
	Kind  Kind     // its colour
	Notes []string // what was not compared, and what can change the answer
}

func (a *ComparisonAnswer) Sentence() string { return a.Lead + ": " + a.Text }

func AnswerComparison(c *compare.Comparison) ComparisonAnswer {
	f := NewForest(c)
	found := f.findings()
	var a ComparisonAnswer
	switch {
	case c.NewBase != nil:
		a = newBaseAnswer(c)
	case c.NoBase != "":
		a = ComparisonAnswer{Lead: "Not compared", Text: c.NoBase, Kind: Undecided}
	case c.Gate != nil:
		a = gateAnswer(c, &f)
		a.Text = strings.Join(append([]string{a.Text}, sloChanges(c)...), "; ")
		if !c.Refused && (len(found.worse) > 0 || len(found.better) > 0) {
			a.Notes = append(a.Notes, found.sentence(true))
		}
	case c.Refused:
		a = ComparisonAnswer{Lead: "Not compared", Text: knobsText(compare.Refusing(c.Differences)) + f.rawText(),
			Kind: Undecided}
	case allRefused(c):
		a = ComparisonAnswer{Lead: "Not compared", Text: pointsKnobs(c) + f.rawText(), Kind: Undecided}
	case len(f.Lines()) == 0:
		a = ComparisonAnswer{Lead: "Nothing compared", Text: "no figure is on both sides", Kind: Undecided}
	default:
		a = found.answer(sloChanges(c))
	}
	a.Notes = append(append(a.Notes, searchesNotes(c)...), notCompared(c)...)
	if x := cautionsText(c, &f); x != "" {
		a.Notes = append(a.Notes, x)
	}
	if n := len(c.WithoutRecords); n > 0 {
		a.Notes = append(a.Notes, "request records are missing, the spread within a repeat is estimated: "+
			andMore(c.WithoutRecords[0], n-1))
	}
	if c.BaseGPUSeconds != nil && c.NewGPUSeconds != nil {
		a.Notes = append(a.Notes, fmt.Sprintf("GPU-seconds to the answer: base %s, new %s",
			unit.Digits(*c.BaseGPUSeconds), unit.Digits(*c.NewGPUSeconds)))
	}
	return a
}

func (x *changes) answer(facts []string) ComparisonAnswer {
	worse, better := len(x.worse), len(x.better)
	a := ComparisonAnswer{Text: x.sentence(worse > 0 && better > 0, facts...)}
	switch {
	case worse > 0 && better > 0:
		a.Lead, a.Kind = "NEW is better and worse", Undecided
	case worse > 0:
		a.Lead, a.Kind = "NEW is worse", Failed
	case better > 0:
		a.Lead, a.Kind = "NEW is better", Passed
	case x.tested > 0 && x.counts[MarkNoChange] == x.tested:
		a.Lead = "No change"
	default:
		a.Lead, a.Kind = "Inconclusive", Undecided
	}
	return a
}

// knobsText names differences: "hardware differs (h100-sxm → h200-sxm)"; a table has the long ones.
func knobsText(ds []compare.Difference) string {
	var parts []string
	for _, d := range ds {
		text := d.What + " differs"
		if len(d.Base)+len(d.New) < 80 {
			text += fmt.Sprintf(" (%s → %s)", d.Base, d.New)
		}
		if !slices.Contains(parts, text) {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, ", ")
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

func cautionsText(c *compare.Comparison, f *Forest) string {
	var where, codes []string
	for i := range c.Points {
		p := &c.Points[i]
		if !f.decides(p.Name) {
			continue
		}
		for _, x := range p.Cautions {
			if !slices.Contains(where, p.Name) {
				where = append(where, p.Name)
			}
			for _, code := range x.Codes {
				if !slices.Contains(codes, code) {
					codes = append(codes, code)
				}
			}
		}
	}
	if len(where) == 0 {
		return ""
	}
	return fmt.Sprintf("cautions at %s: %s", andMorePoints(where), strings.Join(codes, ", "))
}

func (f *Forest) decides(point string) bool {
	return slices.ContainsFunc(f.Main, func(l ForestLine) bool {
		own := l.Point == point || strings.HasPrefix(l.Point, point+" (class ")
		changed := l.Mark == MarkWorse || l.Mark == MarkBetter
		return own && (changed || l.Metric.Gate == stats.Fail || l.Metric.Gate == stats.Undecided)
	})
}

package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"bench/experiment"
	"bench/experiment/unit"
	"bench/report/compare"
)

func PlanText(w io.Writer, p *compare.Plan, screen Screen) error {
	out := newPrinter(screen)
	for _, line := range PlanAnswer(p) {
		out.wrap("", line)
	}
	if t := planTable(p); len(t.Rows) > 0 {
		out.line("")
		out.table(t)
		out.wrap("", t.Note)
	}
	return out.flush(w)
}

func PlanMarkdown(w io.Writer, p *compare.Plan) error {
	m := &markdown{}
	for i, line := range PlanAnswer(p) {
		if i == 0 {
			m.line("# " + escapeMarkdown(line))
			continue
		}
		m.line("- " + escapeMarkdown(line))
	}
	m.table(planTable(p))
	return m.flush(w)
}

func PlanAnswer(p *compare.Plan) []string {
	var decided, needs, why []string
	planned, decidable := 0, 0
	var present *compare.Recipe
	for i := range p.Figures {
		x := &p.Figures[i]
		switch {
		case x.Why != "":
			why = append(why, figureOf(x)+": "+x.Why)
			continue
		case x.Decides:
			decided = append(decided, gatedText(x))
		default:
			needs = append(needs, gatedText(x)+" "+needText(x))
		}
		planned++
		if x.Needs != nil {
			decidable++
		}
		if present == nil {
			present = &x.Present
		}
	}
	var lines []string
	switch {
	case len(p.Figures) == 0:
		return []string{"nothing to plan: the newest run has no gated figure"}
	case planned == 0:
		return []string{"not planned: " + firstThree(why, "; ")}
	case len(needs) == 0:
		lines = append(lines, fmt.Sprintf("%s decide every gated figure (%d)", recipeText(*present), planned))
	default:
		lines = append(lines, fmt.Sprintf("%s decide %d of %d gated figures", recipeText(*present),
			len(decided), planned))
	}
	if len(decided) > 0 && len(needs) > 0 {
		lines = append(lines, "decided: "+firstThree(decided, "; "))
	}
	lines = append(lines, needs...)
	if r := p.Recipe; r != nil &&
		(len(needs) > 0 || r.Repeats*int(r.DurationS) < present.Repeats*int(present.DurationS)) {
		lines = append(lines, fmt.Sprintf("cheapest recipe: %s decide %d of %d", recipeText(*r), decidable,
			planned))
	}
	if len(why) > 0 {
		lines = append(lines, "not planned: "+firstThree(why, "; "))
	}
	return lines
}

// seconds is a duration without decimals, unless it is short.
func seconds(s float64) string { return unit.Exactly(math.Round(s*10)/10, "s") }

// recipeText is "5 nights × 3 repeats of 60 s".
func recipeText(r compare.Recipe) string {
	return fmt.Sprintf("%s × %s of %s", unit.Plural(r.BaseRuns, "night"), unit.Plural(r.Repeats, "repeat"),
		seconds(r.DurationS))
}

func figureOf(x *compare.PlannedFigure) string {
	return x.Metric + " at " + compare.OfClass(x.Point, x.Class)
}

// gatedText is "tpot_p50 +3 % at B".
func gatedText(x *compare.PlannedFigure) string {
	return x.Metric + " " + thresholdText(x, x.Threshold.Worse) + " at " + compare.OfClass(x.Point, x.Class)
}

// thresholdText is a threshold with the sign of a change for the worse: "-3 %" of a throughput.
func thresholdText(x *compare.PlannedFigure, worse float64) string {
	sign := "+"
	if experiment.MoreIsBetter(x.Metric) {
		sign = "-"
	}
	return sign + unit.Exactly(worse, "share")
}

// needText is "needs 8 repeats, or a threshold of 4 %".
func needText(x *compare.PlannedFigure) string {
	threshold := "a threshold of " + thresholdText(x, x.Least)
	var needs []string
	if n := x.Needs; n != nil {
		if n.BaseRuns != x.Present.BaseRuns {
			needs = append(needs, "a base of "+unit.Plural(n.BaseRuns, "night"))
		}
		if n.Repeats != x.Present.Repeats {
			needs = append(needs, unit.Plural(n.Repeats, "repeat"))
		}
		if n.DurationS != x.Present.DurationS {
			needs = append(needs, "repeats of "+seconds(n.DurationS))
		}
	}
	switch {
	case x.Least == 0 && len(needs) == 0:
		return "can't be decided: no threshold up to 90 % is above the noise"
	case x.Least == 0:
		return "needs " + strings.Join(needs, " and ")
	case len(needs) == 0:
		return fmt.Sprintf("needs %s: %s of %s do not decide", threshold,
			unit.Plural(compare.MostRepeats, "repeat"), seconds(compare.MostLonger*x.Present.DurationS))
	}
	return "needs " + strings.Join(needs, " and ") + ", or " + threshold
}

func planTable(p *compare.Plan) Table {
	t := Table{ID: "plan", Caption: "Gated figures", Columns: []Column{{Head: "point"}, {Head: "figure"},
		{Head: "PASS", Unit: "quiet", Num: true},
		{Head: "FAIL", Unit: "1.5 ×", Num: true}, {Head: "FAIL", Unit: "2 ×", Num: true},
		{Head: "sd", Unit: "night", Num: true},
		{Head: "sd", Unit: "repeat", Num: true}, {Head: "sd", Unit: "sample", Num: true},
		{Head: "smallest", Unit: "threshold", Num: true}}}
	for i := range p.Figures {
		x := &p.Figures[i]
		if x.Why != "" {
			continue
		}
		share := func(v float64) Cell { return TextCell(compare.Percent(v, false)) }
		least := TextCell(thresholdText(x, x.Least))
		if x.Least == 0 {
			least = Cell{Text: "none", Kind: Faint}
		}
		t.Add(TextCell(compare.OfClass(x.Point, x.Class)), TextCell(x.Metric+" "+thresholdText(x, x.Threshold.Worse)), oddsCell(x.Quiet),
			oddsCell(x.Found15), oddsCell(x.Found20),
			share(x.NightSD), share(x.RepeatSD), share(x.SamplingSD), least)
	}
	t.Note = fmt.Sprintf("Probabilities with %s, by the noise of %s; 1.5 × and 2 ×: "+
		"worse by that many thresholds.",
		presentRecipes(p), unit.Plural(p.Runs, "good run"))
	return t
}

func presentRecipes(p *compare.Plan) string {
	var all []string
	for i := range p.Figures {
		if s := recipeText(p.Figures[i].Present); !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return firstThree(all, ", ")
}

func oddsCell(p float64) Cell {
	c := Cell{Text: fmt.Sprintf("%.0f %%", 100*p), Kind: Undecided}
	if p >= 0.9 {
		c.Kind = Passed
	}
	return c
}

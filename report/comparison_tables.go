package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"bench/experiment/diagnosis"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/report/compare"
)

func FiguresTable(c *compare.Comparison) Table {
	return figuresTable(c, func(*compare.Metric) bool { return true })
}

func figuresTable(c *compare.Comparison, shown func(*compare.Metric) bool) Table {
	t := newTable("figures", "All figures", "point", "figure", "base #", "new #", "raw change #",
		"change [95 % interval] #", "verdict")
	eachFigure(c, func(point string, m *compare.Metric, refused bool) {
		if !shown(m) {
			return
		}
		change := Absent()
		if m.Change != nil {
			change = changeCell(m)
		}
		raw := optional(m.RawChange, func(x float64) string { return rawMark(m) + signed(m, x) })
		if raw.Text[0] == '~' {
			raw.Kind = Thin
		}
		base, changed := sideCells(m)
		t.Add(TextCell(point), figureCell(m), base, changed, raw, change, comparedCell(m, refused))
	})
	return t
}

func StatisticsTable(c *compare.Comparison) Table {
	t := newTable("statistics", "Statistics", "point", "figure", "p #", "test", "spread between runs",
		"no worse than #", "smallest detectable change #", "why")
	t.Note = "Medians over the repeats. Raw change: of these. Change: new against base over runs, with its " +
		"95 % interval. ~ thin or n too small. Tests: benchmarks/statistics.md#compare"
	eachFigure(c, func(point string, m *compare.Metric, _ bool) {
		if m.Change == nil {
			return
		}
		percent := func(x float64) string { return compare.Percent(x, false) }
		spread := optional(m.Spread, func(s compare.Spread) string { return percent(s.SD) + " (" + s.Source + ")" })
		t.Add(TextCell(point), figureCell(m), optional(m.Adjusted, unit.Digits), TextCell(m.Test), spread,
			optional(m.NoWorseThan, percentDigits), optional(m.SmallestDetectable, percent), TextCell(m.Why))
	})
	return t
}

func eachFigure(c *compare.Comparison, f func(point string, m *compare.Metric, refused bool)) {
	for _, p := range c.Points {
		p.Each(func(class string, m *compare.Metric) { f(compare.OfClass(p.Name, class), m, p.Refused) })
	}
}

func figureCell(m *compare.Metric) Cell {
	c := TextCell(m.Name)
	if m.Threshold != nil {
		c.Tag = "gate: " + m.Threshold.String()
	}
	return c
}

func sideCells(m *compare.Metric) (base, changed Cell) {
	return sideCell(m.Base, m.BaseQuoted, m.Unit), sideCell(m.New, m.NewQuoted, m.Unit)
}

// sideCell is the estimate that the change is made of, not the bound of Units.Percentile.
func sideCell(x *float64, q compare.Quoted, unit string) Cell {
	if x == nil {
		return Absent()
	}
	c := TextCell(Quantity(*x, unit))
	switch q.Grade {
	case stats.Thin:
		c.Kind = Thin
	case stats.NoBound:
		c.Kind = NoBound
	default:
		return c
	}
	c.Text, c.Title = "~"+c.Text, gradeWords(q.Grade)
	if q.AtLeast != nil {
		c.Title += ": ≥" + Quantity(*q.AtLeast, unit)
	}
	return c
}

// rawMark is "~" for the change of a percentile that n does not carry.
func rawMark(m *compare.Metric) string {
	if g := m.BaseQuoted.Grade.Worst(m.NewQuoted.Grade); g == stats.Thin || g == stats.NoBound {
		return "~"
	}
	return ""
}

// needed is for the change shown, or for the margin if that is larger. 0: unknown, or decided.
func needed(m *compare.Metric) int { return cmp.Or(m.NeedForChange, m.NeedRuns) }

func comparedCell(m *compare.Metric, refused bool) Cell {
	if refused {
		return Cell{Text: "not compared", Kind: Faint}
	}
	if m.Given {
		return Cell{Text: "given by the rate", Kind: Faint}
	}
	c := Cell{Text: string(m.Verdict), Kind: ForestMark(m.Verdict).Kind()}
	switch {
	case m.Gate == stats.Pass && m.Verdict == compare.Inconclusive:
		return Cell{Text: string(m.Gate) + ": " + string(MarkPass), Kind: Passed}
	case m.Verdict == compare.NoChange:
		c.Text += " within " + strings.TrimPrefix(signed(m, m.NoChangeWithin), "+")
	case needed(m) > 0:
		c.Text += " (needs " + m.Needed(needed(m), "") + ")"
	case m.Verdict == compare.Inconclusive: // the reason is in a column or the note
	default:
		c.Text += fmt.Sprintf(" (p=%s)", unit.Digits(*m.Adjusted))
	}
	if m.Gate == stats.Fail || m.Gate == stats.Undecided {
		c.Text = string(m.Gate) + ": " + c.Text
		c.Kind = verdictKind(m.Gate)
	}
	return c
}

// RunsTable has latencies at the percentiles that the SLO of the first run limits.
func RunsTable(names []string, runs []*Run, outcomes []*Analysis) Table {
	ttft, tpot := outcomes[0].limitedStat("ttft"), outcomes[0].limitedStat("tpot")
	out := newTable("runs", "Runs", "run", "answer ?slo", "trust ?validity", "point ?knee",
		"output|tok/s # ?throughput", "TTFT "+ttft+" # ?ttft", "TPOT "+tpot+" # ?tpot", "bottleneck", "hypothesis")
	for i, o := range outcomes {
		answer, point, output, first, decode, limit := Absent(), Absent(), Absent(), Absent(), Absent(), Absent()
		if w, s := o.First(); w != nil {
			answer = Cell{Text: w.Lead, Kind: verdictKind(w.Verdict), Title: w.Text}
			p := &s.Points[w.Quoted]
			point = TextCell(s.PointName(p))
			isOf := func(d diagnosis.Diagnosis) bool { return d.Series == w.Series && d.Point == w.Quoted }
			if i := slices.IndexFunc(o.Diagnoses, isOf); i >= 0 {
				limit = TextCell(o.Diagnoses[i].Bottleneck.Name())
			}
			if p.Valid {
				output = outputCell(p)
			}
			if p.Valid && len(p.Classes) == 0 {
				first, decode = LatencyCell(p.TTFT, ttft), LatencyCell(p.TPOT, tpot)
			}
		}
		out.Add(TextCell(names[i]), answer, TextCell(o.Answer.Trust.Text), point, output, first, decode, limit,
			TextCell(cmp.Or(runs[i].Manifest.Hypothesis, "–")))
	}
	return out
}

// ChangesTable is the changes of the main figures of each point from one run to another. Where a knob differs
// they are raw: it is the reason why.
func ChangesTable(c *compare.Comparison) Table {
	t := figuresTable(c, func(m *compare.Metric) bool {
		return !m.Given && (m.Limited || slices.Contains(headlineFigures, m.Name))
	})
	t.ID, t.Caption, t.Note = "changes", c.New+" against "+c.Base, AnswerComparison(c).Sentence()
	return t
}

func ConditionTables(c *compare.Comparison) []Table {
	left := slices.Clone(c.LeftOut)
	for i := range c.Points {
		left = append(left, c.Points[i].LeftOut...)
	}
	leftOut := newTable("left-out", "Left out of base", "run", "row", "why")
	for _, l := range left {
		leftOut.Add(TextCell(l.Run), TextCell(cmp.Or(l.Row, "all")), TextCell(l.Why))
	}
	return []Table{comparedSearches(c), gateTable(c), DifferencesTable("differences", "Other differences",
		c.Differences), pointDifferences(c), leftOut, disturbedTable(c), UnmatchedTable(c)}
}

func pointDifferences(c *compare.Comparison) Table {
	var all []compare.Difference
	points := map[compare.Difference][]string{}
	for i := range c.Points {
		for _, d := range c.Points[i].Differences {
			if points[d] == nil {
				all = append(all, d)
			}
			if !slices.Contains(points[d], c.Points[i].Name) {
				points[d] = append(points[d], c.Points[i].Name)
			}
		}
	}
	t := DifferencesTable("point-differences", "Other differences of points", all)
	t.Columns = append([]Column{{Head: "point"}}, t.Columns...)
	for i, d := range all {
		t.Rows[i] = append([]Cell{TextCell(andMorePoints(points[d]))}, t.Rows[i]...)
	}
	return t
}

func gateTable(c *compare.Comparison) Table {
	t := newTable("gate", "Gate", "point", "figure", "verdict", "why")
	for _, v := range []stats.Verdict{stats.Fail, stats.Undecided} {
		for _, x := range cmp.Or(c.Gate, &compare.Outcome{}).Cases {
			if x.Verdict == v {
				t.Add(TextCell(cmp.Or(x.Where(), "all")), TextCell(cmp.Or(x.Metric, "all")),
					verdictCell(x.Verdict, 0), TextCell(x.Reason()))
			}
		}
	}
	return t
}

func DifferencesTable(id, caption string, ds []compare.Difference) Table {
	t := newTable(id, caption, "what", "base", "new", "effect")
	for _, d := range ds {
		effect := Cell{Text: cmp.Or(d.Effect, "noted"), Kind: Faint}
		switch {
		case d.Key != "" && d.Allowed:
			effect = Cell{Text: "allowed", Kind: Undecided}
		case d.Key != "":
			effect = Cell{Text: "refused; to compare anyway: --allow " + d.Key, Kind: Failed}
			if d.Key == "prompt_form" {
				effect.Text = "refused: one server gets token ids, the other text; api = \"chat\" sends text to both" +
					"; to compare anyway: --allow prompt_form"
			}
		}
		t.Add(TextCell(d.What), TextCell(d.Base), TextCell(d.New), effect)
	}
	return t
}

func disturbedTable(c *compare.Comparison) Table {
	t := newTable("disturbed", "Invalid rows and cautions", "point", "severity", "findings", "rows", "effect")
	for _, p := range c.Points {
		for _, x := range p.Invalid {
			effect := "included"
			if x.LeftOut {
				effect = "left out of base"
			}
			t.Add(TextCell(p.Name), severityCell(record.Invalid), TextCell(strings.Join(x.Codes, ", ")),
				TextCell(x.Run+" "+x.Row), TextCell(effect))
		}
	}
	codes, points, rows := cautionsOf(c)
	for _, code := range codes {
		t.Add(TextCell(andMorePoints(slices.Compact(points[code]))), severityCell(record.Caution), TextCell(code),
			TextCell(fmt.Sprintf("%d of %s", len(points[code]), unit.Plural(rows, "row"))), TextCell("included"))
	}
	return t
}

func UnmatchedTable(c *compare.Comparison) Table {
	t := newTable("unmatched", "Unmatched points", "point", "side")
	for _, name := range c.Missing {
		side := "only in base"
		if why := c.Unmeasured[name]; why != "" {
			side += "; " + why
		}
		t.Add(TextCell(name), TextCell(side))
	}
	for _, name := range c.Added {
		t.Add(TextCell(name), TextCell("only in new"))
	}
	return t
}

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"bench/experiment/diagnosis"
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
		change := Absent()
		if !shown(m) {
			return
		}
		if m.Change != nil {
			change = TextCell(changeText(m))
		}
		base, changed := sideCells(m)
		t.Add(TextCell(point), figureCell(m), base, changed, rawCell(m), change, comparedCell(m, refused))
	})
	return t
}

func StatisticsTable(c *compare.Comparison) Table {
	t := newTable("statistics", "Statistics", "point", "figure", "p #", "test", "spread between runs",
		"no worse than #", "smallest detectable change #", "why")
	t.Note = ComparisonLegend
	eachFigure(c, func(point string, m *compare.Metric, _ bool) {
		if m.Change == nil {
			return
		}
		spread := Absent()
		if m.Spread != nil {
			spread = TextCell(compare.Percent(m.Spread.SD, false) + " (" + m.Spread.Source + ")")
		}
		percent := func(x float64) string { return compare.Percent(x, false) }
		t.Add(TextCell(point), figureCell(m), optional(m.Adjusted, unit.Digits), TextCell(m.Test), spread,
			optional(m.NoWorseThan, percentDigits), optional(m.SmallestDetectable, percent), TextCell(m.Why))
	})
	return t
}

func eachFigure(c *compare.Comparison, f func(point string, m *compare.Metric, refused bool)) {
	for i := range c.Points {
		p := &c.Points[i]
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

func rawCell(m *compare.Metric) Cell {
	if m.RawChange == nil {
		return Absent()
	}
	c := TextCell(rawMark(m) + signed(m, *m.RawChange))
	if c.Text[0] == '~' {
		c.Kind = Thin
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
		text, _ := strings.CutSuffix(m.Needed(needed(m)), " per side")
		c.Text += " (needs " + text + ")"
	case m.Verdict == compare.Inconclusive: // the reason is in a column or the note
	default:
		c.Text += fmt.Sprintf(" (p=%s)", unit.Digits(*m.Adjusted))
	}
	if m.Gate == stats.Fail || m.Gate == stats.Undecided {
		c.Text = string(m.Gate) + ": " + c.Text
		c.Kind = verdictCell(m.Gate, 0).Kind
	}
	return c
}

// RunsTable has latencies at the percentiles that the SLO of the first run limits.
func RunsTable(names []string, runs []*Run, outcomes []*Analysis) Table {
	ttft, tpot := outcomes[0].limitedStat("ttft"), outcomes[0].limitedStat("tpot")
	out := newTable("runs", "Runs", "run", "answer ?slo", "trust ?validity", "point ?knee",
		"output|tok/s # ?throughput", "TTFT "+ttft+" # ?ttft", "TPOT "+tpot+" # ?tpot", "bottleneck",
		"hypothesis")
	for i, o := range outcomes {
		answer, point, output, first, decode, limit := Absent(), Absent(), Absent(), Absent(), Absent(), Absent()
		if w, s := o.First(); w != nil {
			answer = Cell{Text: w.Lead, Kind: leadKind(w.Verdict), Title: w.Text}
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
	a := AnswerComparison(c)
	t.ID, t.Caption, t.Note = "changes", ComparisonTitle(c), a.Sentence()
	return t
}

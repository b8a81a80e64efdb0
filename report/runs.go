package report

import (
	"cmp"
	"slices"

	"bench/experiment/diagnosis"
	"bench/experiment/unit"
	"bench/report/compare"
)

// RunsTable has latencies at the percentiles that the SLO of the first run limits.
func RunsTable(names []string, runs []*Run, outcomes []*Analysis) Table {
	ttft, tpot := outcomes[0].limitedStat("ttft"), outcomes[0].limitedStat("tpot")
	out := newTable("runs", "Runs", "run", "answer ?slo", "trust ?validity", "point ?knee",
		"output|tok/s # ?throughput", "TTFT "+ttft+" # ?ttft", "TPOT "+tpot+" # ?tpot", "bottleneck",
		"hypothesis")
	for i, o := range outcomes {
		row := []Cell{TextCell(names[i]), Absent(), TextCell(o.Answer.Trust.Text)}
		if w, s := o.First(); w != nil {
			row[1] = Cell{Text: w.Lead, Kind: leadKind(w.Verdict), Title: w.Text}
			p := &s.Points[w.Quoted]
			name, limit := TextCell(s.PointName(p)), Absent()
			isOf := func(d diagnosis.Diagnosis) bool { return d.Series == w.Series && d.Point == w.Quoted }
			if i := slices.IndexFunc(o.Diagnoses, isOf); i >= 0 {
				limit = TextCell(o.Diagnoses[i].Bottleneck.Name())
			}
			output, first, decode := Absent(), Absent(), Absent()
			if p.Valid {
				output = TextCell(unit.Digits(p.OutputTokensPerS.Median))
			}
			if p.Valid && len(p.Classes) == 0 {
				first, decode = LatencyCell(p.TTFT, ttft), LatencyCell(p.TPOT, tpot)
			}
			row = append(row, name, output, first, decode, limit)
		} else {
			row = append(row, Absent(), Absent(), Absent(), Absent(), Absent())
		}
		out.Add(append(row, TextCell(cmp.Or(runs[i].Manifest.Hypothesis, "–")))...)
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

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// sloTable is every limit of every row with its verdict.
func (r *Run) sloTable() Table {
	t := Table{ID: "slo", Caption: "SLO", Columns: []Column{
		{Head: "row"}, {Head: "limit"}, {Head: "value", Num: true}, {Head: "verdict", Help: "slo"},
		{Head: "needs", Unit: "requests", Num: true, Help: "slo"}, {Head: "why"},
	}}
	for _, row := range r.Live() {
		for _, v := range row.SLO {
			need := Absent()
			if v.Need > 0 {
				need = count(v.Need)
			}
			t.Add(TextCell(row.ID), TextCell(limitText(v)), measuredCell(v), verdictCell(stats.Verdict(v.Verdict), v.Need), need, TextCell(v.Why))
		}
	}
	return t
}

// measuredCell is the value under a limit, a percentile with its grade. Means and figures of the whole window
// have no grade.
func measuredCell(v record.Verdict) Cell {
	if v.Value == nil {
		return Cell{Text: "no value", Kind: Faint, Title: "not measured, or unbounded because failed requests rank as infinitely slow"}
	}
	c := TextCell(Quantity(*v.Value, v.Unit))
	p, ok := experiment.Limit{Stat: v.Metric[strings.LastIndexByte(v.Metric, '_')+1:]}.P()
	if !ok {
		return c
	}
	grade, n := stats.GradeOf(v.Observed, cmp.Or(v.Effective, float64(v.Observed)), p), "n="+unit.Count(v.Observed)
	c.Title = n + ", " + gradeWords(grade)
	switch grade {
	case stats.NoBound:
		c.Text, c.Kind = c.Text+", "+n+" is too small", NoBound
	case stats.Thin:
		c.Text, c.Kind = "~"+c.Text, Thin
	}
	return c
}

// limitText is a limit for people: "ttft_p95 ≤ 1 s (class chat)".
func limitText(v record.Verdict) string {
	metric, sign := v.Metric, "≤"
	if rest, ok := strings.CutPrefix(v.Metric, "min_"); ok {
		metric, sign = rest, "≥"
	}
	s := fmt.Sprintf("%s %s %s", metric, sign, Exactly(v.Limit, v.Unit))
	if v.Class != "" {
		s += " (class " + v.Class + ")"
	}
	return s
}

// Quantity is a measured figure with three significant digits.
func Quantity(x float64, u string) string { return unit.Format(x, UnitWords(u)) }

// Exactly is a configured figure with all its digits.
func Exactly(x float64, u string) string {
	return unit.Exactly(x, UnitWords(u))
}

// UnitWords is a unit of a JSON field for people.
func UnitWords(unit string) string {
	switch unit {
	case "1/s":
		return "req/s"
	case "tokens/s":
		return "tok/s"
	}
	return unit
}

// severityKind is the kind of a cell with a severity.
func severityKind(s record.Severity) Kind {
	switch s {
	case record.Invalid:
		return Failed
	case record.Caution:
		return Undecided
	}
	return Faint
}

// findingsTable is every finding of every row with its hint, the most severe first. Rows that share a note have
// one line.
func (o *Outcome) findingsTable() Table {
	t := Table{ID: "findings", Caption: "Findings", Note: "invalid: a figure is wrong, and the row is left out of answers. caution: disturbed; verdicts account for the effect. note: how figures can be misread.",
		Columns: []Column{{Head: "severity"}, {Head: "finding"}, {Head: "row"}, {Head: "what"}, {Head: "what to do"}}}
	for _, d := range o.Findings {
		at := map[Flagged]int{} // lines by text and hint
		var rows [][]string
		for _, c := range d.Cases {
			key := Flagged{Text: c.Text, Hint: c.Hint}
			i, ok := at[key]
			if !ok {
				i, at[key] = len(rows), len(rows)
				rows = append(rows, nil)
				t.Add(Cell{Text: string(d.Severity), Kind: severityKind(d.Severity)}, TextCell(d.Code), Cell{}, TextCell(c.Text), TextCell(c.Hint))
			}
			rows[i] = append(rows[i], c.Row)
		}
		for i, ids := range rows {
			t.Rows[len(t.Rows)-len(rows)+i][2] = TextCell(someOf(ids))
		}
	}
	return t
}

// someOf names a few rows and counts the others.
func someOf(rows []string) string {
	const few = 3
	text := strings.Join(rows[:min(few, len(rows))], ", ")
	if more := len(rows) - few; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// expectTable is the expectation of each row beside its result.
func (o *Outcome) expectTable() Table {
	t := Table{ID: "expectations", Caption: "Expected and measured",
		Note: "Expectations are prose: bench does not evaluate them.", Columns: []Column{{Head: "row"}, {Head: "expected"}, {Head: "measured"}}}
	for i := range o.Series {
		s := &o.Series[i]
		if expect := s.Points[0].Rows[0].Spec.Expect; expect != "" {
			t.Add(TextCell(s.Label()), TextCell(expect), TextCell(s.Sentence))
		}
	}
	return t
}

// missingTable is planned rows without a result, and results of rows that are no longer planned.
func (r *Run) missingTable() Table {
	t := Table{ID: "missing", Caption: "Missing and removed rows", Columns: []Column{{Head: "row"}, {Head: "state"}, {Head: "why"}}}
	for _, id := range r.Missing {
		p := r.Manifest.Plan[slices.IndexFunc(r.Manifest.Plan, func(p record.Planned) bool { return p.ID == id })]
		t.Add(TextCell(id), TextCell(p.State), TextCell(cmp.Or(p.Error, "no result yet; run bench sweep --resume")))
	}
	for _, row := range r.Rows {
		if r.Removed(row.ID) {
			t.Add(TextCell(row.ID), TextCell("removed"), TextCell("no longer in the matrix; not counted"))
		}
	}
	return t
}

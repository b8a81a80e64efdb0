package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// sloTable is every limit of every row with its verdict.
func (r *Run) sloTable() table {
	t := table{id: "slo", caption: "SLO", columns: []column{
		{head: "row"}, {head: "limit"}, {head: "value", num: true}, {head: "verdict", help: "slo"},
		{head: "needs", unit: "requests", num: true, help: "slo"}, {head: "why"},
	}}
	for _, row := range r.Live() {
		for _, v := range row.SLO {
			need := absent()
			if v.Need > 0 {
				need = count(v.Need)
			}
			t.add(text(row.ID), text(limitText(v)), measuredCell(v), verdictCell(stats.Verdict(v.Verdict), v.Need), need, text(v.Why))
		}
	}
	return t
}

// measuredCell is the value under a limit, a percentile with its grade. Means and figures of the whole window have
// no grade.
func measuredCell(v record.Verdict) cell {
	if v.Value == nil {
		return cell{text: "no value", kind: faint, title: "not measured, or unbounded because failed requests rank as infinitely slow"}
	}
	c := text(Quantity(*v.Value, v.Unit))
	p, ok := experiment.Limit{Stat: v.Metric[strings.LastIndexByte(v.Metric, '_')+1:]}.P()
	if !ok {
		return c
	}
	grade, n := stats.GradeOf(v.Observed, p), "n="+unit.Count(v.Observed)
	c.title = n + ", " + gradeWords(grade)
	switch grade {
	case stats.NoBound:
		c.text, c.kind = c.text+", "+n+" is too small", noBound
	case stats.Thin:
		c.text, c.kind = "~"+c.text, thin
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
func Exactly(x float64, unit string) string {
	switch {
	case unit == "ms" && x >= 1000:
		x, unit = x/1000, "s"
	case unit == "share":
		x, unit = x*100, "%"
	}
	return strconv.FormatFloat(x, 'g', 12, 64) + " " + UnitWords(unit)
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

// findingsTable is every finding of every row with its hint.
func (o *Outcome) findingsTable() table {
	t := table{id: "findings", caption: "Findings", columns: []column{{head: "finding"}, {head: "row"}, {head: "what"}, {head: "what to do"}}}
	for _, d := range o.Findings {
		for _, c := range d.Cases {
			t.add(text(d.Code), text(c.Row), text(c.Text), text(c.Hint))
		}
	}
	return t
}

// notesTable is the notes on how to read rows. A note is no reason to distrust a row.
func (r *Run) notesTable() table {
	t := table{id: "reading", caption: "Notes on rows", columns: []column{{head: "note"}, {head: "rows"}, {head: "what to do"}}}
	at := map[record.Finding]int{}
	var rows [][]string
	for _, row := range r.Live() {
		for _, n := range row.Notes {
			if _, ok := at[n]; !ok {
				at[n], rows = len(t.rows), append(rows, nil)
				t.add(text(n.Text), cell{}, text(n.Hint))
			}
			rows[at[n]] = append(rows[at[n]], row.ID)
		}
	}
	const few = 3
	for i, ids := range rows {
		t.rows[i][1] = text(strings.Join(ids[:min(few, len(ids))], ", "))
		if more := len(ids) - few; more > 0 {
			t.rows[i][1].text += fmt.Sprintf(" and %d more", more)
		}
	}
	return t
}

// expectTable is the expectation of each row beside its result.
func (o *Outcome) expectTable() table {
	t := table{id: "expectations", caption: "Expected and measured",
		note: "Expectations are prose: bench does not evaluate them.", columns: []column{{head: "row"}, {head: "expected"}, {head: "measured"}}}
	for i := range o.Series {
		s := &o.Series[i]
		if expect := s.Points[0].Rows[0].Spec.Expect; expect != "" {
			t.add(text(s.Label()), text(expect), text(s.Sentence))
		}
	}
	return t
}

// missingTable is planned rows without a result, and results of rows that are no longer planned.
func (r *Run) missingTable() table {
	t := table{id: "missing", caption: "Missing and removed rows", columns: []column{{head: "row"}, {head: "state"}, {head: "why"}}}
	for _, id := range r.Missing {
		p := r.Manifest.Plan[slices.IndexFunc(r.Manifest.Plan, func(p record.Planned) bool { return p.ID == id })]
		t.add(text(id), text(p.State), text(cmp.Or(p.Error, "no result yet; run bench sweep --resume")))
	}
	for _, row := range r.Rows {
		if r.Removed(row.ID) {
			t.add(text(row.ID), text("removed"), text("no longer in the matrix; not counted"))
		}
	}
	return t
}

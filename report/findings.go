package report

import (
	"cmp"
	"slices"
	"strings"

	"bench/experiment/diagnosis"
	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/experiment/verdict"
)

// sloTable is the values under each limit of the rows that do not pass all of them. A value without a verdict beside
// it passes; the tooltip has the reason.
func sloTable(r *Run) Table {
	t := newTable("slo", "SLO by row", "row")
	rows, at := r.Live(), map[string]int{}
	for _, row := range rows {
		for _, v := range row.SLO {
			if text := verdict.LimitText(&v); at[text] == 0 {
				at[text] = len(t.Columns)
				t.Columns = append(t.Columns, Column{Head: text, Num: true})
			}
		}
	}
	if len(at) == 0 {
		return t
	}
	passed := 0
	for _, row := range rows {
		if !slices.ContainsFunc(row.SLO, func(v record.Verdict) bool { return v.Verdict != stats.Pass }) {
			passed++
			continue
		}
		cells := append([]Cell{TextCell(row.ID)}, slices.Repeat([]Cell{Absent()}, len(at))...)
		for _, v := range row.SLO {
			cells[at[verdict.LimitText(&v)]] = limitCell(&v)
		}
		t.Add(cells...)
	}
	t.Note = "Values without a verdict pass. " + unit.Plural(passed, "other row") + " miss no limit."
	return t
}

func limitCell(v *record.Verdict) Cell {
	c, judged := measuredCell(*v), verdictCell(v.Verdict, v.Need)
	c.Kind = judged.Kind
	c.Title = clauses(string(v.Verdict), v.Why, judged.Title, c.Title)
	if v.Verdict != stats.Pass {
		c.Tag = strings.TrimSuffix(string(v.Verdict)+", "+verdict.Lean(v), ", ")
	}
	return c
}

// measuredCell: means and figures of the whole window have no grade.
func measuredCell(v record.Verdict) Cell {
	if v.Value == nil {
		return Cell{Text: "no value", Kind: Faint,
			Title: "not measured, or unbounded because failed requests rank as infinitely slow"}
	}
	c := TextCell(Quantity(*v.Value, v.Unit))
	if v.Interval != nil {
		if c.Within = verdict.EndsText(*v.Interval); v.Unit == "ms" || v.Unit == "share" {
			c.Text, c.Within = verdict.Estimate(&v)
		}
		return c
	}
	_, stat := metric.Cut(v.Metric)
	p, ok := stat.P()
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

func Quantity(x float64, u string) string { return unit.Format(x, UnitWords(u)) }

func UnitWords(unit string) string {
	return cmp.Or(map[string]string{"1/s": "req/s", "tokens/s": "tok/s"}[unit], unit)
}

func severityCell(s record.Severity) Cell {
	kind := map[record.Severity]Kind{record.Invalid: Failed, record.Caution: Undecided}[s]
	return Cell{Text: string(s), Kind: cmp.Or(kind, Faint)}
}

const moreMark = "…"

// findingsTable is one line for each code of findings, the most severe first: its worst case and the rows that
// have it. Tooltips have the other cases, and what to do about a caution: most need nothing.
func findingsTable(o *Analysis) Table {
	t := newTable("findings", "Findings", "severity ?validity", "finding", "rows", "what, in the worst row")
	t.Note = "Tooltips at …: what to do."
	for _, d := range o.Findings {
		var rows, others []string
		for i, c := range d.Cases {
			if rows = append(rows, c.Row); i > 0 {
				others = append(others, c.Row+": "+c.Text)
			}
		}
		what, hint := TextCell(d.Cases[0].Text), "what to do: "+d.Cases[0].Hint
		switch d.Severity {
		case record.Note:
			what = Cell{Text: moreMark, Kind: Faint, Title: d.Cases[0].Text}
		case record.Invalid:
			what.Text += "; " + hint
		default:
			what.Tag, what.Title = moreMark, hint
		}
		at := Cell{Text: andMore(rows), Title: strings.Join(others, "\n")}
		t.Add(severityCell(d.Severity), TextCell(d.Code), at, what)
	}
	return t
}

func expectTable(o *Analysis) Table {
	t := newTable("expectations", "Expected", "of", "expected", "measured")
	for i, e := range o.Answer.Expected {
		if i > 0 && e.Expected == o.Answer.Expected[i-1].Expected { // of the same row
			continue
		}
		t.Add(TextCell(cmp.Or(e.Of, "hypothesis")), TextCell(e.Expected), TextCell(e.Happened))
	}
	return t
}

// unfinishedTable has the planned rows without a result that should have one.
func unfinishedTable(r *Run) Table {
	t := newTable("missing", "Missing, skipped and removed rows", "row", "state", "why")
	for _, id := range r.Missing {
		why := cmp.Or(r.planned(id).Error, beyondBudget(r, id), "no result yet; run the same command with --resume")
		if r.State(id) == lost {
			why = "finished, and its file is gone; run the same command with --resume"
		}
		t.Add(TextCell(id), TextCell(r.State(id)), TextCell(why))
	}
	return t
}

func missingTable(r *Run) Table {
	t := unfinishedTable(r)
	for _, p := range r.Skipped {
		t.Add(TextCell(p.ID), TextCell(p.State), TextCell(p.Reason))
	}
	for _, row := range r.Rows {
		if r.removed(row.ID) {
			t.Add(TextCell(row.ID), TextCell("removed"), TextCell("no longer in the matrix; not counted"))
		}
	}
	return t
}

// cause is a bottleneck with the points that it is of.
type cause struct {
	first  *diagnosis.Diagnosis
	points []string
}

func causes(o *Analysis) (out []*cause) {
	seen := map[string]bool{}
	for i := range o.Diagnoses {
		d := &o.Diagnoses[i]
		if seen[d.Name] {
			continue
		}
		seen[d.Name] = true
		k := slices.IndexFunc(out, func(c *cause) bool {
			return c.first.Bottleneck == d.Bottleneck && c.first.Observation == d.Observation &&
				slices.Equal(c.first.Missing, d.Missing)
		})
		if k < 0 {
			k, out = len(out), append(out, &cause{first: d})
		}
		out[k].points = append(out[k].points, d.Name)
	}
	return out
}

// bottlenecksTable is one line for each cause. The tooltip has the evidence of its first point, the weightiest first.
func bottlenecksTable(o *Analysis) Table {
	t := newTable("diagnosis", "Bottlenecks", "bottleneck", "points", "observation", "first response")
	t.Note = "Inferred. Tooltips: evidence, and how to prove it."
	responses := map[string]bool{}
	for _, c := range causes(o) {
		var parts []string
		for _, e := range c.first.Evidence {
			parts = append(parts, e.String())
		}
		response := Cell{Text: c.first.Response, Title: "would confirm: " + c.first.Confirm}
		if len(c.first.Missing) > 0 {
			response = TextCell("not collected: " + strings.Join(c.first.Missing, "; "))
		}
		if responses[response.Text] { // above
			response = Cell{Text: moreMark, Kind: Faint, Title: response.Text}
		}
		responses[response.Text] = true
		points := Cell{Text: andMorePoints(c.points), Title: strings.Join(c.points, "\n")}
		observation := Cell{Text: c.first.Observation, Title: strings.Join(parts, "\n")}
		t.Add(TextCell(c.first.Bottleneck.Name()), points, observation, response)
	}
	return t
}

func (p *printer) bottlenecks(o *Analysis) {
	all := causes(o)
	if len(all) > 0 {
		p.line("")
		p.line("bottlenecks")
	}
	for _, b := range diagnosis.Bottlenecks {
		var points []string
		for _, c := range all {
			if c.first.Bottleneck == b {
				points = append(points, c.points...)
			}
		}
		if len(points) > 0 {
			p.clip("  ", b.Name()+": "+firstThree(points)) // names contain commas
		}
	}
}

package report

import (
	"cmp"
	"slices"
	"strings"

	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/experiment/verdict"
)

// sloTable is the values under each limit of the rows that do not pass all of them. A value without a verdict beside
// it passes; the tooltip has the reason.
func (r *Run) sloTable() Table {
	t := newTable("slo", "SLO by row", "row")
	at := map[string]int{}
	for _, row := range r.Live() {
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
	for _, row := range r.Live() {
		if !slices.ContainsFunc(row.SLO, func(v record.Verdict) bool { return v.Verdict != stats.Pass }) {
			passed++
			continue
		}
		cells := []Cell{TextCell(row.ID)}
		for range at {
			cells = append(cells, Absent())
		}
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
	c.Title = strings.Join(slices.DeleteFunc([]string{string(v.Verdict), v.Why, judged.Title, c.Title},
		func(s string) bool { return s == "" }), "; ")
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
		if c.Text += " " + verdict.EndsText(*v.Interval); v.Unit == "ms" || v.Unit == "share" {
			c.Text = verdict.EstimateText(&v)
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

func Exactly(x float64, u string) string {
	return unit.Exactly(x, UnitWords(u))
}

func UnitWords(unit string) string {
	return cmp.Or(map[string]string{"1/s": "req/s", "tokens/s": "tok/s"}[unit], unit)
}

func severityKind(s record.Severity) Kind {
	return cmp.Or(map[record.Severity]Kind{record.Invalid: Failed, record.Caution: Undecided}[s], Faint)
}

const moreMark = "…"

// findingsTable is one line for each code of findings, the most severe first: its worst case and the rows that
// have it. Tooltips have the other cases, and what to do about a caution: most need nothing.
func (o *Analysis) findingsTable() Table {
	t := newTable("findings", "Findings", "severity ?validity", "finding", "rows", "what, in the worst row")
	t.Note = "Tooltips at …: what to do."
	for _, d := range o.Findings {
		rows := Cell{Text: andMore(d.Cases[0].Row, len(d.Cases)-1)}
		var others []string
		for _, c := range d.Cases[1:] {
			others = append(others, c.Row+": "+c.Text)
		}
		rows.Title = strings.Join(others, "\n")
		what, hint := TextCell(d.Cases[0].Text), "what to do: "+d.Cases[0].Hint
		switch d.Severity {
		case record.Note:
			what = Cell{Text: moreMark, Kind: Faint, Title: d.Cases[0].Text}
		case record.Invalid:
			what.Text += "; " + hint
		default:
			what.Tag, what.Title = moreMark, hint
		}
		t.Add(Cell{Text: string(d.Severity), Kind: severityKind(d.Severity)}, TextCell(d.Code), rows, what)
	}
	return t
}

func (o *Analysis) expectTable() Table {
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
func (r *Run) unfinishedTable() Table {
	t := newTable("missing", "Missing, skipped and removed rows", "row", "state", "why")
	for _, id := range r.Missing {
		p := r.Manifest.Plan[slices.IndexFunc(r.Manifest.Plan, func(p record.Planned) bool { return p.ID == id })]
		why := cmp.Or(p.Error, r.beyondBudget(id), "no result yet; run the same command with --resume")
		if r.State(id) == lost {
			why = "finished, and its file is gone; run the same command with --resume"
		}
		t.Add(TextCell(id), TextCell(r.State(id)), TextCell(why))
	}
	return t
}

func (r *Run) missingTable() Table {
	t := r.unfinishedTable()
	for _, p := range r.Skipped {
		t.Add(TextCell(p.ID), TextCell(p.State), TextCell(p.Reason))
	}
	for _, row := range r.Rows {
		if r.Removed(row.ID) {
			t.Add(TextCell(row.ID), TextCell("removed"), TextCell("no longer in the matrix; not counted"))
		}
	}
	return t
}

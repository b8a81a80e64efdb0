package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"bench/experiment/series"
	"bench/experiment/unit"
)

// screen is the width that Text fits.
const screen = 100

// Text writes the final table for a terminal: verdicts in words, findings as footnotes with hints.
// Color adds to the words and replaces none.
func Text(w io.Writer, run *Run, color bool) error {
	o := run.Outcome()
	p := &printer{color: color}
	p.head(run, &o)
	t, flagged := o.textTable()
	p.table(t)
	p.legend(&o, &t)
	p.regimes(&o)
	p.footnotes(&o, flagged)
	p.missing(run.missingTable())
	_, err := io.WriteString(w, p.b.String())
	if err != nil {
		return fmt.Errorf("writing the table: %w", err)
	}
	return nil
}

func (p *printer) head(run *Run, o *Outcome) {
	m := run.Manifest
	p.wrap("", fmt.Sprintf("%s, run %s, model %s", m.Matrix, m.Run, or(m.Target.Model, "not stated")))
	if run.Simulated() {
		p.wrap("", "SIMULATED: measured against a simulated server, not a real one")
	}
	verdict := "none"
	if o.Verdict != "" {
		verdict = string(o.Verdict)
	}
	p.wrap("SLO  "+p.paint(verdictCell(o.Verdict, 0).kind, verdict)+":", o.SLO)
	p.wrap("validity ", o.Validity)
	accepted := o.Advice
	if o.Accepted != nil {
		accepted = o.Accepted.Text
	}
	p.wrap("accepted ", accepted)
	p.wrap("decision ", o.Decision.Advice)
	p.line("")
}

// textTable keeps to the columns that a terminal has room for; doubted maps a code to its footnote.
func (o *Outcome) textTable() (table, map[string]int) {
	u := inHeading
	flagged := map[string]int{}
	for i, d := range o.Findings {
		flagged[d.Code] = i + 1
	}
	t := table{columns: []column{{head: "point"}, {head: "output", unit: "tok/s", num: true},
		{head: "TTFT p50", unit: "ms", num: true}, {head: "TTFT p99", unit: "ms", num: true}, {head: "TPOT p50", unit: "ms", num: true},
		{head: "e2e p99", unit: "ms", num: true}, {head: "", unit: "n", num: true}, {head: "", unit: "SLO"}, {head: "", unit: "findings"}}}
	for i := range o.Series {
		s := &o.Series[i]
		if len(s.Points) > 1 { // a series has a line for its name
			t.rows = append(t.rows, []cell{text(s.Label())})
		}
		for j := range s.Points {
			p := &s.Points[j]
			name := text(pointName(s, p))
			if len(s.Points) > 1 {
				name.text = "  " + p.Load
			}
			if s.Closed {
				name.text += " †"
			}
			t.rows = append(t.rows, []cell{name, text(unit.Digits(p.OutputTokensPerS.Median)),
				u.percentile(p.TTFT, "p50"), u.percentile(p.TTFT, "p99"), u.percentile(p.TPOT, "p50"), u.percentile(p.E2E, "p99"),
				completed(p), verdictCell(p.SLO, p.Need), footnoteCell(p, flagged)})
		}
	}
	return t, flagged
}

func footnoteCell(p *series.SeriesPoint, flagged map[string]int) cell {
	var notes []int
	for _, d := range p.Findings {
		notes = append(notes, flagged[d.Code])
	}
	for _, r := range p.Rows {
		for _, d := range r.Findings {
			notes = append(notes, flagged[d.Code])
		}
	}
	slices.Sort(notes)
	if notes = slices.Compact(notes); len(notes) == 0 {
		return cell{text: "none", kind: faint}
	}
	parts := make([]string, len(notes))
	for i, n := range notes {
		parts[i] = strconv.Itoa(n)
	}
	return cell{text: strings.Join(parts, " "), kind: failed}
}

// legend explains the marks that the table has.
func (p *printer) legend(o *Outcome, t *table) {
	used := map[kind]bool{}
	for _, row := range t.rows {
		for _, c := range row {
			used[c.kind] = true
		}
	}
	closed := slices.ContainsFunc(o.Series, func(s series.Series) bool { return s.Closed })
	p.line("")
	if closed {
		p.line("  † closed loop: latencies count from slot, the moment the slot became free")
	}
	for _, s := range o.Series {
		for _, mark := range s.Marks {
			p.wrap(" ", s.Label()+": "+mark)
		}
	}
	if used[thin] {
		p.line("  ~ thin: few requests lie beyond it")
	}
	if used[noBound] {
		p.line("  ≥ no bound: too few requests; the lower end of the 95 % interval, or n where there is none")
	}
}

// missing names the first of the rows that have no result for the same reason, and counts the others: of a sweep that was cut off
// there can be hundreds.
func (p *printer) missing(t table) {
	var order []string
	rows := map[string][]string{}
	for _, row := range t.rows {
		why := " (" + row[1].text + "): " + row[2].text
		if rows[why] == nil {
			order = append(order, why)
		}
		rows[why] = append(rows[why], row[0].text)
	}
	if len(order) > 0 {
		p.line("")
	}
	for _, why := range order {
		who := rows[why][0]
		if n := len(rows[why]) - 1; n > 0 {
			who += ", and " + plural(n, "more row", "more rows")
		}
		p.wrap(" ", who+why)
	}
}

func (p *printer) footnotes(o *Outcome, flagged map[string]int) {
	if len(o.Findings) == 0 {
		return
	}
	p.line("")
	p.line("findings")
	for _, d := range o.Findings {
		c := d.Cases[0]
		s := fmt.Sprintf("%d %s: %s", flagged[d.Code], d.Code, c.Text)
		if n := len(d.Cases) - 1; n > 0 {
			s += fmt.Sprintf(" (%s, and %s)", c.Row, plural(n, "more row", "more rows"))
		} else {
			s += " (" + c.Row + ")"
		}
		p.wrap(" ", s)
		p.wrap("   ", "hint: "+c.Hint)
	}
}

package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/unit"
)

// Text writes the final table for a terminal, with findings as footnotes. Color repeats what the words say.
func Text(w io.Writer, run *Run, color bool) error {
	o := run.Outcome()
	p := &printer{color: color}
	p.head(run, &o)
	t, footnotes := o.textTable()
	p.table(t)
	p.legend(&o, &t)
	p.bottlenecks(&o)
	p.findings(&o, footnotes)
	p.missing(run.missingTable())
	return p.flush(w)
}

func (p *printer) head(run *Run, o *Outcome) {
	m := run.Manifest
	p.wrap("", fmt.Sprintf("%s, run %s, model %s", m.Matrix, m.Run, cmp.Or(m.Target.Model, "not reported")))
	if run.Simulated() {
		p.wrap("", "SIMULATED: measured against a simulated server")
	}
	for _, line := range run.Evaluated.Lines() {
		p.wrap("", line)
	}
	p.wrap("SLO  "+p.paint(verdictCell(o.Verdict, 0).Kind, cmp.Or(string(o.Verdict), "none"))+":", o.SLO)
	p.wrap("validity ", o.Validity)
	point := "none"
	if s, best := o.operatingPoint(); best != nil {
		point = pointSentence(s, best)
	}
	p.wrap("operating point ", point)
	for _, line := range o.operatingCautions() {
		p.wrap("  ", line)
	}
	p.wrap("decision ", o.Decision.Advice)
	p.line("")
}

func pointSentence(s *series.Series, p *series.Point) string {
	parts := []string{unit.Format(p.OutputTokensPerS.Median, "output tok/s")}
	for _, metric := range []string{"ttft", "tpot", "e2e"} {
		if l, ok := p.Latency(metric).Get("p99"); ok {
			parts = append(parts, fmt.Sprintf("%s p99 %s", MetricName(metric), l))
		}
	}
	return fmt.Sprintf("%s: %s", s.PointName(p), strings.Join(parts, ", "))
}

// textTable is the columns that fit a terminal; footnotes numbers the findings that are no notes.
func (o *Outcome) textTable() (t Table, footnotes map[string]int) {
	u := InHeading
	footnotes = map[string]int{}
	for _, d := range o.Findings {
		if key := footnote(d.Severity, d.Code); d.Severity != record.Note {
			footnotes[key] = len(footnotes) + 1
		}
	}
	t = Table{Columns: []Column{{Head: "point"}, {Head: "output", Unit: "tok/s", Num: true}, u.column("TTFT p50"), u.column("TTFT p99"), u.column("TPOT p50"),
		u.column("E2E p99"), {Head: "", Unit: "n", Num: true}, {Head: "", Unit: "SLO"}, {Head: "", Unit: "findings"}}}
	for i := range o.Series {
		s := &o.Series[i]
		if len(s.Points) > 1 { // the name of a curve has its own line
			t.Add(TextCell(s.Label()))
		}
		for j := range s.Points {
			p := &s.Points[j]
			name := TextCell(s.PointName(p))
			if len(s.Points) > 1 {
				name.Text = "  " + p.Load
			}
			if s.Closed {
				name.Text += " †"
			}
			t.Add(name, TextCell(unit.Digits(p.OutputTokensPerS.Median)),
				u.Percentile(p.TTFT, "p50"), u.Percentile(p.TTFT, "p99"), u.Percentile(p.TPOT, "p50"), u.Percentile(p.E2E, "p99"),
				completed(p), verdictCell(p.SLO, p.Need), footnoteCell(p, footnotes))
		}
	}
	return t, footnotes
}

// footnote is the key of a finding in footnotes: a code can have two severities.
func footnote(s record.Severity, code string) string { return string(s) + " " + code }

func footnoteCell(p *series.Point, footnotes map[string]int) Cell {
	var notes []int
	add := func(findings []record.Finding) {
		for _, d := range findings {
			if n := footnotes[footnote(d.Severity, d.Code)]; n > 0 {
				notes = append(notes, n)
			}
		}
	}
	add(p.Findings)
	for _, r := range p.Rows {
		add(r.Findings)
	}
	slices.Sort(notes)
	if notes = slices.Compact(notes); len(notes) == 0 {
		return Cell{Text: "none", Kind: Faint}
	}
	parts := make([]string, len(notes))
	for i, n := range notes {
		parts[i] = strconv.Itoa(n)
	}
	kind := Undecided
	if !p.Valid {
		kind = Failed
	}
	return Cell{Text: strings.Join(parts, " "), Kind: kind}
}

// legend explains the marks that the table uses.
func (p *printer) legend(o *Outcome, t *Table) {
	used := map[Kind]bool{}
	for _, row := range t.Rows {
		for _, c := range row {
			used[c.Kind] = true
		}
	}
	p.line("")
	if slices.ContainsFunc(o.Series, func(s series.Series) bool { return s.Closed }) {
		p.line("  † closed loop: latencies count from the moment a worker is free")
	}
	for _, s := range o.Series {
		for _, mark := range s.Marks {
			p.wrap(" ", s.Label()+": "+mark)
		}
	}
	if used[Thin] {
		p.line("  ~ thin: few independent requests beyond it")
	}
	if used[NoBound] {
		p.line("  ≥ n too small: the lower end of the 95 % interval; n=4: too few independent requests for any bound")
	}
}

// missing names one row for each reason and counts the others: an interrupted sweep can lack hundreds.
func (p *printer) missing(t Table) {
	var order []string
	rows := map[string][]string{}
	for _, row := range t.Rows {
		why := " (" + row[1].Text + "): " + row[2].Text
		if rows[why] == nil {
			order = append(order, why)
		}
		rows[why] = append(rows[why], row[0].Text)
	}
	if len(order) > 0 {
		p.line("")
	}
	for _, why := range order {
		p.wrap(" ", andMore(rows[why][0], len(rows[why])-1)+why)
	}
}

// andMore is the name of a row and the number of others.
func andMore(row string, others int) string {
	if others > 0 {
		row += ", and " + unit.Plural(others, "more row")
	}
	return row
}

// findings writes one line for each code. Only an invalid row needs its hint here.
func (p *printer) findings(o *Outcome, footnotes map[string]int) {
	if len(o.Findings) == 0 {
		return
	}
	p.line("")
	p.line("findings (hints: bench report --format md)")
	var notes []string
	for _, d := range o.Findings {
		c := d.Cases[0]
		if d.Severity == record.Note {
			notes = append(notes, fmt.Sprintf("%s (%s)", d.Code, unit.Plural(len(d.Cases), "row")))
			continue
		}
		number, severity := footnotes[footnote(d.Severity, d.Code)], p.paint(severityKind(d.Severity), string(d.Severity))
		p.wrap(fmt.Sprintf("  %d %s", number, severity), fmt.Sprintf("%s: %s (%s)", d.Code, c.Text, andMore(c.Row, len(d.Cases)-1)))
		if d.Severity == record.Invalid {
			p.wrap("   ", "hint: "+c.Hint)
		}
	}
	if len(notes) > 0 {
		p.wrap(" ", "notes: "+strings.Join(notes, ", "))
	}
}

// operatingCautions are the cautions of the operating point, one line each.
func (o *Outcome) operatingCautions() []string {
	var lines []string
	if a := o.Decision.Operating; a != nil {
		for _, f := range a.Findings {
			if f.Severity == record.Caution {
				lines = append(lines, fmt.Sprintf("%s %s: %s", f.Severity, f.Code, f.Text))
			}
		}
	}
	return lines
}

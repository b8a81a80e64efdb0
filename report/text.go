package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"bench/experiment/diagnosis"
	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/text"
	"bench/experiment/unit"
	"bench/experiment/verdict"
)

const mostParts = 5 // rows of the table of parts of the TTFT

// Text writes the answer last, where it stays on the screen.
func Text(w io.Writer, run *Run, screen Screen) error {
	o := run.Analyze()
	p := newPrinter(screen)
	p.head(run, &o)
	footnotes := footnotes(&o)
	t := textTable(&o, p.width, footnotes)
	p.table(t)
	p.legend(&o, &t)
	p.optionalTable(racedTable(&o))
	p.beside(run, &o)
	p.optionalTable(tilingTable(run))
	p.optionalTable(sessionsTable(run))
	p.optionalTable(reasoningTable(run))
	p.optionalTable(answersTable(run))
	p.groups(&o)
	p.few(speculationTable(run).keep([]int{0, 3, 4, 5, 6}), mostGroups, "report.html, tab Server")
	parts := ttftPartsTable(run, notPrefill)
	parts.Caption += ", where prefill is less than half of it; histograms include the warm-up"
	p.few(parts, mostParts, "report.html, tab Latency")
	p.few(workersTable(run).keep([]int{0, 1, 2, 5, 6, 9}), mostGroups, "report.html, tab Server")
	p.bottlenecks(&o)
	if point := publishedPoint(&o); point != nil {
		p.captioned(publishedTable(&o, point), p.table)
	}
	p.findings(&o, &t, footnotes)
	p.missing(missingTable(run))
	p.shadow(run)
	p.answer(&o)
	if run.Shadow != nil {
		p.line("")
		p.shadowAnswer(run.Shadow)
	}
	return p.flush(w)
}

func (p *printer) head(run *Run, o *Analysis) {
	m := run.Manifest
	p.wrap("", fmt.Sprintf("%s, run %s: %s", m.Matrix, m.Run, run.Setup()))
	if run.Tag() == tagSimulated {
		p.wrap("", "SIMULATED: measured against a simulated server")
	}
	p.wraps("", run.Notices()...)
	p.wrap("SLO ", o.SLOLine())
	p.line("")
}

func (p *printer) answer(o *Analysis) {
	p.line("")
	w, _ := o.First()
	if w == nil || o.Imported != "" {
		p.wrap("", o.Answer.Text)
		return
	}
	v := o.View(w)
	p.line(p.paint(v.Kind, text.Ellipsis(text.Escape(v.Headline), p.width)))
	p.wraps("  ", v.Estimate)
	p.wrap("  ", v.Text)
	p.wrap("  ", v.figuresLine())
	p.classesAndSettings(&v, len(v.Settings))
	for _, x := range [][2]string{{"twin", v.Twin}, {"next", v.Next}, {"caution", v.Caution},
		{"others", o.Answer.Others()}, {"trust", v.Trust}, {"time", o.Time.line()}} {
		p.labelled(x[0], x[1])
	}
}

func (p *printer) legend(o *Analysis, t *Table) {
	used := t.kinds()
	p.line("")
	if slices.ContainsFunc(o.Answer.Workloads, func(w diagnosis.Workload) bool { return w.Operating != nil }) {
		p.wrap(" ", operatingMark+" operating point of its workload")
	}
	if slices.ContainsFunc(o.Series, func(s series.Series) bool { return s.Closed }) {
		p.wrap(" ",
			"† closed loop: latencies count from the moment a worker is free, so a queue of users does not show")
	}
	for _, s := range o.Series {
		for _, mark := range s.Marks {
			p.wrap(" ", s.Label()+": "+mark)
		}
	}
	if o.any((*series.Point).ByHigherLoad) {
		p.wrap(" ", higherMark)
	}
	if o.any((*series.Point).ByTwin) {
		p.wrap(" ", "(twin): its own requests are too few; the model fitted to all loads decides")
	}
	if used[Thin] {
		p.wrap(" ", "~ thin: few independent requests beyond it")
	}
	if text := t.neededText(); text != "" {
		p.wrap(" ", text+": the lower end of the 95 % interval; n=…: not even that")
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
		text, more, _ := strings.Cut(why, "\n") // a server's last output has several lines
		p.wrap(" ", andMore(rows[why])+text)
		if more == "" {
			continue
		}
		for line := range strings.SplitSeq(more, "\n") {
			p.wrap("   ", line)
		}
	}
}

// andMore names the first row; empty: there is none.
func andMore(rows []string) string {
	if len(rows) == 0 {
		return ""
	}
	return rows[0] + others(", and ", len(rows), "more row")
}

// others counts all but the first of n things, after a word; empty: there is no other.
func others(word string, n int, thing string) string {
	if n < 2 {
		return ""
	}
	return word + unit.Plural(n-1, thing)
}

// findings writes each code, the most severe first, with its number if the table names numbers. Their hints are in the
// report.
func (p *printer) findings(o *Analysis, t *Table, footnotes map[string]int) {
	if len(o.Findings) == 0 {
		return
	}
	p.line("")
	p.wrap("", "findings (what to do: report.html, tab Trust)")
	numbered := slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Head == numbersHead })
	for _, d := range o.Findings {
		if d.Severity == record.Note {
			continue
		}
		severity := p.paint(severityCell(d.Severity).Kind, string(d.Severity))
		lead := "  " + severity + " "
		if numbered {
			lead = fmt.Sprintf("  %2d %s ", footnotes[footnote(d.Severity, d.Code)], severity)
		}
		p.wrap(strings.TrimRight(lead, " "), d.text())
	}
	if notes := o.notes(); notes != "" {
		p.wrap(" ", "notes: "+notes)
	}
}

// AskText writes the twin's answer to a question.
func AskText(w io.Writer, s *series.Series, q series.Question, a *series.Estimated, screen Screen) error {
	p := newPrinter(screen)
	load := func(x float64) string { return unit.Brief(x, 4) + map[bool]string{true: "/s"}[s.Axis == "rate"] }
	if q.Load > 0 {
		on := ""
		if q.Replicas > 1 {
			on = fmt.Sprintf(" on %.0f replicas", q.Replicas)
		}
		p.wrap("", fmt.Sprintf("%s at %s %s%s (estimated of a long run, ms)", s.Label(), s.Axis, load(q.Load), on))
		for i := 0; i < len(a.Latencies); {
			name, _ := metric.Cut(a.Latencies[i].Metric)
			line := fmt.Sprintf("  %-5s", strings.ToUpper(name))
			for ; i < len(a.Latencies); i++ {
				x := &a.Latencies[i]
				of, stat := metric.Cut(x.Metric)
				if of != name {
					break
				}
				part := fmt.Sprintf("  %s %s [%s, %s]", stat, unit.Brief(x.Ms, 3),
					unit.Brief(x.Low, 3), unit.Brief(x.High, 3))
				if text.Width(line+part) > p.width {
					p.line(line)
					line = strings.Repeat(" ", len("  TTFT "))
				}
				line += part
			}
			p.line(line)
		}
	} else {
		answer := "not known"
		switch {
		case a.Best != nil:
			answer = fmt.Sprintf("≈ %s (%s–%s), estimated", load(*a.Best), unit.Brief(*a.Low, 3),
				unit.Brief(*a.High, 3))
		case a.Low != nil:
			answer = load(*a.Low) + " or more, estimated"
		case a.High != nil:
			answer = "below " + load(*a.High) + ", estimated"
		}
		p.wrap("", fmt.Sprintf("%s: the highest %s that meets the SLO is %s", s.Label(), s.Axis, answer))
		var without []string
		for _, l := range s.Points[0].Rows[0].Spec.SLO.Limits {
			if l.Stat == "" {
				without = append(without, verdict.TextOfLimit(l.Key, "", l.Value, l.Unit))
			}
		}
		if len(without) > 0 {
			p.wrap("  not a limit here:", strings.Join(without, ", "))
		}
	}
	p.wrap("  twin", series.TwinText(&a.Twin))
	p.wrap("  server", series.ServerText(&a.Twin))
	return p.flush(w)
}

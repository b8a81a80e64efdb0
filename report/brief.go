package report

import (
	"cmp"
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
)

// Of a brief text: answer and points are on one screen of 40 lines.
const (
	mostBriefPoints   = 20
	mostBriefSettings = 6
)

// Brief is what a sweep prints at its end: the answer, the points, and what to do next. Text has the rest.
func Brief(w io.Writer, run *Run, screen Screen) error {
	o := run.Analyze()
	p := newPrinter(screen)
	p.briefAnswer(run, &o)
	p.line("")
	t, left := briefTable(&o, p.width)
	p.table(t)
	p.briefLegend(&o, &t, left)
	p.few(racedTable(&o), mostBriefPoints, "report.html")
	p.beside(run, &o)
	p.optionalTable(tilingTable(run))
	p.invalid(&o)
	p.missing(unfinishedTable(run))
	p.briefEnd(run, &o)
	return p.flush(w)
}

func (p *printer) briefAnswer(run *Run, o *Analysis) {
	if run.Shadow != nil {
		p.shadowAnswer(run.Shadow)
	}
	w, _ := o.First()
	notices := run.Notices()
	if w == nil || o.Imported != "" {
		p.wrap("", o.Answer.Text)
	} else {
		v := o.View(w)
		p.line(p.paint(v.Kind, text.Ellipsis(text.Escape(v.Headline), p.width)))
		p.wraps("  ", cmp.Or(v.Estimate, w.Operating.BringsText()))
		p.wrap("  ", v.Text)
		p.classesAndSettings(&v, mostBriefSettings)
		notices = briefNotices(run)
	}
	if len(o.Answer.SLO) > 0 {
		p.wrap("  ", "SLO "+o.SLOLine())
	}
	p.wraps("", notices...)
}

// briefNotices lack that the run is a prediction: its headline has it.
func briefNotices(r *Run) []string {
	lines := r.Notices()
	if r.Manifest.Predicted != nil {
		lines = lines[1:]
	}
	return lines
}

func (p *printer) classesAndSettings(v *AnswerView, most int) {
	for _, c := range v.Classes {
		p.wrap("  "+p.paint(c.Kind, text.Pad(text.Escape(c.Name), 8)), c.Text)
	}
	p.labelled("tenants", v.Tenants)
	for i, text := range v.Settings[:min(most, len(v.Settings))] {
		p.wrap(fmt.Sprintf("  %-8s", map[bool]string{true: "settings"}[i == 0]), text)
	}
	if more := len(v.Settings) - most; more > 0 {
		p.wrap("           ", "and "+unit.Count(more)+" more")
	}
}

// briefTable has the leading workload first, and the quoted point of each other one before its other points; left is
// the number of points that it lacks.
func briefTable(o *Analysis, width int) (t Table, left int) {
	all := briefColumns(o)
	t = tableOf("", "", all)
	shown, left := briefPoints(o)
	w, _ := o.First()
	for _, leading := range []bool{true, false} {
		for i := range o.Series {
			if leading == (w != nil && i == w.Series) {
				t.addPoints(&o.Series[i], all, func(point int) bool { return shown[[2]int{i, point}] })
			}
		}
	}
	return t.keep(fitting(&t, all, width)), left
}

// briefPoints are those that fit, by series and point: of the leading workload, then quoted ones, then any, the nearest
// to the quoted point first.
func briefPoints(o *Analysis) (shown map[[2]int]bool, left int) {
	quoted := map[int]int{}
	for _, w := range o.Answer.Workloads {
		quoted[w.Series] = w.Quoted
	}
	first, _ := o.First()
	type place struct{ at, rank [2]int }
	var all []place
	for i := range o.Series {
		leading := first != nil && i == first.Series
		if o.Answer.Tune != nil && first != nil && !leading { // the table of settings has it
			continue
		}
		for j := range o.Series[i].Points {
			away, group := max(j-quoted[i], quoted[i]-j), 2
			switch {
			case leading:
				group = 0
			case away == 0:
				group = 1
			}
			all = append(all, place{[2]int{i, j}, [2]int{group, away}})
		}
	}
	slices.SortStableFunc(all, func(a, b place) int { return slices.Compare(a.rank[:], b.rank[:]) })
	shown = map[[2]int]bool{}
	for _, x := range all[:min(len(all), mostBriefPoints)] {
		shown[x.at] = true
	}
	return shown, len(all) - len(shown)
}

// briefColumns are the load, what it brings, the latencies that the SLO limits, else a tail, and the verdict.
func briefColumns(o *Analysis) []pointColumn {
	output := ofPoint("output|tok/s #", always, outputCell)
	if o.PerGPU() {
		output = ofPoint("|tok/s/GPU #", always, perGPUCell)
	}
	all := []pointColumn{{Column{Head: "point"}, always, func(s *series.Series, p *series.Point) Cell {
		return TextCell(briefName(s, p))
	}}, output}
	for _, latency := range metric.Shown {
		tail := unranked
		if latency == "ttft" || latency == "tpot" || latency == "e2e" && !o.streams() {
			tail = 1
		}
		all = append(all, latencyColumns(o, latency, unranked, tail)...)
	}
	all = append(all, otherLimited(o, limitedColumns)...)
	return append(all, pointColumn{Column{Head: "SLO"}, always, func(s *series.Series, p *series.Point) Cell {
		c := o.statusCell(p)
		if c.Kind == Passed && diagnosis.Baseline(s) {
			c.Text = "baseline"
		}
		return c
	}})
}

const higherMark = "↑ a higher load passes"

func (p *printer) briefLegend(o *Analysis, t *Table, left int) {
	var parts []string
	if left > 0 {
		parts = append(parts, unit.Plural(left, "more point"))
	}
	if slices.ContainsFunc(o.Answer.Workloads, func(w diagnosis.Workload) bool { return w.Operating != nil }) {
		parts = append(parts, operatingMark+" operating point")
	}
	if o.any((*series.Point).ByHigherLoad) {
		parts = append(parts, higherMark)
	}
	if used := t.kinds(); used[Thin] {
		parts = append(parts, "~ thin")
	}
	if text := t.neededText(); text != "" {
		parts = append(parts, text)
	}
	if len(parts) > 0 {
		p.wrap("  ", strings.Join(parts, " · "))
	}
}

// invalid writes why rows are left out: a server's error must not need another command.
func (p *printer) invalid(o *Analysis) {
	for _, d := range o.Findings {
		if d.Severity == record.Invalid {
			p.wrap("   "+p.paint(Failed, "invalid"), d.text())
		}
	}
}

func (p *printer) briefEnd(run *Run, o *Analysis) {
	p.line("")
	if w, _ := o.First(); w != nil && o.Imported == "" {
		v := o.View(w)
		p.labelled("next", v.Next)
		if v.Caution != "" {
			p.clip("  caution  ", v.Caution)
		}
		p.labelled("trust", v.Trust)
	}
	state := run.Manifest.State
	if state == "done" {
		state = ""
	}
	subject := slices.Concat([]string{run.Manifest.Matrix}, subject(run), []string{run.Tag(), state})
	p.labelled("run", strings.Trim(joined(" · ", subject...), " ·"))
	p.labelled("more", "bench report "+text.ShellWords([]string{run.Dir})+" --findings")
}

// labelled writes a text below its label; without a text nothing.
func (p *printer) labelled(label, text string) {
	if text != "" {
		p.wrap(fmt.Sprintf("  %-8s", label), text)
	}
}

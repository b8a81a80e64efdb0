package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"bench/experiment/diagnosis"
	"bench/experiment/record"
	"bench/experiment/series"
)

// Setup is what was measured, on one line: model, hardware, precision, engine, start, load workers and duration.
func (r *Run) Setup() string {
	m, parts := r.Manifest, subject(r)
	if !m.StartedAt.IsZero() {
		parts = append(parts, m.StartedAt.UTC().Format(stamp))
	}
	if load := loadWorkers(r); load != "" {
		parts = append(parts, "load workers: "+load)
	}
	if !m.EndedAt.IsZero() {
		parts = append(parts, m.EndedAt.Sub(m.StartedAt).Round(time.Second).String())
	}
	if m.State != "done" {
		parts = append(parts, m.State)
	}
	return strings.Join(parts, " · ")
}

// subject is what was measured: model, hardware with its price, precision, engine, and lengths that all rows have.
func subject(r *Run) []string {
	g := r.Manifest.Target
	unknown := "model not reported"
	if r.IsRecording() {
		unknown = "models not recorded (--keep-models)"
	}
	hardware := hardwareText(&g)
	if price := diagnosis.PriceText(&r.Manifest); price != "" {
		hardware += " (" + price + ")"
	}
	return slices.DeleteFunc([]string{cmp.Or(g.Model, unknown), hardware, g.Precision, engine(r), g.API, shape(r)},
		func(s string) bool { return s == "" })
}

// shape is the lengths of the requests of all rows; empty: rows differ, or none states them.
func shape(r *Run) (text string) {
	rows := r.Live()
	for i := range rows {
		switch of := rows[i].Spec.ShapeText(); {
		case i == 0:
			text = of
		case of != text:
			return ""
		}
	}
	return text
}

// IsRecording reports whether the run is a recording of live traffic.
func (r *Run) IsRecording() bool { return len(r.Rows) > 0 && r.Rows[0].Observed }

func hardwareText(t *record.TargetInfo) string {
	switch {
	case t.Hardware == "":
		return "hardware not specified"
	case t.GPUs > 0:
		return fmt.Sprintf("%d × %s", t.GPUs, t.Hardware)
	}
	return t.Hardware
}

// engine is the engine with its version; empty: not reported, or simulated.
func engine(r *Run) string {
	engines := record.Engines(r.Rows)
	if r.simulated() || engines == "" {
		return ""
	}
	if v := r.Manifest.Target.ServerVersion(); !strings.HasPrefix(v, "{") && !strings.Contains(engines, ", ") {
		engines = strings.TrimSpace(engines + " " + v)
	}
	return engines
}

func (o *Analysis) SLOLine() string {
	if len(o.Answer.SLO) == 0 {
		return "none specified"
	}
	return strings.Join(o.Answer.SLO, " · ")
}

type AnswerView struct {
	Headline string // "SHIP D-saturation at concurrency 32"
	Kind     Kind
	Text     string           // how far the SLO is met and what ends it
	Figures  []diagnosis.Fact // of the quoted point
	Classes  []ClassLine      // of a mix whose classes have SLOs of their own; empty: another workload
	Tenants  string           // how the classes fared beside each other; empty: another workload
	Settings []string         // the comparison of settings that the workload is part of; empty: none
	Closest  string           // the limit that the operating point comes nearest to; empty: none
	Estimate string           // what the estimated load brings; empty: no estimate
	Twin     string           // what the estimate rests on; empty: no twin was fitted
	Next     string           // what to run next; empty: nothing
	Caution  string           // the cautions of the operating point; empty: none
	Trust    string           // how many of the run's rows support the answer
}

// ClassLine is how a class meets its SLO.
type ClassLine struct {
	Name string
	Kind Kind
	Text string
}

func (o *Analysis) View(w *diagnosis.Workload) AnswerView {
	v := AnswerView{Headline: w.Headline(), Kind: verdictKind(w.Verdict), Text: w.Text, Figures: w.Figures,
		Trust: trustLine(&o.Answer.Trust, w), Settings: settingsLines(o, w)}
	for _, c := range w.Classes {
		v.Classes = append(v.Classes, ClassLine{c.Name(), verdictKind(c.Verdict), c.Text})
	}
	shape := func(s *series.Series) string { return s.Points[0].Rows[0].Spec.ShapeText() }
	if slices.ContainsFunc(o.Series, func(s series.Series) bool { return shape(&s) != shape(&o.Series[0]) }) {
		v.Text = strings.TrimPrefix(shape(&o.Series[w.Series])+"; "+v.Text, "; ") // the run's line has no lengths
	}
	if e := w.Estimate; e != nil {
		v.Estimate, v.Twin, v.Caution = e.Figures, e.Twin, e.TwinCaution
	}
	if w.Next != nil {
		v.Next = w.Next.Text
	}
	if w.Tenants != nil {
		v.Tenants = w.Tenants.Text
	}
	if o := w.Operating; o != nil {
		if o.Closest != nil {
			v.Closest = o.Closest.Text
		}
		if n := len(o.Cautions); n > 0 { // the PASS is decided with the effects of all of them
			text := o.Cautions[0].Code + ": " + o.Cautions[0].Text
			if n > 1 {
				text += others(" (and ", n, "more caution") + ")"
			}
			v.Caution = clauses(v.Caution, text+". The PASS holds in the worst case")
		}
	}
	return v
}

// trustLine states that the cautions of the run are at other points, if the operating point has none.
func trustLine(t *diagnosis.Trust, w *diagnosis.Workload) string {
	if t.Cautions == 0 || w.Operating == nil || len(w.Operating.Cautions) > 0 {
		return t.Text
	}
	return t.Text + "; no caution at this point"
}

// figuresLine is the figures on one line: "tok/s/GPU 6,610 · TTFT p95 106 ms [83, 152] · n 150".
func (v *AnswerView) figuresLine() string {
	var parts []string
	for _, f := range v.Figures {
		parts = append(parts, f.Name+" "+f.Value)
	}
	if v.Closest != "" {
		parts = append(parts, v.Closest)
	}
	return strings.Join(parts, " · ")
}

const operatingMark = "★"

func workloadsTable(o *Analysis) Table {
	t := newTable("workloads", "Workloads", "workload", "answer", "why", "next")
	if o.Imported != "" || len(o.Answer.Workloads) < 2 { // the answer has the only one
		return t
	}
	for i := range o.Answer.Workloads {
		w := &o.Answer.Workloads[i]
		next := Absent()
		if w.Next != nil {
			next = Cell{Text: w.Next.Text, Title: w.Next.TOML}
		}
		name := TextCell(w.Name)
		if o.Series[w.Series].Closed {
			name.Tag = closedLoop
		}
		t.Add(name, Cell{Text: w.Lead, Kind: verdictKind(w.Verdict)}, TextCell(w.Text), next)
	}
	return t
}

// statusCell is PASS, FAIL, UNDECIDED or INVALID; PASS ★: the operating point of its workload; PASS (twin), PASS ↑: its
// own requests alone decide nothing, but the twin, or a higher load that passes.
func (o *Analysis) statusCell(p *series.Point) Cell {
	s := o.StatusOf(p)
	c := verdictCell(p.SLO, p.Need)
	switch {
	case p.ByTwin():
		c.Text += " (twin)"
	case p.ByHigherLoad():
		c.Text += " ↑"
	}
	switch {
	case s.Status == diagnosis.Ship:
		c.Text, c.Title = c.Text+" "+operatingMark, "the operating point of its workload"
	case s.Status == diagnosis.Invalid || p.Class != "" && !p.Valid:
		c = Cell{Text: "INVALID", Kind: Failed}
	}
	c.Title = cmp.Or(s.Text, c.Title)
	return c
}

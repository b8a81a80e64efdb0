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
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// Setup is what was measured, on one line: model, hardware, precision, engine, start, load workers and duration.
func (r *Run) Setup() string {
	m, parts := r.Manifest, r.subject()
	if !m.StartedAt.IsZero() {
		parts = append(parts, m.StartedAt.UTC().Format(stamp))
	}
	if load := r.loadWorkers(); load != "" {
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
func (r *Run) subject() []string {
	g := r.Manifest.Target
	unknown := "model not reported"
	if r.IsRecording() {
		unknown = "models not recorded (--keep-models)"
	}
	parts := []string{cmp.Or(g.Model, unknown), hardwareText(&g)}
	if price := diagnosis.PriceText(&r.Manifest); price != "" {
		parts[1] += " (" + price + ")"
	}
	for _, s := range []string{g.Precision, r.engine(), g.API, r.shape()} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return parts
}

// shape is the lengths of the requests of all rows; empty: rows differ, or none states them.
func (r *Run) shape() (text string) {
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

// shapesDiffer reports whether the run's line on its subject has no lengths, as rows differ.
func (o *Analysis) shapesDiffer() bool {
	shape := func(s *series.Series) string { return s.Points[0].Rows[0].Spec.ShapeText() }
	return slices.ContainsFunc(o.Series, func(s series.Series) bool { return shape(&s) != shape(&o.Series[0]) })
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
func (r *Run) engine() string {
	engines := record.Engines(r.Rows)
	if r.Simulated() || engines == "" {
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
	v := AnswerView{Headline: w.Headline(), Kind: leadKind(w.Verdict), Text: w.Text, Figures: w.Figures,
		Trust: trustLine(&o.Answer.Trust, w), Settings: o.settingsLines(w)}
	for _, c := range w.Classes {
		v.Classes = append(v.Classes, ClassLine{c.Name(), leadKind(c.Verdict), c.Text})
	}
	if o.shapesDiffer() {
		shape := o.Series[w.Series].Points[0].Rows[0].Spec.ShapeText()
		v.Text = strings.TrimPrefix(shape+"; "+v.Text, "; ")
	}
	if w.Estimate != nil {
		v.Estimate, v.Twin = w.Estimate.Figures, w.Estimate.Twin
	}
	if w.Next != nil {
		v.Next = w.Next.Text
	}
	if w.Tenants != nil {
		v.Tenants = w.Tenants.Text
	}
	var cautions []string
	if w.Estimate != nil && w.Estimate.TwinCaution != "" {
		cautions = append(cautions, w.Estimate.TwinCaution)
	}
	if o := w.Operating; o != nil {
		if text := cautionLine(o); text != "" {
			cautions = append(cautions, text)
		}
		if o.Closest != nil {
			v.Closest = o.Closest.Text
		}
	}
	v.Caution = strings.Join(cautions, "; ")
	return v
}

// trustLine states that the cautions of the run are at other points, if the operating point has none.
func trustLine(t *diagnosis.Trust, w *diagnosis.Workload) string {
	if t.Cautions == 0 || w.Operating == nil || len(w.Operating.Cautions) > 0 {
		return t.Text
	}
	return t.Text + "; no caution at this point"
}

// FiguresLine is the figures on one line: "tok/s/GPU 6,610 · TTFT p95 106 ms [83, 152] · n 150".
func (v *AnswerView) FiguresLine() string {
	var parts []string
	for _, f := range v.Figures {
		parts = append(parts, f.Name+" "+f.Value)
	}
	if v.Closest != "" {
		parts = append(parts, v.Closest)
	}
	return strings.Join(parts, " · ")
}

func leadKind(v stats.Verdict) Kind {
	if v == "" {
		return Plain
	}
	return verdictCell(v, 0).Kind
}

// cautionLine says why the PASS stands: it is decided with the effects of all cautions.
func cautionLine(o *diagnosis.OperatingPoint) string {
	if len(o.Cautions) == 0 {
		return ""
	}
	first := o.Cautions[0]
	text := first.Code + ": " + first.Text
	if n := len(o.Cautions) - 1; n > 0 {
		text += fmt.Sprintf(" (and %s)", unit.Plural(n, "more caution"))
	}
	return text + ". The PASS holds in the worst case"
}

const operatingMark = "★"

func (o *Analysis) workloadsTable() Table {
	t := newTable("workloads", "Workloads", "workload", "answer", "why", "next")
	if o.Imported != "" || len(o.Answer.Workloads) < 2 { // the answer has the only one
		return t
	}
	for i := range o.Answer.Workloads {
		w := &o.Answer.Workloads[i]
		next := Absent()
		if w.Next != nil {
			next = TextCell(w.Next.Text)
			next.Title = w.Next.TOML
		}
		name := TextCell(w.Name)
		if o.Series[w.Series].Closed {
			name.Tag = closedLoop
		}
		t.Add(name, Cell{Text: w.Lead, Kind: leadKind(w.Verdict)}, TextCell(w.Text), next)
	}
	return t
}

// statusCell is PASS, FAIL, UNDECIDED or INVALID; PASS ★: the operating point of its workload; PASS (twin), PASS ↑: its
// own requests alone decide nothing, but the twin, or a higher load that passes.
func (o *Analysis) statusCell(p *series.Point) Cell {
	s := o.StatusOf(p)
	c := verdictCell(p.SLO, p.Need)
	if p.Class != "" && !p.Valid {
		return Cell{Text: "INVALID", Kind: Failed}
	}
	switch {
	case p.ByTwin():
		c.Text += " (twin)"
	case p.ByHigherLoad():
		c.Text += " ↑"
	}
	switch s.Status {
	case diagnosis.Ship:
		c.Text += " " + operatingMark
		c.Title = "the operating point of its workload"
	case diagnosis.Invalid:
		c = Cell{Text: "INVALID", Kind: Failed}
	}
	if s.Text != "" {
		c.Title = s.Text
	}
	return c
}

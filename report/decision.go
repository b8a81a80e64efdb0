package report

import (
	"cmp"
	"fmt"
	"strings"

	"bench/experiment/diagnosis"
	"bench/experiment/unit"
)

// stagesTable is the decision: its stages from validity to cost, up to the first that no point of a row
// passes.
func (o *Outcome) stagesTable() Table {
	t := Table{ID: "decision", Caption: "Decision", Note: "Stages run from validity to cost and end at the first that no point of a row passes.",
		Columns: []Column{{Head: "stage"}, {Head: "verdict", Help: "slo"}, {Head: "point"}, {Head: "why"}}}
	for _, s := range o.Decision.Stages {
		point := Absent()
		if s.Name != "" {
			point = TextCell(s.Name)
		}
		t.Add(TextCell(MetricName(s.Stage)), verdictCell(s.Verdict, 0), point, TextCell(s.Why))
	}
	if n := o.Decision.Next; n != nil {
		t.Add(TextCell("next"), Absent(), TextCell(n.Variable), TextCell(strings.TrimSpace(nextText(n)+". "+strings.ReplaceAll(n.TOML, "\n", " ⏎ "))))
	}
	return t
}

// operatingTable is the operating point with its settings and figures.
func (o *Outcome) operatingTable() Table {
	t := Table{ID: "operating", Caption: "Operating point", Columns: []Column{{Head: "what"}, {Head: "value"}}}
	a := o.Decision.Operating
	if a == nil {
		return t
	}
	t.Note = "Brackets: 95 % intervals of the percentiles."
	t.Add(TextCell("point"), TextCell(a.Name))
	for _, s := range append(a.Flags[:len(a.Flags):len(a.Flags)], a.Figures...) {
		t.Add(TextCell(s.Name), TextCell(s.Value))
	}
	cost := a.NoCost
	if a.Cost != nil {
		cost = unit.Format(a.Cost.USDPerMillion, "usd") + " per million output tokens"
	}
	t.Add(TextCell("cost"), TextCell(cmp.Or(cost, "not specified")))
	for _, f := range a.Findings {
		t.Add(Cell{Text: string(f.Severity), Kind: severityKind(f.Severity)}, TextCell(f.Code+": "+f.Text+"; "+f.Hint))
	}
	return t
}

// rejectedTable is every other point with the reason.
func (o *Outcome) rejectedTable() Table {
	t := Table{ID: "rejected", Caption: "Other points", Columns: []Column{{Head: "point"}, {Head: "why not the operating point"}, {Head: "bottleneck"}}}
	for _, r := range o.Decision.Rejected {
		t.Add(TextCell(r.Name), TextCell(r.Why), TextCell(r.Bottleneck.Name()))
	}
	return t
}

// diagnosisTable is the bottleneck of every point, the most urgent diagnosis of a point first.
func (o *Outcome) diagnosisTable() Table {
	t := Table{ID: "diagnosis", Caption: "Bottlenecks", Note: "A diagnosis is inferred from the evidence; \"would confirm\" names the measurement that would prove it.",
		Columns: []Column{{Head: "point"}, {Head: "observation"}, {Head: "bottleneck"}, {Head: "evidence"}, {Head: "not collected"}, {Head: "would confirm"}, {Head: "first response"}}}
	for _, d := range o.Diagnoses {
		name := TextCell(d.Name)
		if d.Beside != "" {
			name.Tag = "with " + d.Beside
		}
		parts := make([]string, len(d.Evidence))
		for i, e := range d.Evidence {
			parts[i] = e.String()
		}
		missing := Absent()
		if len(d.Missing) > 0 {
			missing = TextCell(strings.Join(d.Missing, "; "))
		}
		t.Add(name, TextCell(d.Observation), TextCell(d.Bottleneck.Name()), TextCell(strings.Join(parts, "; ")), missing, TextCell(d.Confirm), TextCell(d.Response))
	}
	return t
}

// unmeasuredTable lists what a reader could mistake for measured.
func (o *Outcome) unmeasuredTable() Table {
	t := Table{ID: "unmeasured", Caption: "Not measured", Columns: []Column{{Head: "what"}}}
	for _, s := range o.Decision.NotMeasured {
		t.Add(TextCell(s))
	}
	return t
}

// bottlenecks writes the most urgent diagnosis of each point, grouped by bottleneck and observation.
func (p *printer) bottlenecks(o *Outcome) {
	type group struct {
		first  *diagnosis.Diagnosis
		points []string
	}
	var groups []*group
	at := map[string]*group{}
	seen := map[string]bool{}
	for i := range o.Diagnoses {
		d := &o.Diagnoses[i]
		if seen[d.Name] {
			continue
		}
		seen[d.Name] = true
		key := string(d.Bottleneck) + d.Observation + strings.Join(d.Missing, ";")
		if at[key] == nil {
			at[key] = &group{first: d}
			groups = append(groups, at[key])
		}
		at[key].points = append(at[key].points, d.Name)
	}
	if len(groups) == 0 {
		return
	}
	p.line("")
	p.line("bottlenecks (evidence: bench report --format md)")
	for _, g := range groups {
		points := g.points[0]
		if n := len(g.points) - 1; n > 0 {
			points += ", and " + unit.Plural(n, "more point")
		}
		p.wrap(" ", fmt.Sprintf("%s: %s (%s)", g.first.Bottleneck.Name(), g.first.Observation, points))
		if len(g.first.Missing) > 0 {
			p.wrap("   ", "not collected: "+strings.Join(g.first.Missing, "; "))
			continue
		}
		p.wrap("   ", "first: "+g.first.Response)
	}
}

package report

import (
	"cmp"
	"fmt"
	"strings"

	"bench/experiment/diagnosis"
	"bench/experiment/unit"
)

// stagesTable is the decision: its stages from validity to cost, up to the first that no point of a row passes.
func (o *Outcome) stagesTable() table {
	t := table{id: "decision", caption: "Decision", note: "Stages run from validity to cost and end at the first that no point of a row passes.",
		columns: []column{{head: "stage"}, {head: "verdict", help: "slo"}, {head: "point"}, {head: "why"}}}
	for _, s := range o.Decision.Walk {
		point := absent()
		if s.Name != "" {
			point = text(s.Name)
		}
		t.add(text(MetricName(s.Stage)), verdictCell(s.Verdict, 0), point, text(s.Why))
	}
	if n := o.Decision.Next; n != nil {
		t.add(text("next"), absent(), text(n.Variable), text(strings.TrimSpace(nextText(n)+". "+strings.ReplaceAll(n.TOML, "\n", " ⏎ "))))
	}
	return t
}

// operatingTable is the operating point with its settings and figures.
func (o *Outcome) operatingTable() table {
	t := table{id: "operating", caption: "Operating point", columns: []column{{head: "what"}, {head: "value"}}}
	a := o.Decision.Accepted
	if a == nil {
		return t
	}
	t.note = "Brackets: 95 % intervals of the percentiles."
	t.add(text("point"), text(a.Name))
	for _, s := range append(a.Flags[:len(a.Flags):len(a.Flags)], a.Figures...) {
		t.add(text(s.Name), text(s.Value))
	}
	cost := a.NoCost
	if a.Cost != nil {
		cost = unit.Format(a.Cost.USDPerMillion, "usd") + " per million output tokens"
	}
	t.add(text("cost"), text(cmp.Or(cost, "not specified")))
	for _, n := range a.Notes {
		t.add(text("note"), text(n.Text+": "+n.Hint))
	}
	return t
}

// rejectedTable is every other point with the reason.
func (o *Outcome) rejectedTable() table {
	t := table{id: "rejected", caption: "Other points", columns: []column{{head: "point"}, {head: "why not the operating point"}, {head: "bottleneck"}}}
	for _, r := range o.Decision.Rejected {
		t.add(text(r.Name), text(r.Why), text(r.Regime.Words()))
	}
	return t
}

// diagnosisTable is the bottleneck of every point, the most urgent diagnosis of a point first.
func (o *Outcome) diagnosisTable() table {
	t := table{id: "diagnosis", caption: "Bottlenecks", note: "A diagnosis is inferred from the evidence; \"would confirm\" names the measurement that would prove it.",
		columns: []column{{head: "point"}, {head: "observation"}, {head: "bottleneck"}, {head: "evidence"}, {head: "not collected"}, {head: "would confirm"}, {head: "first response"}}}
	for _, d := range o.Diagnoses {
		name := text(d.Name)
		if d.Beside != "" {
			name.tag = "with " + d.Beside
		}
		parts := make([]string, len(d.Evidence))
		for i, e := range d.Evidence {
			parts[i] = e.String()
		}
		missing := absent()
		if len(d.Missing) > 0 {
			missing = text(strings.Join(d.Missing, "; "))
		}
		t.add(name, text(d.Symptom), text(d.Regime.Words()), text(strings.Join(parts, "; ")), missing, text(d.Confirm), text(d.Response))
	}
	return t
}

// unmeasuredTable lists what a reader could mistake for measured.
func (o *Outcome) unmeasuredTable() table {
	t := table{id: "unmeasured", caption: "Not measured", columns: []column{{head: "what"}}}
	for _, s := range o.Decision.NotMeasured {
		t.add(text(s))
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
		key := string(d.Regime) + d.Symptom + strings.Join(d.Missing, ";")
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
		p.wrap(" ", fmt.Sprintf("%s: %s (%s)", g.first.Regime.Words(), g.first.Symptom, points))
		if len(g.first.Missing) > 0 {
			p.wrap("   ", "not collected: "+strings.Join(g.first.Missing, "; "))
			continue
		}
		p.wrap("   ", "first: "+g.first.Response)
	}
}

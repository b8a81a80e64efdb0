package report

import (
	"fmt"
	"strings"

	"bench/experiment/diagnosis"
	"bench/experiment/unit"
)

// decisionFact is what to do now, and the walk that led there.
func (o *Outcome) decisionFact() fact {
	d := &o.Decision
	f := fact{Head: "Decision", Lead: d.Advice, Table: "walk"}
	if d.Next != nil {
		f.Lines = append(f.Lines, "Next: "+nextText(d.Next))
	}
	return f
}

func nextText(n *diagnosis.NextSweep) string {
	if len(n.Values) == 0 {
		return n.Variable + ": " + n.Why
	}
	return fmt.Sprintf("%s = %s: %s", n.Variable, strings.Join(n.Values, ", "), n.Why)
}

// walkTable is the way from validity to cost, as far as it went.
func (o *Outcome) walkTable() table {
	t := table{id: "walk", caption: "Decision", note: "From the first token to the price; the walk ends at the first stage that no point of a row passes.",
		columns: []column{{head: "stage"}, {head: "verdict", help: "slo"}, {head: "where"}, {head: "why"}}}
	for _, s := range o.Decision.Walk {
		where := absent()
		if s.Name != "" {
			where = text(s.Name)
		}
		t.rows = append(t.rows, []cell{text(stageName(s.Stage)), verdictCell(s.Verdict, 0), where, text(s.Why)})
	}
	if n := o.Decision.Next; n != nil {
		t.rows = append(t.rows, []cell{text("next"), absent(), text(n.Variable), text(strings.TrimSpace(nextText(n) + ". " + strings.ReplaceAll(n.TOML, "\n", " ⏎ ")))})
	}
	return t
}

func stageName(stage string) string {
	if stage == "ttft" || stage == "tpot" {
		return strings.ToUpper(stage)
	}
	return stage
}

// operatingTable is the accepted point with its settings and figures.
func (o *Outcome) operatingTable() table {
	t := table{id: "operating", caption: "Accepted operating point", columns: []column{{head: "what"}, {head: "value"}}}
	a := o.Decision.Accepted
	if a == nil {
		return t
	}
	t.note = "The percentiles have their 95 % intervals in brackets."
	t.rows = append(t.rows, []cell{text("point"), text(a.Name)})
	for _, s := range a.Flags {
		t.rows = append(t.rows, []cell{text(s.Name), text(s.Value)})
	}
	for _, s := range a.Figures {
		t.rows = append(t.rows, []cell{text(s.Name), text(s.Value)})
	}
	cost := a.NoCost
	if a.Cost != nil {
		cost = unit.Format(a.Cost.USDPerMillion, "usd") + " per million output tokens"
	}
	t.rows = append(t.rows, []cell{text("cost"), text(or(cost, "not known"))})
	for _, n := range a.Notes {
		t.rows = append(t.rows, []cell{text("note"), text(n.Text + ": " + n.Hint)})
	}
	return t
}

// rejectedTable is every other point with the reason.
func (o *Outcome) rejectedTable() table {
	t := table{id: "rejected", caption: "Points that are not accepted", columns: []column{{head: "point"}, {head: "why"}, {head: "regime"}}}
	for _, r := range o.Decision.Rejected {
		t.rows = append(t.rows, []cell{text(r.Name), text(r.Why), text(r.Regime.Words())})
	}
	return t
}

// diagnosisTable is what decides the latency of every point, those to act on first before the others of the same point.
func (o *Outcome) diagnosisTable() table {
	t := table{id: "diagnosis", caption: "What decides the latency", note: "A reading of the evidence, not a proof: the measurement that would settle it stands beside it.",
		columns: []column{{head: "point"}, {head: "symptom"}, {head: "regime"}, {head: "evidence"}, {head: "missing"}, {head: "would confirm"}, {head: "first response"}}}
	for _, d := range o.Diagnoses {
		name := text(d.Name)
		if d.Beside != "" {
			name.tag = "beside " + d.Beside
		}
		parts := make([]string, len(d.Evidence))
		for i, e := range d.Evidence {
			parts[i] = e.String()
		}
		missing := absent()
		if len(d.Missing) > 0 {
			missing = text(strings.Join(d.Missing, "; "))
		}
		t.rows = append(t.rows, []cell{name, text(d.Symptom), text(d.Regime.Words()), text(strings.Join(parts, "; ")), missing, text(d.Confirm), text(d.Response)})
	}
	return t
}

// unmeasuredTable is what a reader could take for measured.
func (o *Outcome) unmeasuredTable() table {
	t := table{id: "unmeasured", caption: "Not measured", columns: []column{{head: "what"}}}
	for _, s := range o.Decision.NotMeasured {
		t.rows = append(t.rows, []cell{text(s)})
	}
	return t
}

// regimes writes what is to be acted on first at the points, those of the same regime and symptom together.
func (p *printer) regimes(o *Outcome) {
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
	p.line("what decides the latency (bench report --format md has the evidence)")
	for _, g := range groups {
		points := g.points[0]
		if n := len(g.points) - 1; n > 0 {
			points += ", and " + plural(n, "more point", "more points")
		}
		p.wrap(" ", fmt.Sprintf("%s: %s (%s)", g.first.Regime.Words(), g.first.Symptom, points))
		if len(g.first.Missing) > 0 {
			p.wrap("   ", "missing: "+strings.Join(g.first.Missing, "; "))
			continue
		}
		p.wrap("   ", "first: "+g.first.Response)
	}
}

package report

import (
	"strings"

	"bench/experiment/diagnosis"
)

type cause struct {
	first  *diagnosis.Diagnosis
	points []string
}

func (o *Analysis) causes() []*cause {
	var out []*cause
	at := map[string]*cause{}
	seen := map[string]bool{}
	for i := range o.Diagnoses {
		d := &o.Diagnoses[i]
		if seen[d.Name] {
			continue
		}
		seen[d.Name] = true
		key := string(d.Bottleneck) + d.Observation + strings.Join(d.Missing, ";")
		if at[key] == nil {
			at[key] = &cause{first: d}
			out = append(out, at[key])
		}
		at[key].points = append(at[key].points, d.Name)
	}
	return out
}

// bottlenecksTable is one line for each cause. The tooltip has the evidence of its first point, the weightiest first.
func (o *Analysis) bottlenecksTable() Table {
	t := newTable("diagnosis", "Bottlenecks", "bottleneck", "points", "observation", "first response")
	t.Note = "Inferred. Tooltips: evidence, and how to prove it."
	responses := map[string]bool{}
	for _, c := range o.causes() {
		parts := make([]string, len(c.first.Evidence))
		for i, e := range c.first.Evidence {
			parts[i] = e.String()
		}
		response := TextCell(c.first.Response)
		response.Title = "would confirm: " + c.first.Confirm
		if len(c.first.Missing) > 0 {
			response = TextCell("not collected: " + strings.Join(c.first.Missing, "; "))
		}
		if responses[response.Text] { // above
			response = Cell{Text: moreMark, Kind: Faint, Title: response.Text}
		}
		responses[response.Text] = true
		points := Cell{Text: andMorePoints(c.points), Title: strings.Join(c.points, "\n")}
		observation := Cell{Text: c.first.Observation, Title: strings.Join(parts, "\n")}
		t.Add(TextCell(c.first.Bottleneck.Name()), points, observation, response)
	}
	return t
}

func (p *printer) bottlenecks(o *Analysis) {
	all := o.causes()
	if len(all) > 0 {
		p.line("")
		p.line("bottlenecks")
	}
	for _, b := range diagnosis.Bottlenecks {
		var points []string
		for _, c := range all {
			if c.first.Bottleneck == b {
				points = append(points, c.points...)
			}
		}
		if len(points) > 0 {
			p.clip("  ", b.Name()+": "+firstThree(points, "; ")) // names contain commas
		}
	}
}

// unmeasuredTable lists what a reader could mistake for measured.
func (o *Analysis) unmeasuredTable() Table {
	t := newTable("unmeasured", "Not measured", "what")
	for _, s := range o.Answer.NotMeasured {
		t.Add(TextCell(s))
	}
	return t
}

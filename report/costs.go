package report

import (
	"fmt"
	"strings"

	"bench/experiment/series"
	"bench/experiment/unit"
)

// costsTable is the price of the output at the points that are valid and meet their SLO, where one is stated.
func (o *Outcome) costsTable() table {
	t := table{id: "costs", caption: "Cost", note: "Of points that are valid and meet their SLO, where one is stated, at the price that [target] states; all of it is put on the output tokens.",
		columns: []column{{head: "point"}, {head: "per million output tokens", unit: "USD", num: true, help: "cost"}, {head: "output tokens per USD", num: true, help: "cost"},
			{head: "an hour, all GPUs", unit: "USD", num: true}}}
	for i := range o.Series {
		s := &o.Series[i]
		for _, c := range s.Costs() {
			name := pointCell(s, &s.Points[c.Point])
			if c.Accepted {
				name.tag = strings.TrimPrefix(name.tag+"; SLO knee", "; ")
			}
			per := absent()
			if c.Cost.TokensPerUSD > 0 {
				per = text(unit.Digits(c.Cost.TokensPerUSD))
			}
			t.rows = append(t.rows, []cell{name, text(unit.Digits(c.Cost.USDPerMillion)), per, text(unit.Digits(c.Cost.HourUSD))})
		}
	}
	return t
}

// serversTable is the servers that were started, or the endpoints that were measured, with what came of each.
func (r *Run) serversTable(o *Outcome) table {
	t := table{id: "variants", caption: "Servers and their knobs", columns: []column{{head: "variant"}, {head: "best accepted point"}, {head: "output", unit: "tok/s", num: true, help: "throughput"},
		{head: "TTFT p99", num: true, help: "ttft"}, {head: "TPOT p99", num: true, help: "tpot"}, {head: "ready after", num: true}, {head: "first answer", num: true}, {head: "command, or why not"}}}
	for _, s := range r.Manifest.Servers {
		ready, first := absent(), absent()
		if s.ReadyS > 0 {
			ready = text(unit.Format(s.ReadyS*1000, "ms"))
		}
		if s.FirstAnswerS != nil {
			first = text(unit.Format(*s.FirstAnswerS*1000, "ms"))
		}
		said := text(strings.Join(s.Command, " "))
		if s.Error != "" {
			said = cell{text: s.Error, kind: failed}
		}
		row := []cell{text(fmt.Sprintf("%d. %s", s.N, or(s.Variant, "no knobs"))), {text: "none", kind: faint}, absent(), absent(), absent(), ready, first, said}
		if series, p := o.bestOf(s.Variant); p != nil {
			row[1], row[2] = text(pointName(series, p)), text(unit.Digits(p.OutputTokensPerS.Median))
			row[3], row[4] = inCell.percentile(p.TTFT, "p99"), inCell.percentile(p.TPOT, "p99")
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// bestOf is the accepted point of the highest throughput among those of one server; nil: it has none.
func (o *Outcome) bestOf(variant string) (*series.Series, *series.SeriesPoint) {
	var curve2 *series.Series
	var best *series.SeriesPoint
	o.each(func(s *series.Series, p *series.SeriesPoint) {
		if acceptable(p) && p.Rows[0].Spec.Variant == variant && (best == nil || p.OutputTokensPerS.Median > best.OutputTokensPerS.Median) {
			curve2, best = s, p
		}
	})
	return curve2, best
}

package report

import (
	"cmp"
	"fmt"
	"strings"

	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// costsTable is the cost of output tokens at the valid points that meet their SLO.
func (o *Outcome) costsTable() table {
	t := table{id: "costs", caption: "Cost", note: "Valid points that meet their SLO, at the price in [target], charged to output tokens only.",
		columns: []column{{head: "point"}, {head: "per million output tokens", unit: "USD", num: true, help: "cost"}, {head: "output tokens per USD", num: true, help: "cost"},
			{head: "per hour, all GPUs", unit: "USD", num: true}, {head: "per million at the utilization", unit: "USD", num: true, help: "cost"}, {head: "J per output token", num: true}}}
	for i := range o.Series {
		s := &o.Series[i]
		for _, c := range s.Costs() {
			name := pointCell(s, &s.Points[c.Point])
			if c.Accepted {
				name.tag = strings.TrimPrefix(name.tag+"; max load within SLO", "; ")
			}
			used := absent()
			if u := c.Cost.USDPerMillionUsed; u != nil {
				used = text(fmt.Sprintf("%s at %s", unit.Digits(*u), unit.Format(*c.Cost.Utilisation, "share")))
			}
			per := absent()
			if c.Cost.TokensPerUSD > 0 {
				per = text(unit.Digits(c.Cost.TokensPerUSD))
			}
			t.rows = append(t.rows, []cell{name, text(unit.Digits(c.Cost.USDPerMillion)), per, text(unit.Digits(c.Cost.HourUSD)), used, known(c.Cost.Joules, "")})
		}
	}
	return t
}

// variantsTable is each server that was started or endpoint that was measured, with its operating point.
func (r *Run) variantsTable(o *Outcome) table {
	t := table{id: "variants", caption: "Servers and knobs", columns: []column{{head: "variant"}, {head: "operating point"}, {head: "output", unit: "tok/s", num: true, help: "throughput"},
		{head: "TTFT p99", num: true, help: "ttft"}, {head: "TPOT p99", num: true, help: "tpot"}, {head: "ready after", num: true}, {head: "first answer", num: true}, {head: "command or error"}}}
	for _, start := range r.Manifest.Servers {
		ready, first := absent(), absent()
		if start.ReadyS > 0 {
			ready = text(unit.Format(start.ReadyS*1000, "ms"))
		}
		if start.FirstAnswerS != nil {
			first = text(unit.Format(*start.FirstAnswerS*1000, "ms"))
		}
		command := text(strings.Join(start.Command, " "))
		if start.Error != "" {
			command = cell{text: start.Error, kind: failed}
		}
		row := []cell{text(fmt.Sprintf("%d. %s", start.N, cmp.Or(start.Variant, "no knobs"))), {text: "none", kind: faint}, absent(), absent(), absent(), ready, first, command}
		if s, p := o.bestOf(start.Variant); p != nil {
			row[1], row[2] = text(s.PointName(p)), text(unit.Digits(p.OutputTokensPerS.Median))
			row[3], row[4] = inCell.percentile(p.TTFT, "p99"), inCell.percentile(p.TPOT, "p99")
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// bestOf is the operating point of one server; nil: no valid point meets the SLO.
func (o *Outcome) bestOf(variant string) (curve *series.Series, best *series.SeriesPoint) {
	o.Each(func(s *series.Series, p *series.SeriesPoint) {
		if p.SLO == stats.Pass && p.Valid && p.Rows[0].Spec.Variant == variant && (best == nil || p.OutputTokensPerS.Median > best.OutputTokensPerS.Median) {
			curve, best = s, p
		}
	})
	return curve, best
}

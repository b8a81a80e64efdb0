package report

import (
	"cmp"
	"fmt"
	"strings"

	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

func (r *Run) variantsTable(o *Analysis) Table {
	t := newTable("variants", "Servers and knobs", "variant", "operating point", "output|tok/s # ?throughput",
		"TTFT p99 # ?ttft", "TPOT p99 # ?tpot", "ready after #", "first answer #", "command or error")
	for _, start := range r.Manifest.Servers {
		ready, first := Absent(), optional(start.FirstAnswerS,
			func(s float64) string { return unit.Format(s*1000, "ms") })
		if start.ReadyS > 0 {
			ready = TextCell(unit.Format(start.ReadyS*1000, "ms"))
		}
		command := TextCell(strings.Join(start.Command, " "))
		if start.Error != "" {
			command = Cell{Text: start.Error, Kind: Failed}
		}
		row := []Cell{TextCell(fmt.Sprintf("%d. %s", start.N, cmp.Or(start.Variant, "no knobs"))),
			{Text: "none", Kind: Faint}, Absent(), Absent(), Absent(), ready, first, command}
		if s, p := o.bestOf(start.Variant); p != nil {
			row[1], row[2] = TextCell(s.PointName(p)), TextCell(unit.Digits(p.OutputTokensPerS.Median))
			row[3], row[4] = LatencyCell(p.TTFT, "p99"), LatencyCell(p.TPOT, "p99")
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (o *Analysis) bestOf(variant string) (curve *series.Series, best *series.Point) {
	o.Each(func(s *series.Series, p *series.Point) {
		if p.SLO == stats.Pass && p.Valid && p.Rows[0].Spec.Variant == variant && (best == nil ||
			p.OutputTokensPerS.Median > best.OutputTokensPerS.Median) {
			curve, best = s, p
		}
	})
	return curve, best
}

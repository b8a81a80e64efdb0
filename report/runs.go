package report

import (
	"cmp"
	"slices"

	"bench/experiment"
	"bench/experiment/unit"
	"bench/report/compare"
)

// RunsTable is the headline figures of each run. names are what the runs are called.
func RunsTable(names []string, runs []*Run, outcomes []*Outcome) table {
	out := table{id: "runs", caption: "Runs", columns: []column{{head: "run"}, {head: "SLO", help: "slo"}, {head: "validity", help: "validity"},
		{head: "point", help: "knee"}, {head: "output", unit: "tok/s", num: true, help: "throughput"}, inCell.column("TTFT p99"), inCell.column("TPOT p99"),
		{head: "bottleneck"}, {head: "hypothesis"}}}
	for i, o := range outcomes {
		valid := cell{text: o.Validity, kind: failed}
		if o.Valid {
			valid.kind = passed
		}
		row := []cell{text(names[i]), verdictCell(o.Verdict, 0), valid}
		if s, p := o.HeadlinePoint(); p != nil {
			name, limit := text(s.PointName(p)), absent()
			if name.tag = "reference point"; o.Decision.Accepted != nil {
				name.tag = "operating point"
			}
			if d := o.DiagnosisOf(p); d != nil {
				limit = text(d.Regime.Words())
			}
			row = append(row, name, text(unit.Digits(p.OutputTokensPerS.Median)), inCell.percentile(p.TTFT, "p99"), inCell.percentile(p.TPOT, "p99"), limit)
		} else {
			row = append(row, absent(), absent(), absent(), absent(), absent())
		}
		out.add(append(row, text(cmp.Or(runs[i].Manifest.Hypothesis, "–")))...)
	}
	return out
}

// compared are the metrics that the page compares runs by; bench compare has more.
var compared = []string{"output_tokens_per_s", "ttft_p50", "ttft_p99", "tpot_p50", "tpot_p99", "e2e_p99", experiment.ErrorRate}

// ChangesTable is the changes of each point from one run to another.
func ChangesTable(c *compare.Comparison) table {
	t := table{id: "changes", caption: c.New + " against " + c.Base, note: ComparisonLegend, columns: []column{{head: "point"}, {head: "figure"}, {head: "base", num: true},
		{head: "new", num: true}, {head: "change", num: true}, {head: "95 % interval"}, {head: "verdict"}, {head: "why"}}}
	for i := range c.Points {
		p := &c.Points[i]
		for k := range p.Metrics {
			if m := &p.Metrics[k]; slices.Contains(compared, m.Name) {
				t.add(text(p.Name), figureCell(m), quantityCell(m.Base, m.Unit), quantityCell(m.New, m.Unit), changeCell(m), intervalCell(m), judgedCell(m, true), text(m.Why))
			}
		}
	}
	if c.Refused {
		t.note = "Not compared: differences in the table below make the figures incomparable. To compare anyway: bench compare BASE NEW --allow KEY."
		t.rows = [][]cell{{text("all"), absent(), absent(), absent(), absent(), absent(), {text: "not compared", kind: failed}, text("see other differences")}}
	}
	return t
}

package report

import (
	"cmp"
	"slices"

	"bench/experiment"
	"bench/experiment/unit"
	"bench/report/compare"
)

// RunsTable is the headline figures of each run. names are what the runs are called.
func RunsTable(names []string, runs []*Run, outcomes []*Outcome) Table {
	out := Table{ID: "runs", Caption: "Runs", Columns: []Column{{Head: "run"}, {Head: "SLO", Help: "slo"}, {Head: "validity", Help: "validity"},
		{Head: "point", Help: "knee"}, {Head: "output", Unit: "tok/s", Num: true, Help: "throughput"}, InCell.column("TTFT p99"), InCell.column("TPOT p99"),
		{Head: "bottleneck"}, {Head: "hypothesis"}}}
	for i, o := range outcomes {
		valid := Cell{Text: o.Validity, Kind: Failed}
		if o.Valid {
			valid.Kind = Passed
		}
		row := []Cell{TextCell(names[i]), verdictCell(o.Verdict, 0), valid}
		if s, p := o.HeadlinePoint(); p != nil {
			name, limit := TextCell(s.PointName(p)), Absent()
			if name.Tag = "reference point"; o.Decision.Operating != nil {
				name.Tag = "operating point"
			}
			if d := o.DiagnosisOf(p); d != nil {
				limit = TextCell(d.Bottleneck.Name())
			}
			row = append(row, name, TextCell(unit.Digits(p.OutputTokensPerS.Median)), InCell.Percentile(p.TTFT, "p99"), InCell.Percentile(p.TPOT, "p99"), limit)
		} else {
			row = append(row, Absent(), Absent(), Absent(), Absent(), Absent())
		}
		out.Add(append(row, TextCell(cmp.Or(runs[i].Manifest.Hypothesis, "–")))...)
	}
	return out
}

// compared are the metrics that the page compares runs by; bench compare has more.
var compared = []string{"output_tokens_per_s", "ttft_p50", "ttft_p99", "tpot_p50", "tpot_p99", "e2e_p99", experiment.ErrorRate}

// ChangesTable is the changes of each point from one run to another.
func ChangesTable(c *compare.Comparison) Table {
	t := Table{ID: "changes", Caption: c.New + " against " + c.Base, Note: ComparisonLegend, Columns: []Column{{Head: "point"}, {Head: "figure"}, {Head: "base", Num: true},
		{Head: "new", Num: true}, {Head: "change", Num: true}, {Head: "95 % interval"}, {Head: "verdict"}, {Head: "why"}}}
	for i := range c.Points {
		p := &c.Points[i]
		for k := range p.Metrics {
			if m := &p.Metrics[k]; slices.Contains(compared, m.Name) {
				t.Add(TextCell(p.Name), figureCell(m), quantityCell(m.Base, m.Unit), quantityCell(m.New, m.Unit), changeCell(m), intervalCell(m), judgedCell(m, true), TextCell(m.Why))
			}
		}
	}
	if c.Refused {
		t.Note = "Not compared: differences in the table below make the figures incomparable. To compare anyway: bench compare BASE NEW --allow KEY."
		t.Rows = [][]Cell{{TextCell("all"), Absent(), Absent(), Absent(), Absent(), Absent(), {Text: "not compared", Kind: Failed}, TextCell("see other differences")}}
	}
	return t
}

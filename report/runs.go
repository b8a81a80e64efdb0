package report

import (
	"cmp"
	"slices"

	"bench/experiment"
	"bench/experiment/unit"
	"bench/report/compare"
)

// RunsTable is the headline figures of each run. names are what the runs are called.
// Latencies are at the percentiles that the SLO of the first run limits.
func RunsTable(names []string, runs []*Run, outcomes []*Analysis) Table {
	ttft, tpot := outcomes[0].limitedStat("ttft"), outcomes[0].limitedStat("tpot")
	out := Table{ID: "runs", Caption: "Runs", Columns: []Column{{Head: "run"}, {Head: "answer", Help: "slo"}, {Head: "trust", Help: "validity"},
		{Head: "point", Help: "knee"}, {Head: "output", Unit: "tok/s", Num: true, Help: "throughput"}, InCell.column("TTFT " + ttft), InCell.column("TPOT " + tpot),
		{Head: "bottleneck"}, {Head: "hypothesis"}}}
	for i, o := range outcomes {
		row := []Cell{TextCell(names[i]), Absent(), TextCell(o.Answer.Trust.Text)}
		if w, _ := o.First(); w != nil {
			row[1] = Cell{Text: w.Lead, Kind: leadKind(w.Verdict), Title: w.Text}
		}
		if s, p := o.HeadlinePoint(); p != nil {
			name, limit := TextCell(s.PointName(p)), Absent()
			if d := o.DiagnosisOf(p); d != nil {
				limit = TextCell(d.Bottleneck.Name())
			}
			row = append(row, name, TextCell(unit.Digits(p.OutputTokensPerS.Median)), InCell.Percentile(p.TTFT, ttft), InCell.Percentile(p.TPOT, tpot), limit)
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

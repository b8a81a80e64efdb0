package series

import (
	"testing"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/twin"
	"bench/experiment/workload"
)

// A row of a fixed load that its own requests leave UNDECIDED gets the verdict of its twin's interval, and only there.
func TestNarrowDecides(t *testing.T) {
	const undecided = stats.Undecided
	for _, x := range []struct {
		name      string
		value     float64
		low, high float64
		change    func(*record.Row, *record.Twin)
		want      stats.Verdict
	}{
		{"within", 900, 850, 950, nil, stats.Pass},
		{"beyond", 1100, 1020, 1150, nil, stats.Fail},
		{"both sides", 990, 900, 1050, nil, stats.Undecided},
		{"against its own value", 1010, 850, 950, nil, stats.Undecided},
		{"a probe", 900, 850, 950, func(r *record.Row, _ *record.Twin) { r.Spec.Search = &experiment.Search{} }, undecided},
		{"rejected", 900, 850, 950, func(_ *record.Row, t *record.Twin) { t.Rejected = "TTFT residual +31 %" }, undecided},
		{"a twin that misses it", 900, 850, 950, func(_ *record.Row, t *record.Twin) { t.Residuals[0].Log = 0.2 }, undecided},
		{"few requests in all rows", 900, 850, 950, func(_ *record.Row, t *record.Twin) { t.Residuals[0].N = 89 }, undecided},
		{"disturbed", 900, 850, 950, func(r *record.Row, t *record.Twin) {
			t.Disturbed = []record.Disturbed{{Row: r.ID}}
		}, undecided},
		{"opened by a finding", 900, 850, 950, func(r *record.Row, _ *record.Twin) { r.SLO[0].OpenedBy = []string{"lag"} }, undecided},
		{"invalid", 900, 850, 950, func(r *record.Row, _ *record.Twin) {
			r.Findings = []record.Finding{{Code: "foreign", Severity: record.Invalid}}
		}, undecided},
		{"another load", 900, 850, 950, func(r *record.Row, _ *record.Twin) { r.Spec.Rate = 8 }, undecided},
		{"99 %", 900, 850, 950, func(r *record.Row, _ *record.Twin) { r.SLO[0].Confidence = 0.99 }, undecided},
	} {
		row := record.Row{ID: "chat,rate=4-r1", SLO: []record.Verdict{{Metric: "ttft_p95", Limit: 1000, Unit: "ms",
			Value: &x.value, Verdict: stats.Undecided, Need: 65, NeedS: 16, Within: new(0.9),
			Interval: &stats.Interval{Lo: 700, Hi: 1200}}}}
		row.Spec.Name, row.Spec.Rate = "chat", workload.Rate(4)
		model := record.Twin{Name: "chat", Axis: "rate",
			Residuals: []record.TwinResidual{{Metric: "ttft_p95", Residual: twin.Residual{Load: 4, N: 100, Log: 0.01}}},
			Curve:     []record.TwinPoint{{Load: 4, Metric: "ttft_p95", Ms: x.value, Low: x.low, High: x.high}}}
		if x.change != nil {
			x.change(&row, &model)
		}
		rows := []record.Row{row}
		Narrow(rows, []record.Twin{model})
		v := &rows[0].SLO[0]
		if v.Verdict != x.want {
			t.Errorf("%s: %s, want %s", x.name, v.Verdict, x.want)
		}
		if decided := v.Verdict != stats.Undecided; decided != (v.Need == 0) || decided != (v.Within == nil) ||
			decided && (v.Interval.Lo > x.value || v.Interval.Hi < x.value) {
			t.Errorf("%s: %+v", x.name, v)
		}
		if row.SLO[0].Verdict != stats.Undecided {
			t.Errorf("%s: the stored row has changed", x.name)
		}
	}
}

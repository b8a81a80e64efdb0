package series

import (
	"math"
	"testing"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/twin"
	"bench/experiment/workload"
)

// A row that its own requests leave UNDECIDED gets the verdict of its twin's interval, and only there.
func TestNarrowDecides(t *testing.T) {
	const undecided = stats.Undecided
	residual := func(n int, log float64) record.TwinResidual {
		return record.TwinResidual{Metric: "ttft_p95", Residual: twin.Residual{Load: 4, N: n, Log: log}}
	}
	for _, x := range []struct {
		name      string
		value     float64
		low, high float64
		change    func(*record.Row, *record.Twin)
		want      stats.Verdict
	}{
		{"within", 900, 850, 950, nil, stats.Pass},
		{"beyond", 1100, 1020, 1150, nil, stats.Fail},
		{"both sides", 990, 900, 1050, nil, undecided},
		{"against its own value", 1010, 850, 950, nil, undecided},
		{"a probe", 900, 850, 950, func(r *record.Row, _ *record.Twin) {
			r.Spec.Search = &experiment.Search{}
		}, stats.Pass},
		{"below the operating point's interval", 900, 850, 950, func(_ *record.Row, t *record.Twin) {
			t.Operating = &stats.Interval{Lo: 4, Hi: 4.9}
		}, stats.Pass},
		{"in the operating point's interval", 900, 850, 950, func(_ *record.Row, t *record.Twin) {
			t.Operating = &stats.Interval{Lo: 3.9, Hi: math.Inf(1)}
		}, undecided},
		{"above the operating point's interval", 1100, 1020, 1150, func(_ *record.Row, t *record.Twin) {
			t.Operating = &stats.Interval{Lo: 3.1, Hi: 4}
		}, stats.Fail},
		{"rejected", 900, 850, 950, func(_ *record.Row, t *record.Twin) {
			t.Rejected = "TTFT residual +31 %"
		}, undecided},
		{"a twin that misses it", 900, 850, 950, func(_ *record.Row, t *record.Twin) {
			t.Residuals[0].Log = 0.2
		}, undecided},
		{"a row that the twin lacks", 900, 850, 950, func(_ *record.Row, t *record.Twin) {
			t.Residuals[0].Load = 8
		}, undecided},
		{"a row of few requests", 900, 850, 950, func(_ *record.Row, t *record.Twin) {
			t.Residuals[0].N, t.Residuals[1].N = 39, 100
		}, undecided},
		{"few requests in all rows", 900, 850, 950, func(_ *record.Row, t *record.Twin) {
			t.Residuals[0].N, t.Residuals[1].N = 60, 29
		}, undecided},
		{"failed requests", 900, 850, 950, func(r *record.Row, _ *record.Twin) {
			r.Summary.Requests.Failed = 1
		}, undecided},
		{"opened by a finding", 900, 850, 950, func(r *record.Row, _ *record.Twin) {
			r.SLO[0].OpenedBy = []string{"lag"}
		}, undecided},
		{"a little disturbed", 900, 850, 950, func(r *record.Row, _ *record.Twin) {
			r.SLO[0].Disturbed = &stats.Interval{Lo: 690, Hi: 1210}
		}, stats.Pass},
		{"disturbed", 900, 850, 950, func(r *record.Row, _ *record.Twin) {
			r.SLO[0].Disturbed = &stats.Interval{Lo: 700, Hi: 1300}
		}, undecided},
		{"disturbed without an upper end", 900, 850, 950, func(r *record.Row, _ *record.Twin) {
			r.SLO[0].Interval.Hi = math.Inf(1)
			r.SLO[0].Disturbed = &stats.Interval{Lo: 600, Hi: math.Inf(1)}
		}, undecided},
		{"97.5 %, of a longer repeat", 900, 850, 950, func(r *record.Row, _ *record.Twin) {
			r.Spec.Added, r.SLO[0].Confidence = 1, 0.975
		}, stats.Pass},
		{"97.5 %, wider", 900, 850, 985, func(r *record.Row, _ *record.Twin) {
			r.Spec.Added, r.SLO[0].Confidence = 1, 0.975
		}, stats.Pass},
		{"97.5 %, beyond the limit", 900, 850, 990, func(r *record.Row, _ *record.Twin) {
			r.Spec.Added, r.SLO[0].Confidence = 1, 0.975
		}, undecided},
		{"another load", 900, 850, 950, func(r *record.Row, _ *record.Twin) { r.Spec.Rate = 8 }, undecided},
		{"99 %", 900, 850, 950, func(r *record.Row, _ *record.Twin) { r.SLO[0].Confidence = 0.99 }, undecided},
	} {
		row := record.Row{ID: "chat,rate=4-r1", SLO: []record.Verdict{{Metric: "ttft_p95", Limit: 1000, Unit: "ms",
			Value: &x.value, Verdict: stats.Undecided, Need: 65, NeedS: 16, Within: new(0.9),
			Interval: &stats.Interval{Lo: 700, Hi: 1200}}}}
		row.Spec.Name, row.Spec.Rate = "chat", workload.Rate(4)
		model := record.Twin{Name: "chat", Axis: "rate", Residuals: []record.TwinResidual{residual(60, 0.01),
			residual(60, 0.02)},
			Curve: []record.TwinPoint{{Load: 4, Metric: "ttft_p95", Ms: x.value, Low: x.low, High: x.high}}}
		model.Residuals[1].Load = 2
		if x.change != nil {
			x.change(&row, &model)
		}
		rows := []record.Row{row}
		Narrow(rows, []record.Twin{model})
		v := &rows[0].SLO[0]
		if v.Verdict != x.want {
			t.Errorf("%s: %s, want %s", x.name, v.Verdict, x.want)
		}
		if decided := v.Verdict != undecided; decided != (v.Need == 0) || decided != (v.Within == nil) ||
			decided != v.Twin || decided && (v.Interval.Lo > x.value || v.Interval.Hi < x.value) {
			t.Errorf("%s: %+v", x.name, v)
		}
		if row.SLO[0].Verdict != undecided {
			t.Errorf("%s: the stored row has changed", x.name)
		}
	}
}

// With a repeat that the twin lacks, or that failed, no repeat of the load is decided against it.
func TestNarrowKnowsAllRepeats(t *testing.T) {
	row := func(verdict stats.Verdict) record.Row {
		r := record.Row{SLO: []record.Verdict{{Metric: "ttft_p95", Limit: 1000, Value: new(900.), Verdict: verdict}}}
		r.Spec.Name, r.Spec.Rate = "chat", workload.Rate(4)
		return r
	}
	model := record.Twin{Name: "chat", Axis: "rate", Residuals: []record.TwinResidual{{Metric: "ttft_p95",
		Residual: twin.Residual{Load: 4, N: 100}}},
		Curve: []record.TwinPoint{{Load: 4, Metric: "ttft_p95", Ms: 900, Low: 850, High: 950}}}
	rows := []record.Row{row(stats.Undecided), row(stats.Undecided)}
	if Narrow(rows, []record.Twin{model}); rows[0].SLO[0].Verdict != stats.Undecided {
		t.Error("a repeat is decided beside one that the twin lacks")
	}
	model.Residuals = append(model.Residuals, model.Residuals[0])
	rows = []record.Row{row(stats.Undecided), row(stats.Undecided)}
	rows[1].Spec.Added = 1
	Narrow(rows, []record.Twin{model})
	if rows[0].SLO[0].Verdict != stats.Undecided || rows[1].SLO[0].Verdict != stats.Pass {
		t.Errorf("%s, and %s of the longer repeat", rows[0].SLO[0].Verdict, rows[1].SLO[0].Verdict)
	}
	rows = []record.Row{row(stats.Undecided), row(stats.Fail)}
	Narrow(rows, []record.Twin{model})
	if rows[0].SLO[0].Verdict != stats.Pass || rows[1].SLO[0].Verdict != stats.Fail {
		t.Errorf("%s beside a FAIL that is %s", rows[0].SLO[0].Verdict, rows[1].SLO[0].Verdict)
	}
}

// A load that its own requests leave UNDECIDED has the PASS of a higher one, if its own value agrees.
func TestPassOfAHigherLoad(t *testing.T) {
	row := func(load, value float64, v stats.Verdict) record.Row {
		r := record.Row{SLO: []record.Verdict{{Metric: "ttft_p95", Limit: 1000, Value: &value, Verdict: v, Need: 9,
			Interval: &stats.Interval{Lo: value - 50, Hi: value + 50}}}}
		r.Spec.Name, r.Spec.Rate = "chat", workload.Rate(load)
		return r
	}
	for _, x := range []struct {
		name   string
		change func(rows []record.Row)
		want   float64 // the higher load; 0: UNDECIDED
	}{
		{"the lowest that passes", func([]record.Row) {}, 8},
		{"slower than the higher load can be", func(rows []record.Row) { *rows[0].SLO[0].Value = 601 }, 16},
		{"over the limit", func(rows []record.Row) { *rows[0].SLO[0].Value = 1001 }, 0},
		{"opened by a finding", func(rows []record.Row) { rows[0].SLO[0].OpenedBy = []string{"lag"} }, 0},
		{"another limit", func(rows []record.Row) { rows[0].SLO[0].Limit = 2000 }, 0},
		{"a repeat of the higher load is open", func(rows []record.Row) {
			rows[3].SLO[0].Verdict = stats.Undecided
		}, 16},
		{"a load between them fails", func(rows []record.Row) { rows[1].SLO[0].Verdict = stats.Fail }, 0},
		{"a throughput", func(rows []record.Row) {
			for i := range rows {
				rows[i].SLO[0].Metric = "output_tokens_per_s"
			}
		}, 0},
		{"a share of failed requests", func(rows []record.Row) {
			for i := range rows {
				rows[i].SLO[0].Metric = "error_rate"
			}
		}, 8},
		{"another workload", func(rows []record.Row) { rows[0].Spec.Name = "rag" }, 0},
	} {
		rows := []record.Row{row(2, 300, stats.Undecided), row(4, 400, stats.Undecided), row(8, 500, stats.Pass),
			row(8, 550, stats.Pass), row(16, 800, stats.Pass)}
		x.change(rows)
		stored := rows[0].SLO
		Narrow(rows, nil)
		v := &rows[0].SLO[0]
		if v.Higher != x.want || (v.Verdict == stats.Pass) != (x.want > 0) || (v.Need == 0) != (x.want > 0) {
			t.Errorf("%s: %s by %v, want by %v", x.name, v.Verdict, v.Higher, x.want)
		}
		if stored[0].Verdict != stats.Undecided {
			t.Errorf("%s: the stored row has changed", x.name)
		}
	}
}

// Below a load that the twin passes a limit passes too, up to the twin's upper end.
func TestPassOfTheTwinHoldsBelow(t *testing.T) {
	var rows []record.Row
	for _, load := range []float64{2, 4} {
		r := record.Row{SLO: []record.Verdict{{Metric: "ttft_p95", Limit: 1000, Unit: "ms", Value: new(100 * load),
			Verdict: stats.Undecided, Interval: &stats.Interval{Lo: 50, Hi: math.Inf(1)}}}}
		r.Spec.Name, r.Spec.Rate = "chat", workload.Rate(load)
		rows = append(rows, r)
	}
	model := record.Twin{Name: "chat", Axis: "rate", Residuals: []record.TwinResidual{{Metric: "ttft_p95",
		Residual: twin.Residual{Load: 4, N: 120}}},
		Curve: []record.TwinPoint{{Load: 4, Metric: "ttft_p95", Ms: 400, Low: 390, High: 420}}}
	Narrow(rows, []record.Twin{model})
	if v := &rows[1].SLO[0]; v.Verdict != stats.Pass || !v.Twin {
		t.Errorf("at 4/s %+v", v)
	}
	if v := &rows[0].SLO[0]; v.Verdict != stats.Pass || v.Higher != 4 || *v.Interval != (stats.Interval{Lo: 50, Hi: 420}) {
		t.Errorf("at 2/s %+v", v)
	}
}

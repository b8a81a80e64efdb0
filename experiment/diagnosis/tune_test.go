package diagnosis

import (
	"math"
	"testing"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/tune"
)

func TestTuned(t *testing.T) {
	by := &stats.Interval{Lo: 1.2, Hi: 1.4}
	setting := func(name, state string, atMax bool) record.TunedSetting {
		return record.TunedSetting{Variant: name, State: state, AtMax: atMax}
	}
	none := []record.TunedSetting{setting("a", tune.Measured, false), setting("b", tune.Measured, false)}
	for want, x := range map[string]record.Tune{
		"b: 20/s [18, 22] = 1.30 × default [1.20, 1.40]; no other of 2 settings is more than 3 % better (95 %): 2 measured": {
			Goal: tune.MaxLoad, Axis: "rate", Best: "b", Estimate: new(20.0), Interval: &stats.Interval{Lo: 18, Hi: 22},
			Ratio: new(1.3), RatioInterval: by, Excess: new(0.03), Settings: none},
		"TTFT p95 of b: 700 ms [650 ms, 750 ms] = default ÷ 1.30 [1.20, 1.40]; no other setting has run: 2 measured": {
			Goal: "ttft_p95", Best: "b", Estimate: new(700.0), Interval: &stats.Interval{Lo: 650, Hi: 750}, Ratio: new(1.3),
			RatioInterval: by, Settings: none},
		"b: 20/s or above, the search's max = at least 1.20 × default; no other of 2 settings is more than 3 % better (95 %): " +
			"2 measured": {Goal: tune.MaxLoad, Axis: "rate", Best: "b", AtMax: true, Estimate: new(20.0), Ratio: new(1.3),
			RatioInterval: &stats.Interval{Lo: 1.2, Hi: math.Inf(1)}, Excess: new(0.03),
			Settings: []record.TunedSetting{none[0], setting("b", tune.Measured, true)}},
		"a: 20/s or above, the search's max, the default; nothing bounds the others: 1 within the limits up to the search's " +
			"max (raise it): 2 measured": {Goal: tune.MaxLoad, Axis: "rate", Best: "a", AtMax: true, Estimate: new(20.0),
			Settings: []record.TunedSetting{setting("a", tune.Measured, true), setting("b", tune.Measured, true)}},
		"b: 20/s, not confirmed; no other setting has run: ": {Goal: tune.MaxLoad, Axis: "rate", Best: "b", Estimate: new(20.0),
			Ratio: new(2.0), Confirmed: true}, // of no bench: a ratio without its interval
		"b: 20/s, confirmed without the default; no other setting has run: ": {Goal: tune.MaxLoad, Axis: "rate", Best: "b",
			Estimate: new(20.0), Confirmed: true},
		"no setting runs; no other setting has run: ": {Ratio: new(2.0), RatioInterval: by, AtMax: true},
	} {
		x.Default = "a"
		a := &Answer{}
		a.tune(&record.Manifest{Tune: &x}, nil)
		if got := a.Tune.Text + "; " + a.Tune.Certificate; got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

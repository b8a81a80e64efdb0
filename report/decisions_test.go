package report

import (
	"strings"
	"testing"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/tune"
)

// The bound of a latency is one from below, and a figure at the search's max has no ratio. A run without rows has
// decisions as well: no setting of it starts.
func TestTunedDecisions(t *testing.T) {
	text := func(x record.Tune) string {
		d := &Decisions{}
		d.Add("dir", &Run{Run: record.Run{Manifest: record.Manifest{Tune: &x}}})
		var lines []string
		for _, x := range d.Decisions {
			lines = append(lines, x.Setting+" "+x.Outcome+": "+x.Evidence+" ("+x.Reason+")")
		}
		return strings.Join(lines, "; ")
	}
	base := record.TunedSetting{Variant: "a", State: tune.Measured, Estimate: new(400.0),
		Interval: &stats.Interval{Lo: 390, Hi: 410}}
	slow := record.TunedSetting{Variant: "b", State: tune.Predicted, Reason: "why", Estimate: new(800.0),
		Bound: new(700.0)}
	above := record.TunedSetting{Variant: "c", State: tune.Measured, Estimate: new(500.0), AtMax: true, Reason: "max"}
	equal, worse := base, base
	equal.Variant, equal.Interval = "d", &stats.Interval{Lo: 405, Hi: 420}
	worse.Variant, worse.Interval = "e", &stats.Interval{Lo: 411, Hi: 420}
	for want, x := range map[string]record.Tune{
		"a open: no setting runs (no other setting has run: 3 measured); d open: 400 ms [405 ms, 420 ms] = 1.00 × default (not told from a: the intervals overlap); " +
			"e rejected: 400 ms [411 ms, 420 ms] = 1.00 × default (not better than a)": {Goal: "ttft_p95", Default: "a", Best: "a",
			Settings: []record.TunedSetting{base, equal, worse}},
		"a rejected: 400 ms [390 ms, 410 ms] (not better than ); b rejected: more than 700 ms (why)": {Goal: "ttft_p95",
			Default:  "a",
			Settings: []record.TunedSetting{base, slow}},
		"b rejected: less than 700/s (why); c rejected: 500/s or above (max)": {Goal: tune.MaxLoad, Axis: "rate",
			Default:  "a",
			Settings: []record.TunedSetting{slow, above}},
		"a rejected:  (out of memory)": {Goal: tune.MaxLoad, Default: "a",
			Settings: []record.TunedSetting{{Variant: "a", State: tune.Infeasible, Reason: "out of memory"}}},
		"": {},
	} {
		if got := text(x); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

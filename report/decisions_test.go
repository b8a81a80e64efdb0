package report

import (
	"strings"
	"testing"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/tune"
)

// The bound of a latency is one from below, and a figure at the search's max has no ratio. A run without rows has decisions
// as well: no setting of it starts.
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
	base := record.TunedSetting{Variant: "a", State: tune.Measured, Estimate: new(400.0), Interval: &stats.Interval{Lo: 390, Hi: 410}}
	slow := record.TunedSetting{Variant: "b", State: tune.Predicted, Reason: "why", Estimate: new(800.0), Bound: new(700.0)}
	above := record.TunedSetting{Variant: "c", State: tune.Measured, Estimate: new(500.0), AtMax: true, Reason: "max"}
	for want, x := range map[string]record.Tune{
		"a rejected: 400 ms [390 ms, 410 ms] (not better than ); b rejected: more than 700 ms (why)": {Goal: "ttft_p95", Default: "a",
			Settings: []record.TunedSetting{base, slow}},
		"b rejected: less than 700/s (why); c rejected: 500/s or above (max)": {Goal: tune.MaxLoad, Axis: "rate", Default: "a",
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

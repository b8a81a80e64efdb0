package report

import (
	"slices"
	"testing"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
)

// Of LIKELY the list of runs has the estimated load and what it brings, not the latencies of a probe.
func TestHeadlineOfAnEstimate(t *testing.T) {
	run := fixtureRun()
	run.Rows = slices.DeleteFunc(run.Rows, func(r record.Row) bool { return r.Spec.Name != "F-production" })
	k := experiment.Search{Axis: "rate", Goal: experiment.GoalSLO, Min: 1, Max: 64}
	for i := range run.Rows {
		run.Rows[i].Spec.Search = &k
		for j := range run.Rows[i].SLO {
			if v := &run.Rows[i].SLO[j]; v.Verdict == stats.Pass && v.Unit == "ms" {
				v.Verdict = stats.Undecided
			}
		}
	}
	run.Manifest.Searches = []record.Found{{Name: "F-production", Search: k, State: "found",
		Bracket: stats.Bracket{Low: new(5.0), Best: new(5.79), High: new(7.0)}}}
	h := run.Headline()
	if h.Answer != "LIKELY" || h.Point != "F-production, ≈ 5.79/s" || h.TTFT != nil || h.PerGPU == nil || *h.PerGPU < 700 {
		t.Errorf("%+v", h)
	}
}

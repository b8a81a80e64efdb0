package compare

import (
	"testing"
	"time"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/workload"
)

// searched is a run with one search, whose answer is the interval; an end of 0 is open.
func searched(name string, low, high float64) Run {
	k := experiment.Search{Axis: "rate", Goal: experiment.GoalSLO, Min: 1, Max: 64,
		Budget: workload.Span(low) * workload.Span(time.Second)}
	spec := experiment.Spec{Name: "s", Repeat: 1, Point: []experiment.Axis{{Key: "rate", Value: "8"}},
		Search: &k}
	spec.Rate = 8
	spec.SLO.Limits = []experiment.Limit{{Key: "ttft_p95", Metric: "ttft", Stat: "p95", Value: 500,
		Unit: "ms"}}
	found := record.Found{Name: "s", Search: k, State: "found"}
	if low > 0 {
		found.Low, found.Best = &low, &low
	}
	if high > 0 {
		found.High = &high
	}
	m := manifest()
	m.Searches = []record.Found{found}
	return Run{Name: name, Run: record.Run{Manifest: m,
		Rows: []record.Row{{ID: "s,rate=8-r1", Spec: spec,
			Summary: record.Summary{Requests: record.Requests{Planned: 9}}}}}}
}

// The answers of searches differ if their intervals are disjoint; the budgets don't matter.
func TestSearchAnswers(t *testing.T) {
	slow := searched("slo", 20, 22)
	slow.Rows[0].Spec.SLO.Limits = nil
	long := searched("long", 20, 22)
	long.Rows[0].Spec.Connections = "new"
	for _, x := range []struct {
		name          string
		base, changed Side
		verdict       Verdict
		why           string
	}{
		{"higher", side(searched("a", 10, 11)), side(searched("b", 12, 13)), Better, ""},
		{"lower", side(searched("a", 10, 11)), side(searched("b", 8, 9)), Worse, ""},
		{"overlap", side(searched("a", 10, 11)), side(searched("b", 10.5, 13)), Inconclusive,
			"the intervals overlap"},
		{"nearly one load", side(searched("a", 10, 10.2)), side(searched("b", 10.1, 10.3)), NoChange, ""},
		{"one load in common", side(searched("a", 10, 11)), side(searched("b", 11, 13)), Inconclusive,
			"the intervals overlap"},
		{"above the range", side(searched("a", 10, 11)), side(searched("b", 64, 0)), Better, ""},
		{"below the range", side(searched("a", 10, 11)), side(searched("b", 0, 1)), Worse, ""},
		{"no answer", side(searched("a", 0, 0)), side(searched("b", 12, 13)), Inconclusive,
			"the intervals overlap"},
		{"above both of base", side(searched("a", 10, 11), searched("c", 12, 13)),
			side(searched("b", 14, 15)), Better, ""},
		{"above one of base", side(searched("a", 10, 11), searched("c", 12, 13)),
			side(searched("b", 11.5, 11.8)), Inconclusive, "the intervals overlap"},
		{"another SLO", side(searched("a", 10, 11)), side(slow), Inconclusive, "the SLOs differ"},
		{"another workload", side(searched("a", 10, 11)), side(long), Inconclusive, "the workloads differ"},
	} {
		got := searches(x.base, x.changed, false)
		if len(got) != 1 || got[0].Verdict != x.verdict || got[0].Why != x.why || got[0].Point != "s" ||
			got[0].Base.Runs != len(x.base.Runs) {
			t.Errorf("%s: %+v", x.name, got)
		}
	}
	if got := searches(side(searched("a", 10, 11), searched("c", 12, 0)), side(searched("b", 14, 15)),
		false)[0].Base; *got.Low != 10 || got.High != nil || *got.Best != 11 {
		t.Errorf("%+v", got)
	}
}

// The probes of searches with other budgets are the same workload, as are the repeats that a budget added.
func TestSearchBudgetIsNoWorkload(t *testing.T) {
	changed := searched("b", 12, 13)
	changed.Rows[0].Spec.Added = 1
	p := compared(t, side(searched("a", 10, 11)), side(changed), Options{}).Points[0]
	if p.Refused || len(p.Differences) != 2 || p.Differences[0].What != "search.budget_s" ||
		p.Differences[1].What != "added" {
		t.Errorf("%+v", p.Differences)
	}
}

// Only what both sides searched has answers to compare.
func TestSearchesAreInTheComparison(t *testing.T) {
	c := compared(t, side(searched("a", 10, 11)), side(searched("b", 12, 13)), Options{})
	if len(c.Searches) != 1 || c.Searches[0].Verdict != Better || *c.Searches[0].New.Best != 12 {
		t.Errorf("%+v", c.Searches)
	}
	if c := compared(t, side(Run{Name: "a", Run: record.Run{Manifest: manifest()}}), side(searched("b", 12, 13)),
		Options{}); c.Searches != nil {
		t.Errorf("%+v", c.Searches)
	}
}

package series

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
)

// Of three loads the highest fails the SLO: two have a cost, the one of the knee is accepted. Of
// repeats the median counts.
func TestCostsOfASeries(t *testing.T) {
	var rows []record.Row
	for concurrency, verdict := range map[int]stats.Verdict{1: stats.Pass, 8: stats.Pass, 16: stats.Fail} {
		for repeat := range 3 {
			r := record.Row{SLO: []record.Verdict{{Verdict: string(verdict)}}, Spec: experiment.Spec{Name: "a", Repeat: repeat + 1, Point: []experiment.Axis{{Key: "concurrency", Value: "x"}}}}
			r.Spec.Concurrency = concurrency
			r.Cost = &record.Cost{USDPerMillion: float64(100/concurrency + repeat)}
			if verdict == stats.Fail {
				r.Cost = nil
			}
			rows = append(rows, r)
		}
	}
	s := FromRows(rows)[0]
	want := []PointCost{{0, record.Cost{USDPerMillion: 101}, false}, {1, record.Cost{USDPerMillion: 13}, true}}
	if d := cmp.Diff(want, s.Costs()); d != "" {
		t.Error(d)
	}
}

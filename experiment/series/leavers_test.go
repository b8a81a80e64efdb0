package series

import (
	"testing"

	"bench/experiment/record"
	"bench/experiment/stats"
)

// TestKeptUpWithLeavers: users who leave are no shortfall of the server.
func TestKeptUpWithLeavers(t *testing.T) {
	row := func(left, completed int) *record.Row {
		r := &record.Row{}
		r.Summary.Requests = record.Requests{Planned: 1000, Left: left, Completed: completed}
		r.Summary.DurationS, r.Summary.Throughput.RequestsPerS = 100, float64(completed)/100
		return r
	}
	if got := keptUp(row(500, 500)); got != stats.Pass {
		t.Errorf("half of the users left, the others have their answers: %s", got)
	}
	if got := keptUp(row(500, 300)); got != stats.Fail {
		t.Errorf("200 of 500 who stayed have none: %s", got)
	}
	if got := keptUp(row(1000, 0)); got != stats.Undecided {
		t.Errorf("all left: %s", got)
	}
}

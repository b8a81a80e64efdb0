package live

import (
	"testing"

	"bench/experiment"
	"bench/sweep"
)

// A row that a worker cut is one line, without the hints of its error.
func TestCutLine(t *testing.T) {
	got := cutLine(&sweep.RowEvent{Spec: &experiment.Spec{Name: "a"}, Reason: "worker 1 (vm): connection refused\nhint: try curl"})
	if want := "a: cut: worker 1 (vm): connection refused; it begins again when all workers are there (within 1m)"; got != want {
		t.Errorf("%q", got)
	}
}

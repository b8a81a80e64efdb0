package check

import (
	"testing"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/workload"
)

// Two workers of a closed loop, each with half of 100 counted requests: the second is slower by a factor. The row ends
// when it has its part, and the first sends on.
func TestParts(t *testing.T) {
	for factor, want := range map[int64]record.Severity{1: "", 3: record.Caution} {
		e := &evidence{Row: &record.Row{Spec: experiment.Spec{Load: workload.Load{Concurrency: 2, Requests: 100}},
			Window: record.Window{EndUs: 50 * factor * 1000}, Workers: make([]record.Worker, 2)}}
		for k, takes := range []int64{1000, 1000 * factor} {
			for i := int64(0); i*takes < e.Window.EndUs+5000; i++ {
				phase := record.PhaseWindow
				if i >= 50 {
					phase = record.PhaseCooldown
				}
				e.records = append(e.records, &record.Record{Worker: &k, Phase: phase, Arrival: record.At(i * takes)})
			}
		}
		c := checkParts(e)
		if c.outcome != good && c.outcome != bad || c.severity != want {
			t.Errorf("a worker slower by %d: %+v", factor, c)
		}
	}
}

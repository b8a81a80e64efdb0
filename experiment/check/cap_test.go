package check

import (
	"testing"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/workload"
)

// Under a cap that workers share, a wait is a caution that touches what contains it, by each request's own wait.
func TestSharedCap(t *testing.T) {
	row := func(workers int, wait int64) *evidence {
		e := &evidence{Row: &record.Row{Spec: experiment.Spec{Load: workload.Load{Concurrency: 4}, Workload: workload.Workload{Rate: 10}},
			Workers: make([]record.Worker, workers)}}
		for i := range int64(100) {
			r := &record.Record{I: int(i), Phase: record.PhaseWindow, Outcome: "ok", Arrival: record.At(i * 1000), Ready: record.At(i * 1000)}
			if i%10 == 0 {
				r.Ready = record.At(i*1000 + wait)
			}
			e.records = append(e.records, r)
		}
		return e
	}
	for _, tt := range []struct {
		workers int
		wait    int64 // µs
		want    record.Severity
	}{{1, 5000, ""}, {2, 0, ""}, {2, 5000, record.Caution}} {
		c := checkCap(row(tt.workers, tt.wait))
		if c.severity != tt.want {
			t.Errorf("%d workers, %d µs: %+v", tt.workers, tt.wait, c)
		}
		for _, x := range c.effects {
			if *x.Bound != 5 || x.Direction != record.Inflated {
				t.Errorf("%+v", x)
			}
		}
	}
}

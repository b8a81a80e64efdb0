package experiment

import (
	"testing"

	"bench/experiment/workload"
)

func TestCannotShare(t *testing.T) {
	load := workload.Load{Concurrency: 8, Requests: 100}
	counted := workload.Load{Concurrency: 8, Warmup: workload.Extent{Requests: 10}, Duration: workload.Span(1e9)}
	for _, tt := range []struct {
		what   string
		s      Spec
		refuse bool
	}{
		{"a closed loop", Spec{Load: load}, false},
		{"tiling", Spec{Load: load, Workload: workload.Workload{Tile: &workload.Tile{}}}, true},
		{"a cold start", Spec{Load: load, Kind: "cold_start"}, true},
		{"a counted warm-up before a timed window", Spec{Load: counted}, true},
		{"the same in an open loop, whose arrivals all workers know", Spec{Load: counted, Workload: workload.Workload{Rate: 4}}, false},
		{"with conversations", Spec{Load: counted, Workload: workload.Workload{Rate: 4, Session: &workload.Session{}}}, true},
	} {
		if problem, hint := tt.s.CannotShare(); (problem != "") != tt.refuse || (hint != "") != tt.refuse {
			t.Errorf("%s: %q, %q", tt.what, problem, hint)
		}
	}
}

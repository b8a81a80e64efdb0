package forecast

import (
	"testing"

	"bench/experiment"
	"bench/experiment/workload"
)

// 5 % need 400 requests.
func TestShortProbes(t *testing.T) {
	for _, tt := range []struct {
		name string
		spec experiment.Spec
		want string
	}{
		{"at every rate", experiment.Spec{Load: workload.Load{Duration: 60 * second}, Search: &experiment.Search{Max: 6}},
			`chat: up to 6/s bursts vary the load of half a probe by more than the tolerance (5 %); write duration = "6m40s"`},
		{"at low rates", experiment.Spec{Load: workload.Load{Duration: 60 * second}, Search: &experiment.Search{Max: 64}},
			`chat: up to 6.67/s bursts vary the load of half a probe by more than the tolerance (5 %); write duration = "6m40s"`},
		{"gamma", experiment.Spec{Workload: workload.Workload{Arrival: workload.Arrival{Process: "gamma"}, Burstiness: 0.5}, Load: workload.Load{Duration: 400 * second}, Search: &experiment.Search{Max: 64}},
			`chat: up to 2/s bursts vary the load of half a probe by more than the tolerance (5 %); write duration = "13m20s"`},
		{"requests", experiment.Spec{Load: workload.Load{Requests: 100}, Search: &experiment.Search{Max: 64}},
			`chat: up to 64/s bursts vary the load of half a probe by more than the tolerance (5 %); write requests = 400`},
		{"long enough", experiment.Spec{Load: workload.Load{Duration: 400 * second}, Search: &experiment.Search{Max: 64}}, ""},
		{"enough requests", experiment.Spec{Load: workload.Load{Requests: 400}, Search: &experiment.Search{Max: 64}}, ""},
		{"constant gaps", experiment.Spec{Workload: workload.Workload{Arrival: workload.Arrival{Process: "constant"}}, Load: workload.Load{Requests: 9}, Search: &experiment.Search{Max: 64}}, ""},
		{"concurrency", experiment.Spec{Load: workload.Load{Requests: 9}, Search: &experiment.Search{Max: 64, Axis: "concurrency"}}, ""},
		{"no search", experiment.Spec{Load: workload.Load{Requests: 9}}, ""},
	} {
		tt.spec.Name = "chat"
		if k := tt.spec.Search; k != nil {
			k.Min, k.Tolerance = 1, 0.05
			if k.Axis == "" {
				k.Axis = "rate"
			}
		}
		if got := shortText(&tt.spec); got != tt.want {
			t.Errorf("%s: %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

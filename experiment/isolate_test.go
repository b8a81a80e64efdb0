package experiment

import (
	"math"
	"strings"
	"testing"

	"bench/experiment/workload"
)

var twoClasses = []workload.Class{{Name: "chat", Weight: 3}, {Name: "rag", Weight: 1}}

func TestIsolated(t *testing.T) {
	s := Spec{Name: "F", Isolate: true, Point: []Axis{{"rate", "8"}}, Workload: workload.Workload{Rate: 8, Mix: twoClasses}, Load: workload.Load{Requests: 101}}
	alone := s.IsolatedPoints()
	if len(alone) != 2 || alone[0].Rate != 6 || alone[1].Rate != 2 || alone[0].Requests != 76 || alone[1].Requests != 25 {
		t.Fatalf("%+v", alone)
	}
	if got := alone[1].Label(); got != "F rate=8 alone=rag" || len(alone[1].Mix) != 1 || alone[1].Mix[0].Name != "rag" || alone[1].Alone != "rag" {
		t.Errorf("%s: %+v", got, alone[1])
	}
	if len(s.Point) != 1 || len(s.Mix) != 2 || len(alone[0].IsolatedPoints()) != 0 {
		t.Error("the row itself has changed")
	}
	s.Isolate = false
	if s.IsolatedPoints() != nil {
		t.Error("isolated without being asked")
	}
}

func TestCheckIsolate(t *testing.T) {
	for _, c := range []struct {
		name string
		w    workload.Workload
		want string
	}{
		{"two classes", workload.Workload{Rate: 4, Mix: twoClasses}, ""},
		{"one class", workload.Workload{Rate: 4, Mix: twoClasses[:1]}, "without classes"},
		{"closed loop", workload.Workload{Mix: twoClasses}, "its share of the rate"},
		{"all at once", workload.Workload{Rate: workload.Rate(math.Inf(1)), Mix: twoClasses}, "its share of the rate"},
	} {
		got := ""
		(&Spec{Isolate: true, Workload: c.w}).checkIsolate(func(_, problem, _ string) { got = problem })
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

package experiment

import (
	"math"
	"strings"
	"testing"

	"bench/experiment/load"
	"bench/experiment/stats"
	"bench/experiment/workload"
)

var twoClasses = []workload.Class{{Name: "chat", Weight: 3}, {Name: "rag", Weight: 1}}

func TestIsolated(t *testing.T) {
	s := Spec{Name: "F", Isolate: true, Point: []Axis{{"rate", "8"}}, Workload: workload.Workload{Rate: 8, Mix: twoClasses}, Load: load.Load{Requests: 101}}
	alone := s.Isolated()
	if len(alone) != 2 || alone[0].Rate != 6 || alone[1].Rate != 2 || alone[0].Requests != 76 || alone[1].Requests != 25 {
		t.Fatalf("%+v", alone)
	}
	if got := alone[1].Pretty(); got != "F rate=8 alone=rag" || len(alone[1].Mix) != 1 || alone[1].Mix[0].Name != "rag" || alone[1].Alone != "rag" {
		t.Errorf("%s: %+v", got, alone[1])
	}
	if len(s.Point) != 1 || len(s.Mix) != 2 || len(alone[0].Isolated()) != 0 {
		t.Error("the row itself has changed")
	}
	s.Isolate = false
	if s.Isolated() != nil {
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
		{"one class", workload.Workload{Rate: 4, Mix: twoClasses[:1]}, "no classes to run alone"},
		{"closed loop", workload.Workload{Mix: twoClasses}, "its share of the rate"},
		{"all at once", workload.Workload{Rate: workload.Rate(infinite), Mix: twoClasses}, "its share of the rate"},
	} {
		got := ""
		(&Spec{Isolate: true, Workload: c.w}).checkIsolate(func(_, problem, _ string) { got = problem })
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

func TestInterference(t *testing.T) {
	values := func(scale float64) *stats.Summary {
		out := make([]float64, 2000)
		for i := range out {
			out[i] = scale * float64(i+1) / 2000
		}
		return stats.Summarize(out)
	}
	point := []Axis{{"rate", "8"}}
	alone := Row{Spec: Spec{Name: "F", Point: append(point, Axis{"alone", "chat"}), Alone: "chat"}, Summary: Summary{TTFT: values(100)}}
	mixed := Row{Spec: Spec{Name: "F", Point: point}, Summary: Summary{TTFT: values(900)}, Classes: map[string]Summary{"chat": {TTFT: values(300)}}}
	other := Row{Spec: Spec{Name: "F", Point: []Axis{{"rate", "16"}}}, Classes: map[string]Summary{"chat": {TTFT: values(5000)}}}
	got := InterferenceOf([]Row{mixed, alone, other})
	if len(got) != 1 || got[0].Class != "chat" || got[0].Metric != "ttft" || len(got[0].Point) != 1 || got[0].Name != "F" {
		t.Fatalf("%+v", got)
	}
	if x := got[0]; math.Abs(x.DifferenceMs-198) > 1 || !(x.CI95.Lo < x.DifferenceMs && x.DifferenceMs < x.CI95.Hi) || x.CI95.Hi-x.CI95.Lo > 20 {
		t.Errorf("%+v", x)
	}
	if x := InterferenceOf([]Row{alone}); len(x) != 0 {
		t.Errorf("without the mix: %+v", x)
	}
}

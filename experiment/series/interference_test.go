package series

import (
	"math"
	"testing"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
)

func TestInterference(t *testing.T) {
	values := func(scale float64) *stats.Summary {
		out := make([]float64, 2000)
		for i := range out {
			out[i] = scale * float64(i+1) / 2000
		}
		return stats.Summarize(out)
	}
	point := []experiment.Axis{{Key: "rate", Value: "8"}}
	alone := record.Row{Spec: experiment.Spec{Name: "F", Point: append(point, experiment.Axis{Key: "alone", Value: "chat"}), Alone: "chat"}, Summary: record.Summary{TTFT: values(100)}}
	mixed := record.Row{Spec: experiment.Spec{Name: "F", Point: point}, Summary: record.Summary{TTFT: values(900)}, Classes: map[string]record.Summary{"chat": {TTFT: values(300)}}}
	other := record.Row{Spec: experiment.Spec{Name: "F", Point: []experiment.Axis{{Key: "rate", Value: "16"}}}, Classes: map[string]record.Summary{"chat": {TTFT: values(5000)}}}
	got := InterferenceOf([]record.Row{mixed, alone, other})
	if len(got) != 1 || got[0].Class != "chat" || got[0].Metric != "ttft" || len(got[0].Point) != 1 || got[0].Name != "F" {
		t.Fatalf("%+v", got)
	}
	if x := got[0]; math.Abs(x.DifferenceMs-198) > 1 || !(x.CI95.Lo < x.DifferenceMs && x.DifferenceMs < x.CI95.Hi) || x.CI95.Hi-x.CI95.Lo > 20 {
		t.Errorf("%+v", x)
	}
	if x := InterferenceOf([]record.Row{alone}); len(x) != 0 {
		t.Errorf("without the mix: %+v", x)
	}
}

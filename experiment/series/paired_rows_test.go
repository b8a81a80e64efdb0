package series

import (
	"math"
	"testing"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
)

func TestPrefixGains(t *testing.T) {
	ramp := func(from float64, n int) *stats.Summary {
		out := make([]float64, n)
		for i := range out {
			out[i] = from + float64(i)/float64(n)
		}
		return stats.Summarize(out)
	}
	row := func(load, state string, ttft float64, n int) record.Row {
		return record.Row{Spec: experiment.Spec{Name: "E", Point: []experiment.Axis{{Key: "concurrency", Value: load}, {Key: "prefix.state", Value: state}}}, Summary: record.Summary{TTFT: ramp(ttft, n)}}
	}
	got := PrefixGains([]record.Row{
		row("1", "cold", 90, 400), row("1", "warm", 40, 400), row("1", "warm", 41, 400),
		row("8", "cold", 90, 400), row("8", "shared", 89.99, 400), row("16", "warm", 40, 400),
		{Spec: experiment.Spec{Name: "other"}, Summary: record.Summary{TTFT: ramp(1, 400)}},
	})
	if len(got) != 2 {
		t.Fatalf("%+v", got)
	}
	warm := got[0]
	if warm.State != "warm" || warm.Metric != "ttft" || math.Abs(warm.SavedMs-49.5) > 0.01 || !warm.Certain() {
		t.Errorf("%+v", warm)
	}
	if !(warm.CI95.Lo > 48.8 && warm.CI95.Lo < 49.1 && warm.CI95.Hi > 49.9 && warm.CI95.Hi < 50.2) { // the hull of both warm repeats
		t.Errorf("%+v", warm.CI95)
	}
	if g := got[1]; g.State != "shared" || math.Abs(g.SavedMs-0.01) > 1e-6 || g.Certain() {
		t.Errorf("%+v", g)
	}
	few := PrefixGains([]record.Row{row("1", "cold", 90, 5), row("1", "warm", 40, 400)})
	if len(few) != 1 || few[0].Certain() || !math.IsInf(few[0].CI95.Hi, 1) {
		t.Errorf("five requests give %+v", few)
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
	point := []experiment.Axis{{Key: "rate", Value: "8"}}
	alone := record.Row{Spec: experiment.Spec{Name: "F", Point: append(point, experiment.Axis{Key: "alone", Value: "chat"}), Alone: "chat"}, Summary: record.Summary{TTFT: values(100)}}
	mixed := record.Row{Spec: experiment.Spec{Name: "F", Point: point}, Summary: record.Summary{TTFT: values(900)}, Classes: map[string]record.Summary{"chat": {TTFT: values(300)}}}
	other := record.Row{Spec: experiment.Spec{Name: "F", Point: []experiment.Axis{{Key: "rate", Value: "16"}}}, Classes: map[string]record.Summary{"chat": {TTFT: values(5000)}}}
	got := Interferences([]record.Row{mixed, alone, other})
	if len(got) != 1 || got[0].Class != "chat" || got[0].Metric != "ttft" || len(got[0].Point) != 1 || got[0].Name != "F" {
		t.Fatalf("%+v", got)
	}
	if x := got[0]; math.Abs(x.Ratio-3) > 0.01 || !(x.CI95.Lo < x.Ratio && x.Ratio < x.CI95.Hi) || x.CI95.Hi-x.CI95.Lo > 0.3 {
		t.Errorf("%+v", x)
	}
	if x := Interferences([]record.Row{alone}); len(x) != 0 {
		t.Errorf("without the mix: %+v", x)
	}
}

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
	if warm.State != "warm" || warm.Metric != "ttft" || len(warm.Point) != 1 || warm.Point[0].Value != "1" || math.Abs(warm.SavedMs-49.5) > 0.01 || !warm.Certain() {
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

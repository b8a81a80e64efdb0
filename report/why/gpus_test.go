package why

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/telemetry"
	"bench/report"
)

// runWith is a run of rows, each with 20 readings of a second: of an active GPU as given, and of an idle one.
func runWith(rows map[string]func(i int) telemetry.GPUReading) *report.Run {
	r := &report.Run{}
	for name, reading := range rows {
		var samples []telemetry.Sample
		for i := range 20 {
			active := reading(i)
			active.GPU, active.Busy = "0", new(0.9)
			idle := telemetry.GPUReading{GPU: "1", Busy: new(0.0), SMClock: new(345.0), Temperature: new(30.0)}
			samples = append(samples, telemetry.Sample{Source: telemetry.SourceGPU, TUs: int64(i) * 1e6,
				GPUs: []telemetry.GPUReading{active, idle}})
		}
		gpu := telemetry.SummarizeGPUs(telemetry.Source{Name: telemetry.NvidiaSMI}, samples, 0, 20e6)
		r.Manifest.Plan = append(r.Manifest.Plan, record.Planned{ID: name, Name: name, State: "done"})
		r.Rows = append(r.Rows, record.Row{ID: name, Spec: experiment.Spec{Name: name}, GPU: gpu})
	}
	return r
}

func steady(sm, memory, limit, celsius float64, throttled int) func(int) telemetry.GPUReading {
	return func(i int) telemetry.GPUReading {
		g := telemetry.GPUReading{SMClock: &sm, MemoryClock: &memory, PowerLimitW: &limit, Temperature: &celsius,
			Unthrottled: i >= throttled}
		if i < throttled {
			g.Throttled = []string{"sw_power_cap"}
		}
		return g
	}
}

type readings = map[string]func(int) telemetry.GPUReading

func TestGPUChanges(t *testing.T) {
	before := steady(1980, 2619, 700, 60, 0)
	between := func(low, high float64) func(int) telemetry.GPUReading {
		return func(i int) telemetry.GPUReading { return steady([]float64{low, high}[i%2], 2619, 700, 60, 0)(i) }
	}
	for name, c := range map[string]struct {
		a, b readings
		want []string
	}{
		"a lower power limit": {readings{"x": before}, readings{"x": steady(1860, 2610, 500, 70, 10)}, []string{
			"SM clock: 1,980 → 1,860 MHz (-6.1 %): alone it changes step time by +6.5 %",
			"GPU power limit: 700 → 500 W",
			"GPU throttled by sw_power_cap: 0 → 50 % of readings",
			"GPU temperature: 60 → 70 °C"}},
		"a higher memory clock": {readings{"x": before}, readings{"x": steady(1980, 3201, 700, 60, 0)}, []string{
			"memory clock: 2,619 → 3,201 MHz (+22.2 %): alone it changes step time by -18.2 %"}},
		"means of two rows": {readings{"x": before, "y": before}, readings{"x": before, "y": steady(1920, 2619, 700, 60, 0)},
			[]string{"SM clock: 1,980 → 1,950 MHz (-1.5 %): alone it changes step time by +1.5 %"}},
		"a step of the clock":  {readings{"x": before}, readings{"x": steady(1965, 2619, 700, 60, 0)}, nil},
		"only the temperature": {readings{"x": before}, readings{"x": steady(1980, 2619, 700, 80, 0)}, nil},
		// The range of 600 MHz bounds the standard error of 20 readings to 67 MHz.
		"within the spread": {readings{"x": between(1400, 2000)}, readings{"x": between(1500, 2100)}, nil},
		"beyond the spread": {readings{"x": between(1400, 1500)}, readings{"x": between(1500, 1600)},
			[]string{"SM clock: 1,450 → 1,550 MHz (+6.9 %): alone it changes step time by -6.5 %"}},
		"another row":   {readings{"x": before}, readings{"y": steady(1860, 2619, 500, 70, 0)}, nil},
		"not asked for": {readings{"z": before}, readings{"z": steady(1860, 2619, 500, 70, 0)}, nil},
	} {
		var got []string
		for _, x := range gpuChanges(runWith(c.a), runWith(c.b), func(point string) bool { return point != "z" }) {
			got = append(got, x.String())
		}
		if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if got := gpuChanges(&report.Run{}, runWith(readings{"x": before}), All); got != nil {
		t.Errorf("without telemetry: %v", got)
	}
}

// A clock stands beside the step time, and only if it can have changed it in that direction.
func TestSentenceNamesTheClock(t *testing.T) {
	clock := []GPUChange{{Fact: "SM clock", Unit: "MHz", A: 1980, B: 1860, StepTime: 1980.0/1860 - 1},
		{Fact: "GPU power limit", Unit: "W", A: 700, B: 500}}
	f := Figure{Metric: "tpot_p50", Change: Part{Share: 0.1}, Parts: []Part{{StepTime, 0.07, 0.06, 0.08}, {Outputs, 0.03, 0.02, 0.04}}}
	want := "TPOT p50 of chat +10.0 %: step time at equal batch +7.0 % (SM clock -6.1 %: alone +6.5 %), " +
		"response lengths +3.0 %, rest +0.0 %"
	if got := f.sentence("chat", clock); got != want {
		t.Errorf("%q", got)
	}
	f.Parts[0] = Part{StepTime, -0.07, -0.08, -0.06}
	if got := f.sentence("chat", clock); strings.Contains(got, "clock") {
		t.Errorf("%q", got)
	}
	if x := clock[0].StepTime; math.Abs(x-0.0645) > 1e-4 {
		t.Error(x)
	}
}

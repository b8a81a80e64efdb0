package report

import (
	"strings"
	"testing"

	"bench/experiment/record"
	fixture "bench/internal/reporttest"
)

func system(name string, gpus int, load, low, high, usd float64) System {
	x := System{Name: name, GPUs: gpus, axis: "rate", Load: &Range{Best: load}}
	if low > 0 {
		x.Load.Low, x.Load.High = &low, &high
	}
	if gpus > 0 {
		x.PerGPU = &Range{Best: 100 * load / float64(gpus)}
	}
	if usd > 0 {
		x.USDPerMillion = &Range{Best: usd}
	}
	return x
}

func missing(x System, load float64) System {
	x.missed = &load
	return x
}

func TestWhichSystemIsBetter(t *testing.T) {
	h100, none := system("1 × h100", 1, 30, 28, 32, 0.2), System{Name: "1 × l4", axis: "rate"}
	for _, c := range []struct {
		systems []System
		want    string
		decided bool
	}{
		{[]System{h100, system("1 × h200", 1, 48, 46, 50, 0.16)},
			"1 × h200 carries 60 % more load within the SLO than 1 × h100 (intervals apart); 1 × h200 costs 20 % less per token than 1 × h100 (intervals apart)", true},
		{[]System{h100, system("2 × h100", 2, 48, 46, 50, 0)},
			"2 × h100 carries 60 % more load within the SLO than 1 × h100 (intervals apart); 1 × h100 carries 25 % more load per GPU than 2 × h100 (intervals apart)", true},
		{[]System{h100, system("1 × h200", 1, 33, 31, 35, 0)}, "Not decided: 1 × h200 carries 10 % more load within the SLO than 1 × h100 (intervals overlap)", false},
		{[]System{h100, system("1 × h200", 1, 31.7, 30, 33.5, 0.24)}, // the price alone is apart
			"1 × h100 costs 17 % less per token than 1 × h200 (intervals apart); not decided: 1 × h200 carries 6 % more load within the SLO than 1 × h100 (intervals overlap)", true},
		{[]System{h100, system("1 × h200", 1, 33, 31, 35, 0.19)},
			"Not decided: 1 × h200 carries 10 % more load within the SLO than 1 × h100 (intervals overlap); 1 × h200 costs 5 % less per token than 1 × h100 (intervals overlap)", false},
		{[]System{h100, system("1 × b200", 1, 63, 0, 0, 0)},
			"1 × b200 carries at least 2.1 × as much load within the SLO as 1 × h100 (measured loads apart)", true},
		{[]System{system("1 × a100", 1, 20, 0, 0, 0), h100}, "Not decided: 1 × h100 carries 50 % more load within the SLO than the measured PASS of 1 × a100 (without an interval)", false},
		{[]System{missing(system("1 × a100", 1, 20, 0, 0, 0), 25), h100},
			"1 × h100 carries 50 % more load within the SLO than the measured PASS of 1 × a100 (measured loads apart)", true},
		{[]System{h100, system("1 × h200", 1, 48, 46, 50, 0), system("1 × b200", 1, 49, 47, 51, 0)},
			"1 × b200 carries 63 % more load within the SLO than 1 × h100 (intervals apart); not decided: 1 × b200 carries 2 % more load within the SLO than 1 × h200 (intervals overlap)", true},
		{[]System{none, h100}, "Not decided: 1 × h100 carries 30.0/s [28.0, 32.0] within the SLO; no load is known to meet it on 1 × l4", false},
		{[]System{none, none}, "No load is known to meet the SLO on 1 × l4 or 1 × l4", false},
	} {
		x := Systems{Systems: c.systems}
		x.conclude("")
		if x.Text != c.want || x.Decided != c.decided {
			t.Errorf("%q %v, want %q %v", x.Text, x.Decided, c.want, c.decided)
		}
	}
}

// onHardware is a run of one workload with a PASS up to a rate.
func onHardware(hardware string, usual float64) *Run {
	run := &Run{Dir: hardware}
	run.Manifest.Run, run.Manifest.Target = "20261120T120000Z", record.TargetInfo{Model: "m", Hardware: hardware, GPUs: 1}
	for i, rate := range []string{"10", "20", "40"} {
		row := fixture.Shape{Name: "chat", Axes: fixture.Axis("rate", rate), Rate: []float64{10, 20, 40}[i], Repeat: 1, N: 400, TTFT: 80, TPOT: 12,
			Output: usual * float64(i+1), Verdict: map[bool]string{true: "PASS", false: "FAIL"}[float64(i) < usual]}.Row()
		run.Rows = append(run.Rows, row)
		run.Manifest.Plan = append(run.Manifest.Plan, record.Planned{ID: row.ID, State: "done"})
	}
	return run
}

func TestSystemsSideBySide(t *testing.T) {
	x := SystemsOf([]*Run{onHardware("h100", 1), onHardware("h200"+fixture.Hostile, 2)})
	if x == nil || len(x.Systems) != 2 || x.Systems[0].Name != "1 × h100" || x.Systems[0].Load == nil || len(x.Notes) > 0 {
		t.Fatalf("%+v", x)
	}
	var b strings.Builder
	if err := RunsText(&b, []*Run{onHardware("h100", 1), onHardware("h200", 2)}, Screen{}, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1 × h200 carries 2 × as much load within the SLO as 1 × h100 (intervals apart) (simulated)", "m · 2048 → 128 tokens · TTFT p99 ≤ 1 s", "1 × h100  1 × h200", "bench report h200 --format text"} {
		if !strings.Contains(strings.Join(strings.Fields(b.String()), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	other := onHardware("h200", 2)
	for i := range other.Rows {
		other.Rows[i].Spec.Input.Min++
	}
	if x := SystemsOf([]*Run{onHardware("h100", 1), other}); x == nil || !strings.HasPrefix(x.Text, "Not compared: the workloads differ") {
		t.Errorf("%+v", x)
	}
	if x := SystemsOf([]*Run{onHardware("h100", 1)}); x != nil {
		t.Errorf("one run is no comparison: %+v", x)
	}
}

func TestSystemNames(t *testing.T) {
	served := func(word string) *Run {
		r := onHardware("h100", 1)
		r.Manifest.Servers = []record.ServerStart{{Command: []string{"vllm", "serve", word}}}
		return r
	}
	for _, c := range []struct {
		runs []*Run
		want string
	}{
		{[]*Run{onHardware("h100", 1), onHardware("h200", 1)}, "1 × h100|1 × h200"},
		{[]*Run{served("--a"), served("--b")}, "--a|--b"},
		{[]*Run{served("--a"), served("--a")}, "20261120T120000Z|20261120T120000Z (2)"},
		{[]*Run{onHardware("h100", 1), onHardware("h200", 1), onHardware("h200", 1)}, "1 × h100|1 × h200 · 20261120T120000Z|1 × h200 · 20261120T120000Z (3)"},
	} {
		if got := strings.Join(SystemNames(c.runs), "|"); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

package verdict

import (
	"slices"
	"strings"
	"testing"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/telemetry"
	fixture "bench/internal/fixturetest"
)

// busyRow is an open loop of 1,000 requests in 100 s beside a local server that waited for CPU.
func busyRow(t *testing.T, w *telemetry.CPUWait, latency func(at float64) float64) *Measured {
	e := steadyRow(1000, latency)
	e.Host, e.Client.CPUWait, e.Client.ServerRunDelay = crowd(30, 31), w, new(0.5)
	e.Spec.SLO = fixture.SLO(t, "ttft_p90 = \"200ms\"")
	only("host_load", func(string) { e.Conclude(experiment.Target{}, record.RooflineSource{}) })
	return e
}

// A busy host takes no verdict that its largest effect leaves as it is.
func TestBusyHost(t *testing.T) {
	flat := func(ms float64) func(float64) float64 { return func(float64) float64 { return ms } }
	for _, c := range []struct {
		what    string
		wait    *telemetry.CPUWait
		latency func(float64) float64
		want    stats.Verdict
		why     string
	}{
		{"ten times over", waitsFor(0.85), flat(2000), stats.Fail, "1,000 of 1000 over"},
		{"over by less than the effect", waitsFor(0.85), flat(1300), stats.Undecided,
			"undecided because of client_machine: load"},
		{"the values of both ends", waitsFor(0.5), flat(300), stats.Undecided, "; 300 ms as measured, 150 ms if all of it is the finding's"},
		{"within the limit", waitsFor(0.99), flat(199), stats.Pass, ""},
		{"waited always", waitsFor(1), flat(2000), stats.Undecided, ""},
		{"waited in the first half", &telemetry.CPUWait{Mean: 0.5, By: "cpu_pressure", Parts: []telemetry.CPUWaitPart{{ToUs: 50_000_000, Share: 1}, {ToUs: 100_000_000}}},
			flat(300), stats.Fail, ""},
		{"a queue that grows", waitsFor(0.99), func(at float64) float64 { return 100 + 2000*at }, stats.Fail, "overload on a busy host"},
	} {
		e := busyRow(t, c.wait, c.latency)
		v := e.SLO[0]
		if v.Verdict != c.want || !strings.Contains(strings.ReplaceAll(v.Why, "client_machine: the", "client_machine: load"), c.why) {
			t.Errorf("%s: %s: %s, want %s: %s", c.what, v.Verdict, v.Why, c.want, c.why)
		}
		if open := v.Verdict == stats.Undecided; open != slices.Equal(v.OpenedBy, []string{"client_machine"}) || v.Need > 0 {
			t.Errorf("%s: opened by %v, needs %d", c.what, v.OpenedBy, v.Need)
		}
	}
}

// More requests would show a FAIL as measured, which the finding opens again.
func TestMoreRequestsCannotDecide(t *testing.T) {
	slow := func(at float64) float64 { // 11 % over the limit, each near it
		if int(at*1000)%9 == 0 {
			return 250
		}
		return 50
	}
	alone := busyRow(t, waitsFor(0), slow).SLO[0]
	if alone.Verdict != stats.Undecided || alone.Need == 0 || alone.OpenedBy != nil {
		t.Fatalf("%+v", alone)
	}
	if v := busyRow(t, waitsFor(0.5), slow).SLO[0]; v.Need != 0 || !slices.Equal(v.OpenedBy, []string{"client_machine"}) ||
		!strings.Contains(v.Why, "more requests cannot decide it because of client_machine") || strings.Contains(v.Why, "need ") {
		t.Errorf("%+v", v)
	}
}

// A stall on a machine without free cores is the machine's.
func TestStalledOnABusyHost(t *testing.T) {
	e := (&stage{workers: 8, prefill: func(int) int64 { return 50_000 }, server: span{6_000_000, 9_000_000}, seconds: 12}).measured()
	e.Host, e.Client.CPUWait, e.Client.ServerRunDelay = crowd(30, 31), waitsFor(0.5), new(0.5)
	e.checked()
	i := slices.IndexFunc(e.Findings, func(f record.Finding) bool { return f.Code == "server_stalled" })
	if i < 0 || !strings.HasSuffix(e.Findings[i].Text, "; its machine was short of CPU (client_machine)") || strings.Contains(e.Findings[i].Hint, "garbage") {
		t.Errorf("%+v", e.Findings)
	}
}

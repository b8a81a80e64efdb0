package check_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bench/experiment"
	"bench/experiment/check"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/telemetry"
	"bench/experiment/verdict"
	"bench/experiment/workload"
	fixture "bench/internal/fixturetest"
)

// judged is the row with its verdicts, which the findings can open.
func judged(e *check.Evidence) *verdict.Measured {
	m := &verdict.Measured{Row: e.Row, Records: e.Requests()}
	m.Conclude(experiment.Target{}, record.RooflineSource{})
	return m
}

// findingOf is the text of a row's finding of one code; empty: it has none.
func findingOf(r *record.Row, code string) string {
	for _, f := range r.Findings {
		if f.Code == code {
			return f.Text
		}
	}
	return ""
}

// A client that is slow all the time sends another load: no limit is met by it, whatever the limit is on. Requests
// that left in bunches leave each limit open that a batch moves.
func TestSlowClient(t *testing.T) {
	const limits = "tpot_p95 = \"10s\"\nmin_requests_per_s = 19"
	rng := rand.New(rand.NewPCG(11, 12))
	row := func(change func(e *check.Evidence)) *verdict.Measured {
		e := check.SentRow(func(int) float64 { return rng.ExpFloat64() })
		e.Spec.SLO = fixture.SLO(t, limits)
		change(e)
		return judged(e)
	}
	for _, perS := range []float64{15.25, 18.5} {
		e := row(func(e *check.Evidence) { check.SlowClient(e, perS) })
		// Of a row without a fixed number of arrivals chance can explain 18.5 in 20, but not that fewer were sent than due.
		if got := findingOf(e.Row, "arrivals"); !slices.Contains(e.Codes(record.Invalid), "arrivals") || perS < 18 && !strings.HasPrefix(got, "requested 20 requests/s, sent 1") {
			t.Errorf("%g requests/s: valid %t, %q", perS, e.Valid(), got)
		}
	}
	e := row(func(e *check.Evidence) {
		for _, r := range e.Requests()[1:] { // each quarter of a second at its end, as slow in the middle of the row
			late := 250_000 - r.Arrival.Us()%250_000
			r.Sent, r.First, r.Last, r.End = r.Sent.Add(late), r.First.Add(late), r.Last.Add(late), r.End.Add(late)
		}
	})
	if !e.Valid() || len(e.SLO) != 2 {
		t.Fatalf("bunched: valid %t, %+v, %+v", e.Valid(), e.Findings, e.SLO)
	}
	for _, v := range e.SLO {
		if v.Verdict != stats.Pass || !slices.Contains(e.Codes(record.Caution), "arrivals") { // far within the limits
			t.Errorf("bunched: %s %s: %s", v.Metric, v.Verdict, v.Why)
		}
	}
}

// busyRow is an open loop of 1,000 requests in 100 s beside a local server that waited for CPU.
func busyRow(t *testing.T, w *telemetry.CPUWait, latency func(at float64) float64) (e *verdict.Measured) {
	row := check.SteadyRow(1000, latency)
	row.Host, row.Client.CPUWait, row.Client.ServerRunDelay = check.Crowd(30, 31), w, new(0.5)
	row.Spec.SLO = fixture.SLO(t, "ttft_p90 = \"200ms\"")
	check.Only("host_load", func(string) { e = judged(row) })
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
		{"ten times over", check.WaitsFor(0.85), flat(2000), stats.Fail, "1,000 of 1000 over"},
		{"over by less than the effect", check.WaitsFor(0.85), flat(1300), stats.Undecided,
			"undecided because of client_machine: load"},
		{"the values of both ends", check.WaitsFor(0.5), flat(300), stats.Undecided, "; 300 ms as measured, 150 ms if all of it is the finding's"},
		{"within the limit", check.WaitsFor(0.99), flat(199), stats.Pass, ""},
		{"waited always", check.WaitsFor(1), flat(2000), stats.Undecided, ""},
		{"waited in the first half", &telemetry.CPUWait{Mean: 0.5, By: "cpu_pressure", Parts: []telemetry.CPUWaitPart{{ToUs: 50_000_000, Share: 1}, {ToUs: 100_000_000}}},
			flat(300), stats.Fail, ""},
		{"a queue that grows", check.WaitsFor(0.99), func(at float64) float64 { return 100 + 2000*at }, stats.Fail, "overload on a busy host"},
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
	alone := busyRow(t, check.WaitsFor(0), slow).SLO[0]
	if alone.Verdict != stats.Undecided || alone.Need == 0 || alone.OpenedBy != nil {
		t.Fatalf("%+v", alone)
	}
	if v := busyRow(t, check.WaitsFor(0.5), slow).SLO[0]; v.Need != 0 || !slices.Equal(v.OpenedBy, []string{"client_machine"}) ||
		!strings.Contains(v.Why, "more requests cannot decide it because of client_machine") || strings.Contains(v.Why, "need ") {
		t.Errorf("%+v", v)
	}
}

// A class that does not queue is judged, although the queue of another grows.
func TestUnsteadyClass(t *testing.T) {
	for latency, want := range map[float64]stats.Verdict{0: stats.Pass, 3000: stats.Undecided} {
		rng := rand.New(rand.NewPCG(7, 2))
		e := check.SteadyRow(2000, func(at float64) float64 { return 50 + 20_000*at })
		gold := check.SteadyRow(400, func(at float64) float64 { return 50*math.Exp(0.2*rng.NormFloat64()) + latency*at })
		for _, r := range gold.Requests()[1:] {
			r.Class = "gold"
		}
		for _, r := range e.Requests() {
			r.Class = "bulk"
		}
		e.Add(gold.Requests()[1:]...)
		e.Spec.Mix = []workload.Class{{Name: "bulk", Weight: 5}, {Name: "gold", Weight: 1,
			SLO: map[string]any{"ttft_p95": "4s"}}}
		judged(e)
		if v := e.SLO[0]; v.Verdict != want || findingOf(e.Row, "unsteady") == "" {
			t.Errorf("%s, want %s: %+v %s", v.Verdict, want, v, findingOf(e.Row, "unsteady"))
		}
	}
}

// Only the slow worker's requests move at the end of what the finding leaves possible: a FAIL that they alone bring
// about is UNDECIDED, one that the others share stands.
func TestSlowWorkerInTheVerdict(t *testing.T) {
	for limit, want := range map[string]stats.Verdict{
		`ttft_p90 = "130ms"`: "UNDECIDED",
		`ttft_p50 = "80ms"`:  "FAIL",
		`ttft_p95 = "600ms"`: "PASS",
	} {
		e := check.OnWorkers(300)
		e.Spec.SLO = fixture.SLO(t, limit)
		judged(e)
		if v := e.SLO[0]; v.Verdict != want {
			t.Errorf("%s: %s, want %s: %s", limit, v.Verdict, want, v.Why)
		}
	}
}

// Slow first requests move no further than to the fastest of the others: where all are far beyond the limit, none is free.
func TestUnsteadyRowStillFails(t *testing.T) {
	e := check.SteadyRow(60, func(at float64) float64 {
		if at < 0.4 {
			return 22 + at
		}
		return 20 + at/10
	})
	e.Spec.SLO = fixture.SLO(t, `ttft_p50 = "1ms"`)
	judged(e)
	i := slices.IndexFunc(e.Findings, func(f record.Finding) bool { return f.Code == "unsteady" })
	if x := e.Findings[i].Effects[0]; x.Metric != "ttft" || x.Direction != record.Inflated || math.Abs(*x.Bound-2.333) > 1e-3 {
		t.Errorf("%+v", e.Findings[i])
	}
	if v := e.SLO[0]; v.Verdict != stats.Fail {
		t.Errorf("60 of 60 requests are 20 × the limit: %+v", v)
	}
}

// One worker without a core decides nothing where its requests can't: 25 of 100 are FAIL beyond it.
func TestEffectsOfAWorkerInTheVerdict(t *testing.T) {
	for limit, want := range map[string]string{"e2e_p50 = \"5ms\"": "FAIL", "e2e_p90 = \"5ms\"": "FAIL"} {
		e := check.Shared()
		e.Workers[1].Client.CPUMean = new(2.0)
		e.Spec.SLO = fixture.SLO(t, limit)
		judged(e)
		if v := e.SLO[0]; string(v.Verdict) != want {
			t.Errorf("%s: %s: %s", limit, v.Verdict, v.Why)
		}
		e.Workers = e.Workers[1:2]
		for _, r := range e.Requests() {
			r.Worker = new(0)
		}
		e.Workers[0].Worker = 0
		judged(e)
		if v := e.SLO[0]; v.Verdict != "UNDECIDED" {
			t.Errorf("%s by one worker alone: %s: %s", limit, v.Verdict, v.Why)
		}
	}
}

// The text of a caution has the limits that it touches.
func TestCautionNamesItsLimit(t *testing.T) {
	e := check.Flawless()
	e.Client.Steal, e.Client.StealMaxMs = new(0.158), new(4.0)
	e.Spec.SLO = fixture.SLO(t, `ttft_p50 = "300ms"`)
	judged(e)
	const want = "CPU steal 15.8 %: timestamps up to 4 ms late; ttft_p50 limit 300 ms: verdict unaffected"
	if got := findingOf(e.Row, "client_bound"); got != want || !e.Valid() {
		t.Errorf("%q", got)
	}
}

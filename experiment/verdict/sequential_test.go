package verdict

import (
	"slices"
	"strings"
	"testing"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/workload"
	fixture "bench/internal/fixturetest"
)

// untilRow is a row of n requests of which the i-th takes as many ms as told, one after the other.
func untilRow(t *testing.T, slo string, n int, ms func(i int) int64) *Measured {
	t.Helper()
	e := &Measured{Row: &record.Row{Spec: fixture.Spec()}}
	e.Spec.Rate, e.Spec.Concurrency, e.Spec.Arrival.Process = 100, 1, "constant"
	e.Spec.Until, e.Spec.SLO = experiment.UntilDecided, fixture.SLO(t, slo)
	for i := range n {
		at := int64(i) * 10_000
		r := fixture.OKRequest(at, at+1000*ms(i), at+1000*ms(i)+500)
		r.I = i
		e.Records = append(e.Records, r)
	}
	e.Window = record.Window{EndUs: int64(n) * 10_000}
	return e
}

// looked runs through the records in the order of their ends, and gives how many were over when the SLO was
// decided; 0 = it never was.
func (e *Measured) looked() int {
	k := NewSequentialTest(&e.Spec)
	byEnd := slices.Clone(e.Records)
	slices.SortStableFunc(byEnd, func(a, b *record.Record) int { return int(a.End.Us() - b.End.Us()) })
	for i, r := range byEnd {
		if k.Add(r) {
			return i + 1
		}
	}
	return 0
}

func TestUntilDecided(t *testing.T) {
	fast := func(int) int64 { return 5 }
	for _, c := range []struct {
		name, slo string
		ms        func(int) int64
		stops     int
		want      string
	}{
		{"far within a p90", `ttft_p90 = "10ms"`, fast, 64, "PASS"},   // 0.9⁶⁴ = 0.12 %, 0.5 % is to be spent
		{"far within a p99", `ttft_p99 = "10ms"`, fast, 1024, "PASS"}, // 0.99¹⁰²⁴ = 0.003 %, 0.03 % is to be spent
		{"far beyond", `ttft_p99 = "10ms"`, func(i int) int64 { return 5 + 20*int64(i%2) }, 65, "FAIL"},
		{"two limits, the slower one decides", "ttft_p90 = \"10ms\"\ntpot_p99 = \"1s\"", fast, 1024, "PASS"},
		{"a mean", `ttft_mean = "10ms"`, fast, 64, "PASS"},
		{"errors", `error_rate = 0.1`, fast, 64, "PASS"},
		{"gaps", `itl_p90 = "10ms"`, fast, 0, "UNDECIDED"}, // one token, no gap
	} {
		e := untilRow(t, c.slo, 1500, c.ms)
		if c.name == "gaps" {
			for _, r := range e.Records {
				r.Gaps = record.Packed{}
			}
		}
		if got := e.looked(); got != c.stops {
			t.Errorf("%s: stops after %d, want %d", c.name, got, c.stops)
		}
		e.Conclude(experiment.Target{}, record.RooflineSource{})
		if v := e.SLO[0]; string(v.Verdict) != c.want {
			t.Errorf("%s: %s", c.name, fixture.Verdict(v))
		}
	}
}

// The fast requests of the first look are over long before its slow ones: they decide nothing alone.
func TestUntilWaitsForTheSlow(t *testing.T) {
	e := untilRow(t, `ttft_p90 = "10ms"`, 4200, func(i int) int64 {
		if i == 3 {
			return 5000
		}
		return 5
	})
	if got := e.looked(); got < 2560 { // five stays of request 3
		t.Errorf("stops after %d", got)
	}
}

// What was decided stays decided, whatever came while the row was ending.
func TestUntilKeepsItsDecision(t *testing.T) {
	e := untilRow(t, `ttft_p90 = "10ms"`, 80, func(i int) int64 {
		if i >= 64 && i%2 == 0 {
			return 50
		}
		return 5
	})
	e.Conclude(experiment.Target{}, record.RooflineSource{})
	if v := e.SLO[0]; v.Verdict != "PASS" || !strings.Contains(v.Why, "look 1, after 64 requests") {
		t.Errorf("%s: %s", fixture.Verdict(v), v.Why)
	}
	e.Spec.Until = ""
	e.Conclude(experiment.Target{}, record.RooflineSource{})
	if v := e.SLO[0]; v.Verdict == "PASS" {
		t.Errorf("without looks: %s", fixture.Verdict(v))
	}
}

// Each class is looked at when the row is, and its own limit takes the place of the row's.
func TestUntilOfClasses(t *testing.T) {
	e := untilRow(t, `ttft_p90 = "10ms"`, 400, func(i int) int64 { return 5 + 20*int64(i%2) })
	e.Spec.Mix = []workload.Class{{Name: "fast", Weight: 1}, {Name: "slow", Weight: 1, SLO: map[string]any{"ttft_p90": "100ms"}}}
	for i, r := range e.Records {
		r.Class = []string{"fast", "slow"}[i%2]
	}
	if got := e.looked(); got != 129 { // 64 of each, and one that ends before the 128th
		t.Errorf("stops after %d", got)
	}
	e.Conclude(experiment.Target{}, record.RooflineSource{})
	if len(e.SLO) != 2 || e.SLO[0].Verdict != "PASS" || e.SLO[1].Verdict != "PASS" {
		t.Errorf("%+v", e.SLO)
	}
}

// A probe of a search runs to its end where counts alone fail it, and ends where the server does not keep up.
func TestProbeEndsByOverloadAlone(t *testing.T) {
	for _, c := range []struct {
		name  string
		ms    func(int) int64
		stops bool
	}{
		{"half of the requests over the limit", func(i int) int64 { return 5 + 20*int64(i%2) }, false},
		{"latency rises through the window", func(i int) int64 { return 5 + int64(i) }, true},
	} {
		e := untilRow(t, `ttft_p99 = "10ms"`, 600, c.ms)
		e.Spec.Until, e.Spec.Rate = "", 100
		e.Spec.Search = &experiment.Search{Axis: "rate", Goal: experiment.GoalSLO, Min: 1, Max: 200}
		if got := e.looked(); (got > 0) != c.stops {
			t.Errorf("%s: stops after %d", c.name, got)
		}
	}
}

// Users who left neither pass nor fail a limit: the looks count the others.
func TestUntilLeavesLeaversOut(t *testing.T) {
	for _, slo := range []string{`ttft_p90 = "10ms"`, `error_rate = 0.1`} {
		e := untilRow(t, slo, 300, func(int) int64 { return 5 })
		for i, r := range e.Records {
			if i%2 == 0 {
				r.Outcome, r.First, r.Last = "left", record.Micros{}, record.Micros{}
			}
		}
		if got := e.looked(); got != 128 { // 64 stayed
			t.Errorf("%s: stops after %d, want 128", slo, got)
		}
	}
}

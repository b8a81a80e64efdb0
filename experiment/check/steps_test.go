package check_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"bench/experiment"
	"bench/experiment/check"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/verdict"
	fixture "bench/internal/fixturetest"
)

func under(s verdict.Step, limit float64) stats.Verdict {
	switch {
	case limit < s.FailBelow:
		return stats.Fail
	case limit >= s.PassFrom:
		return stats.Pass
	}
	return stats.Undecided
}

// A step is the verdict that evaluating the row again under a limit brings: at random limits, and at both its ends.
func TestSteps(t *testing.T) {
	rng := rand.New(rand.NewPCG(42, 7))
	flat := func(ms float64) func(float64) float64 { return func(float64) float64 { return ms } }
	noisy := func(ms float64) func(float64) float64 {
		return func(float64) float64 { return ms * math.Exp(rng.NormFloat64()) }
	}
	steady := func(n int, latency func(at float64) float64) *verdict.Measured {
		e := check.SteadyRow(n, latency)
		return &verdict.Measured{Row: e.Row, Records: e.Requests()}
	}
	rows := map[string]*verdict.Measured{
		"steady":           steady(1000, noisy(100)),
		"equal":            steady(300, flat(100)),
		"few":              steady(12, noisy(100)),
		"one":              steady(1, noisy(100)),
		"a queue grows":    steady(400, func(at float64) float64 { return 50 + 3000*at + 20*rng.Float64() }),
		"busy host":        busyRow(t, check.WaitsFor(0.5), noisy(300)),
		"busy, overloaded": busyRow(t, check.WaitsFor(0.9), func(at float64) float64 { return 100 + 2000*at }),
		"below saturation": batchedRow(t, 14, 60, rng),
		"above saturation": batchedRow(t, 19, 40, rng),
		"one percent fail": steady(500, noisy(100)),
		"most fail":        steady(500, noisy(100)),
		"until decided":    steady(1000, noisy(100)),
	}
	fail := func(name string, every int) {
		for i, r := range rows[name].Records {
			if i%every == 0 {
				*r = *check.FailedRequest(r.Arrival.Us(), "timeout")
				r.I = i
			}
		}
	}
	fail("one percent fail", 100)
	fail("most fail", 2)
	rows["until decided"].Spec.Until = experiment.UntilDecided
	for name, e := range rows {
		t.Run(name, func(t *testing.T) {
			e.Spec.SLO = fixture.SLO(t, "ttft_p50 = \"100ms\"\nttft_p95 = \"500ms\"\ntpot_p90 = \"20ms\"\nitl_p99 = \"30ms\"\ne2e_mean = \"1s\"\ne2e_p99 = \"2s\"")
			e.Conclude(experiment.Target{}, record.RooflineSource{})
			steps := verdict.Steps(e.Row, e.Records)
			if len(steps) != len(e.Spec.SLO.Limits) {
				t.Fatalf("%d steps", len(steps))
			}
			for i, s := range steps {
				limits := []float64{e.Spec.SLO.Limits[i].Value, s.FailBelow, s.PassFrom, math.Nextafter(s.FailBelow, 0), math.Nextafter(s.PassFrom, 0)}
				if s.FailBelow > 0 && s.FailBelow < 1e-300 {
					t.Errorf("%s: UNDECIDED under every limit has 0, not %g", s.Key, s.FailBelow)
				}
				for range 2 {
					limits = append(limits, math.Pow(10, 5*rng.Float64()-1))
				}
				for _, limit := range limits {
					if !(limit > 0) || math.IsInf(limit, 1) {
						continue
					}
					row := *e.Row
					asked := e.Spec.SLO.Limits[i]
					asked.Value = limit
					row.Spec.SLO.Limits = []experiment.Limit{asked}
					again := verdict.UnderLimits(&row, e.Records, experiment.Target{}).SLO[0]
					if want := again.Verdict; under(s, limit) != want {
						t.Errorf("%s ≤ %v: %s, want %s (%s); step %v", s.Key, limit, under(s, limit), want, again.Why, s)
					}
				}
			}
		})
	}
}

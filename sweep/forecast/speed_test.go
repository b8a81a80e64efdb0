package forecast

import (
	"math"
	"testing"
	"time"

	"bench/experiment"
	"bench/experiment/workload"
	fixture "bench/internal/fixturetest"
)

// A server whose requests of ten tokens take 100 ms each, four at once: 10, 20, 40, 40 requests/s by worker.
var four = Speed{
	Basis:     "test",
	RequestMs: func(_, _, _, output float64) float64 { return 10 * output },
	Sequences: func(float64) int { return 4 },
}

func TestPredictedRow(t *testing.T) {
	const s = workload.Span(time.Second)
	point := func(rate float64, l workload.Load, slo string) *experiment.Spec {
		return &experiment.Spec{
			Workload: workload.Workload{Input: workload.Fixed(16), Output: workload.Fixed(10), Rate: workload.Rate(rate)},
			Load:     l, SLO: fixture.SLO(t, slo),
		}
	}
	decided := point(10, workload.Load{Duration: 600 * s}, `ttft_p95 = "1s"`)
	decided.Until = experiment.UntilDecided
	for _, c := range []struct {
		name     string
		spec     *experiment.Spec
		want     string // of the estimate
		requests int
	}{
		{"closed", point(0, workload.Load{Concurrency: 2, Requests: 1000}, ""), "about 51s", 1000},
		{"closed, a wait behind four", point(0, workload.Load{Concurrency: 8, Requests: 1000}, ""), "about 26s", 1000},
		{"closed, warm-up", point(0, workload.Load{Concurrency: 2, Requests: 1000, Warmup: workload.Extent{Requests: 200}}, ""), "about 1m 01s", 1000},
		{"time ends it", point(0, workload.Load{Concurrency: 1, Requests: 1000, Duration: 30 * s}, ""), "about 31s", 300},
		{"capped by far more", point(0, workload.Load{Concurrency: 1, Requests: 100, Duration: 600 * s}, ""), "about 11s (at most 10m 01s)", 100},
		{"all at once", point(math.Inf(1), workload.Load{Requests: 400}, ""), "about 11s", 400},
		{"open", point(10, workload.Load{Duration: 30 * s}, ""), "31s", 300},
		{"open, beyond what the server sustains", point(80, workload.Load{Duration: 30 * s}, ""), "1m 01s", 2400},
		{"p95 decided at the second look", decided, "about 14s (at most 10m 01s)", 6000},
	} {
		if got := timeOf(c.spec, newDurations(Known{Speed: four})).String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if n, _ := newDurations(Known{Speed: four}).planned(c.spec); n != c.requests {
			t.Errorf("%s: %d requests, want %d", c.name, n, c.requests)
		}
	}
}

// The time left starts from the prediction, and follows a row that ended.
func TestRemainingPredicts(t *testing.T) {
	row := experiment.Spec{
		Name: "A", Workload: workload.Workload{Input: workload.Fixed(16), Output: workload.Fixed(10)},
		Load: workload.Load{Concurrency: 2, Requests: 1000},
	}
	again := row
	again.Repeat = 2
	r := NewRemaining(matrixOf(row, again), Known{Speed: four})
	if got := r.Left().String(); got != "about 1m 42s" {
		t.Errorf("before the first row: %s", got)
	}
	r.Reach(r.Todo[0].ID)
	r.Learn(ended(&row, 70*time.Second))
	if got := r.Left().String(); got != "about 1m 10s" {
		t.Errorf("after a slower one: %s", got)
	}
}

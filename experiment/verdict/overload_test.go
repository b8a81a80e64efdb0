package verdict

import (
	"testing"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/workload"
	fixture "bench/internal/fixturetest"
)

func TestOverloadTest(t *testing.T) {
	rising := func(i int) int64 { return 5 + int64(i) }
	for _, c := range []struct {
		name, slo string
		n         int
		ms        func(int) int64
		change    func(*experiment.Spec)
		want      bool
	}{
		{"latency rises past the limit", `ttft_p99 = "100ms"`, 600, rising, nil, true},
		{"of many requests a part", `ttft_p99 = "10ms"`, 30_000, rising, nil, true},
		{"too few have ended", `ttft_p99 = "10ms"`, 31, rising, nil, false},
		{"rises below the limit", `ttft_p99 = "1s"`, 600, rising, nil, false},
		{"half of the requests over the limit", `ttft_p99 = "10ms"`, 600, func(i int) int64 { return 5 + 20*int64(i%2) }, nil, false},
		{"within the limit", `ttft_p99 = "10ms"`, 600, func(int) int64 { return 5 }, nil, false},
		{"no queue in the metric", `tpot_p99 = "100ms"`, 600, rising, nil, false},
		{"closed loop", `ttft_p99 = "100ms"`, 600, rising, func(s *experiment.Spec) { s.Rate, s.Concurrency = 0, 8 }, false},
		{"a rate that rises", `ttft_p99 = "100ms"`, 600, rising, func(s *experiment.Spec) { s.Arrival = workload.Arrival{Process: "ramp"} }, false},
	} {
		e := untilRow(t, c.slo, c.n, c.ms)
		if e.Spec.Rate = 100; c.change != nil {
			c.change(&e.Spec)
		}
		k := NewOverloadTest(&e.Spec)
		for _, r := range e.Records {
			k.Add(r)
		}
		if got := k != nil && k.Found(); got != c.want {
			t.Errorf("%s: found %v", c.name, got)
		}
		if k == nil {
			continue
		}
		if w := k.window; len(w.kept) >= 4096 || len(w.kept)*w.stride < c.n*9/10 {
			t.Errorf("%s: %d kept, each for %d", c.name, len(w.kept), w.stride)
		}
	}
}

// The warm-up shows an overload if no request of the window has ended, and not before one of them can run without load
// beside it: as long as the longest one, 500 µs.
func TestOverloadOfTheWarmup(t *testing.T) {
	for _, c := range []struct {
		name   string
		ms     func(int) int64
		window int // requests of it that have ended
		want   bool
	}{
		{"rises past the limit", func(i int) int64 { return 5 + int64(i) }, 0, true},
		{"one of the window has ended", func(i int) int64 { return 5 + int64(i) }, 1, false},
		{"within the limit", func(int) int64 { return 5 }, 0, false},
	} {
		e := untilRow(t, `ttft_p99 = "10ms"`, 600, c.ms)
		e.Spec.Rate = 100
		k := NewOverloadTest(&e.Spec)
		for _, r := range e.Records[:600-c.window] {
			r.Phase = record.PhaseWarmup
		}
		for _, r := range e.Records {
			k.Add(r)
		}
		at := k.now
		found := func(after int64) bool {
			r := fixture.OKRequest(at+after-1, at+after)
			r.Phase = record.PhaseCooldown
			k.Add(r)
			return k.Found()
		}
		if found(0) || found(500) {
			t.Errorf("%s: found while a request of the window can run", c.name)
		}
		if got := found(501); got != c.want {
			t.Errorf("%s: found %v", c.name, got)
		}
	}
}

package verdict

import (
	"testing"

	"bench/experiment"
	"bench/experiment/workload"
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
		if k != nil && (len(k.window) >= 4096 || len(k.window)*k.stride < c.n*9/10) {
			t.Errorf("%s: %d kept, each for %d", c.name, len(k.window), k.stride)
		}
	}
}

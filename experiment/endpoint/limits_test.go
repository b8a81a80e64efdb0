package endpoint

import (
	"math"
	"strings"
	"testing"

	"bench/experiment"
	"bench/experiment/telemetry"
	"bench/experiment/workload"
)

func TestAffords(t *testing.T) {
	closed := func(n int) *experiment.Spec {
		return &experiment.Spec{Name: "D", Load: workload.Load{Concurrency: n, Requests: 1}}
	}
	open := func(rate workload.Rate, limit, requests int) *experiment.Spec {
		return &experiment.Spec{Name: "D", Workload: workload.Workload{Rate: rate}, Load: workload.Load{Concurrency: limit, Requests: requests}}
	}
	for _, c := range []struct {
		what      string
		spec      *experiment.Spec
		limits    telemetry.Limits
		simulated bool
		want      []string // parts of the error; nil: affordable
	}{
		{"nothing is known", closed(60_000), telemetry.Limits{Open: 10}, false, nil},
		{"just enough files", closed(500), telemetry.Limits{Files: 1074, Open: 10}, false, nil},
		{"one file too few", closed(500), telemetry.Limits{Files: 1073, Open: 10}, false,
			[]string{"D needs about 1,074 open files for its 500 connections, the limit is 1,073\nhint: ulimit -n 2000 ", "--nofile=2000"}},
		{"both ends in one process", closed(500), telemetry.Limits{Files: 1074, Open: 10}, true, []string{"needs about 1,574 open files"}},
		{"those opened ahead are 1,024 at most", closed(20_000), telemetry.Limits{Files: 21_088}, false, nil},
		{"as many ports", closed(28_232), telemetry.Limits{Ports: 28_232}, false, nil},
		{"one more", closed(28_233), telemetry.Limits{Ports: 28_232}, false,
			[]string{"needs 28,233 connections to one address", "has ports for 28,232\nhint: sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\""}},
		{"an open loop, by its rate", open(10, 0, 0), telemetry.Limits{Files: 119}, false, []string{"needs about 120 open files for its 28 connections"}},
		{"its cap is no need", open(10, 60_000, 0), telemetry.Limits{Files: 3000, Ports: 28_232}, false, nil},
		{"all at once", open(workload.Rate(math.Inf(1)), 0, 30_000), telemetry.Limits{Ports: 28_232}, false, []string{"30,000 connections"}},
		{"all at once under a cap", open(workload.Rate(math.Inf(1)), 100, 30_000), telemetry.Limits{Ports: 28_232}, false, nil},
	} {
		s := &Server{}
		if c.simulated {
			s.MarkSimulated("in this process")
		}
		err := s.CheckLimits(c.spec, c.limits)
		if (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v", c.what, err)
		}
		for _, part := range c.want {
			if err != nil && !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v, want %q", c.what, err, part)
			}
		}
	}
}

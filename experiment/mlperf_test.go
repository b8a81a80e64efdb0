package experiment

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bench/experiment/workload"
)

func TestSLOOfMLPerf(t *testing.T) {
	c := tableOf(t, `mlperf = "llama2-70b/interactive"`)
	if got := limitsText(c); got != "tpot_p99 ≤ 40 ms, ttft_p99 ≤ 450 ms" {
		t.Error(got)
	}
	c = tableOf(t, "mlperf = \"llama2-70b/interactive\"\nttft_p99 = \"300ms\"\nerror_rate = 0.01")
	if got := limitsText(c); got != "error_rate ≤ 0.01 share, tpot_p99 ≤ 40 ms, ttft_p99 ≤ 300 ms" {
		t.Errorf("its own limit wins: %s", got)
	}
	if _, m := decode(t, `mlperf = "llama2/offline"`); len(m) != 1 || !strings.Contains(m[0], "unknown MLPerf preset") {
		t.Errorf("%v", m)
	}
	for name, limits := range mlperf {
		for key, ms := range limits {
			if _, stat, ok := cutStat(key); !ok || stat != "p99" || ms < 10 {
				t.Errorf("%s: %s = %v", name, key, ms)
			}
		}
	}
}

func TestScenarios(t *testing.T) {
	poisson, constant := workload.Workload{Rate: 4}, workload.Workload{Rate: 4, Arrival: workload.Arrival{Process: "constant"}}
	for _, c := range []struct {
		name string
		spec Spec
		want string // the load, or the problem
	}{
		{"one by one", Spec{Scenario: "SingleStream"}, "rate 0, 1 slots, 1024 requests, 0s"},
		{"one by one, some", Spec{Scenario: "SingleStream", Load: workload.Load{Requests: 5}}, "rate 0, 1 slots, 5 requests, 0s"},
		{"one by one, by a rate", Spec{Scenario: "SingleStream", Workload: poisson}, "remove rate"},
		{"server", Spec{Scenario: "Server", Workload: poisson}, "rate 4, 0 slots, 0 requests, 10m0s"},
		{"server without a rate", Spec{Scenario: "Server"}, "write rate = 4"},
		{"server, constant", Spec{Scenario: "Server", Workload: constant}, "Poisson arrivals"},
		{"offline", Spec{Scenario: "Offline"}, "rate +Inf, 0 slots, 24576 requests, 0s"},
		{"offline by a rate", Spec{Scenario: "Offline", Workload: poisson}, "all requests at once"},
		{"unknown", Spec{Scenario: "MultiStream"}, "use Offline, Server, SingleStream"},
		{"none", Spec{Workload: poisson}, "rate 4, 0 slots, 0 requests, 0s"},
	} {
		got := ""
		c.spec.ApplyPresets(func(_, problem, hint string) { got = problem + ": " + hint })
		if got == "" {
			got = c.spec.loadText()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// loadText is what a scenario decides.
func (s *Spec) loadText() string {
	return fmt.Sprintf("rate %g, %d slots, %d requests, %v", float64(s.Rate), s.Concurrency, s.Requests, time.Duration(s.Duration))
}

func limitsText(c SLO) string {
	var parts []string
	for _, l := range c.Limits {
		parts = append(parts, l.String())
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

package forecast

import (
	"strings"
	"testing"
	"time"

	"bench/experiment"
	"bench/experiment/workload"
	"bench/sweep"
	"bench/sweep/matrix"
)

// Before anything ran a duration is a range: from the stated phases to the limits that end the row.
func TestStated(t *testing.T) {
	spec := func(rate float64, l workload.Load) *experiment.Spec {
		return &experiment.Spec{Workload: workload.Workload{Rate: workload.Rate(rate)}, Load: l}
	}
	const s = workload.Span(time.Second)
	tests := []struct {
		spec *experiment.Spec
		want string
	}{
		{spec(0, workload.Load{Concurrency: 1, Duration: 30 * s, Warmup: workload.Extent{Time: 5 * s}}), "35s to 2m 36s"},
		{spec(2, workload.Load{Requests: 10, Grace: s}), "5s to 7s"},
		{spec(0, workload.Load{Concurrency: 1, Requests: 10, Duration: 15 * s}), "at most 2m 16s"},
		{spec(0, workload.Load{Concurrency: 1, Requests: 10, Warmup: workload.Extent{Time: 5 * s}}), "at least 5s"},
		{spec(0, workload.Load{Concurrency: 1, Duration: 15 * s, Warmup: workload.Extent{Requests: 5}}), "at least 15s"},
	}
	for _, tt := range tests {
		if got := newDurations(&matrix.Matrix{}).of(tt.spec).String(); got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.spec.Load, got, tt.want)
		}
	}
}

func TestPercentile(t *testing.T) {
	for n, want := range map[int]string{0: "depends", 1: "none", 20: "p50 (thin)", 50: "p90 (thin)", 100: "p95 (thin)", 1000: "p99"} {
		if got := percentile(n); got != want {
			t.Errorf("n=%d: %s, want %s", n, got, want)
		}
	}
}

// A plan states the order unless it is as written, and the starts that alternating servers costs.
func TestPlanOrder(t *testing.T) {
	text := `name = "m"
order = "ORDER"
[target]
endpoint = "http://127.0.0.1:1"
[server]
command = ["x", "{n}"]
[server.knobs]
n = [1, 2]
[[row]]
name = "r"
input = 16
output = 4
concurrency = 1
duration = "9s"
repeats = 4
`
	for order, want := range map[string]string{
		"listed":      "8 rows, 1m 12s to 17m 20s, and 2 starts of the server",
		"interleaved": "8 rows, 1m 12s to 17m 20s, and 5 starts of the server\norder: interleaved (ABBA), which costs 3 starts more than as written",
	} {
		m, err := matrix.ParseSet("m.toml", []byte(strings.Replace(text, "ORDER", order, 1)), nil)
		if err != nil {
			t.Fatal(err)
		}
		p, err := NewPlan(m, []string{"r"}, sweep.Kept{})
		odd, _ := matrix.ParseSet("m.toml", []byte(strings.Replace(strings.Replace(text, "ORDER", order, 1), "repeats = 4", "repeats = 3", 1)), nil)
		if q, err := NewPlan(odd, nil, sweep.Kept{}); err != nil || strings.Contains(q.Total(), "even number of repeats") != (order == "interleaved") {
			t.Errorf("%s, 3 repeats: %v, %q", order, err, q.Total())
		}
		if err != nil || p.Total() != want || len(p.Rows) != 2 || p.Rows[0].Repeats != 4 || p.Rows[0].Time != "36s to 8m 40s" || p.Rows[0].Point != "n=1" || p.Rows[1].Load != "concurrency 1" {
			t.Errorf("%s: %v, %q, %+v", order, err, p.Total(), p.Rows)
		}
	}
}

package forecast

import (
	"testing"

	"bench/experiment"
	"bench/experiment/fixture"
	"bench/experiment/workload"
)

func TestUndecidable(t *testing.T) {
	row := func(requests int, slo string) *experiment.Spec {
		s := fixture.Spec()
		s.Rate, s.Requests, s.Duration = 0, requests, 0
		s.Concurrency, s.SLO = 4, fixture.SLO(t, slo)
		return &s
	}
	search := row(0, `error_rate = 0.001`)
	search.Concurrency, search.Rate, search.Duration = 0, 4, workload.Span(60e9)
	search.Search = &experiment.Search{Axis: "rate", Goal: experiment.GoalSLO, Min: 4, Max: 64}
	for _, c := range []struct {
		s    *experiment.Spec
		want string
	}{
		{row(100, `ttft_p95 = "1s"`), ""},
		{row(89, `ttft_p95 = "1s"`), "A: ttft_p95 can't pass with 89 requests: a PASS takes at least 90"},
		{row(400, "ttft_p999 = \"1s\"\ntpot_p99 = \"1s\"\nttft_mean = \"1s\""), "A: tpot_p99, ttft_p999 can't pass with 400 requests: a PASS takes at least 4,603"},
		{row(0, `ttft_p95 = "1s"`), ""},
		{search, "A: error_rate can't pass with 3,840 requests: a PASS takes at least 4,603"},
	} {
		if got := undecidableText(c.s); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

package verdict

import (
	"testing"

	"bench/experiment/record"
	"bench/experiment/stats"
)

func TestLimitText(t *testing.T) {
	for _, c := range []struct {
		v          record.Verdict
		text, miss string
	}{
		{record.Verdict{Metric: "ttft_p95", Limit: 500, Unit: "ms", Value: new(2040.)}, "TTFT p95 ≤ 500 ms", "TTFT p95 2.04 s > 500 ms"},
		{record.Verdict{Metric: "ttft_from_send_p99", Class: "chat", Limit: 1500, Unit: "ms", Value: new(1600.)}, "TTFT from send p99 (class chat) ≤ 1.5 s", "TTFT from send p99 (class chat) 1.60 s > 1.5 s"},
		{record.Verdict{Metric: "tpot_mean", Limit: 40, Unit: "ms", Why: "the queue grows", Value: new(39.)}, "TPOT mean ≤ 40 ms", "TPOT mean: the queue grows"},
		{record.Verdict{Metric: "ttft_p95", Limit: 500, Unit: "ms", Why: "6 of 10 failed"}, "TTFT p95 ≤ 500 ms", "TTFT p95: 6 of 10 failed"},
		{record.Verdict{Metric: "ttft_p95", Limit: 500, Unit: "ms", Why: "6 of 10 over the limit, 5 % allowed (6 of them failed)"},
			"TTFT p95 ≤ 500 ms", "TTFT p95: 6 of 10 over the limit, 5 % allowed, 6 of them failed"},
		{record.Verdict{Metric: "ttft_p95", Limit: 500, Unit: "ms", Value: new(499.), Why: "3 of 90 over the limit, 5 % allowed; overload: latency rises"},
			"TTFT p95 ≤ 500 ms", "TTFT p95: overload: latency rises"},
		{record.Verdict{Metric: "error_rate", Limit: 0.05, Unit: "share", Value: new(0.12)}, "error rate ≤ 5 %", "error rate 12.0 % > 5 %"},
		{record.Verdict{Metric: "min_output_tokens_per_s_per_gpu", Limit: 500, Unit: "tokens/s", Value: new(45.)}, "output tok/s/GPU ≥ 500", "output tok/s/GPU 45.0 < 500"},
		{record.Verdict{Metric: "min_goodput_requests_per_s", Limit: 5, Unit: "1/s", Value: new(4.)}, "goodput req/s ≥ 5", "goodput req/s 4.00 < 5"},
		{record.Verdict{Metric: "min_requests_per_s", Limit: 5, Unit: "1/s", Value: new(4.)}, "req/s ≥ 5", "req/s 4.00 < 5"},
		{record.Verdict{Metric: "usd_per_million_output_tokens", Limit: 2, Unit: "usd", Value: new(2.31)}, "≤ 2 USD per million output tokens", "cost 2.31 > 2 USD per million output tokens"},
	} {
		if got := LimitText(&c.v); got != c.text {
			t.Errorf("%q, want %q", got, c.text)
		}
		if got := MissText(&c.v); got != c.miss {
			t.Errorf("%q, want %q", got, c.miss)
		}
	}
}

// The text of a caution has the limits that it touches, and whether it leaves a verdict open.
func TestCautionsNameTheLimits(t *testing.T) {
	f := record.Finding{Code: "client_bound", Effects: []record.Effect{{Metric: "ttft"}, {Metric: "tpot"}}}
	limit := func(metric, verdict, why string) record.Verdict {
		return record.Verdict{Metric: metric, Limit: 1500, Unit: "ms", Verdict: stats.Verdict(verdict), Why: why}
	}
	for _, c := range []struct {
		verdicts []record.Verdict
		want     string
	}{
		{nil, ""},
		{[]record.Verdict{limit("e2e_p95", "PASS", "")}, ""},
		{[]record.Verdict{limit("ttft_p95", "PASS", ""), limit("e2e_p95", "PASS", "")}, "ttft_p95 limit 1.5 s: verdict unaffected"},
		{[]record.Verdict{limit("ttft_p95", "PASS", ""), limit("tpot_mean", "FAIL", "")}, "ttft_p95 limit 1.5 s, tpot_mean limit 1.5 s: verdicts unaffected"},
		{[]record.Verdict{limit("ttft_p95", "UNDECIDED", "9 of 100 over the limit; need 5 more requests")}, "can affect ttft_p95 limit 1.5 s"},
		{[]record.Verdict{{Metric: "ttft_p95", Verdict: "UNDECIDED", OpenedBy: []string{"client_bound"}}, limit("tpot_p95", "PASS", "")}, "ttft_p95 UNDECIDED because of it"},
	} {
		if got := limitsText(&f, c.verdicts); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

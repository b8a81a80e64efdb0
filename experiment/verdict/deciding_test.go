package verdict

import (
	"testing"

	"bench/experiment/record"
)

// The limit that decides a verdict is the one that is exceeded most, or needs the most requests.
func TestDeciding(t *testing.T) {
	pass := record.Verdict{Metric: "e2e_p50", Verdict: "PASS", Value: new(1.0), Limit: 2, Unit: "ms"}
	thin := record.Verdict{Metric: "ttft_p95", Class: "chat", Verdict: "UNDECIDED", Need: 41}
	thinner := record.Verdict{Metric: "ttft_p99", Verdict: "UNDECIDED", Need: 1258}
	open := record.Verdict{Metric: "tpot_p50", Verdict: "UNDECIDED"}
	over := record.Verdict{Metric: "ttft_p95", Verdict: "FAIL", Value: new(579.0), Limit: 250, Unit: "ms"}
	under := record.Verdict{Metric: "min_output_tokens_per_s", Verdict: "FAIL", Value: new(10.0), Limit: 1000, Unit: "tokens/s"}
	never := record.Verdict{Metric: "ttft_p99", Verdict: "FAIL", Why: "6 of 9 failed", Limit: 1000, Unit: "ms"}
	look := over
	look.Why = "99 of 1024 over the limit, 5 % allowed; correlated: they count as 600; look 5, after 1,024 requests"
	for _, tt := range []struct {
		rows [][]record.Verdict
		want string // empty: none decides
	}{
		{[][]record.Verdict{{}}, ""},
		{[][]record.Verdict{{pass}, {pass}}, ""},
		{[][]record.Verdict{{pass, thin}}, "TTFT p95 (class chat) needs 41 more requests"},
		{[][]record.Verdict{{thin, thinner}, {open}}, "TTFT p99 needs 1,258 more requests"},
		{[][]record.Verdict{{pass, open}}, "TPOT p50 undecided"},
		{[][]record.Verdict{{thinner}, {over}}, "TTFT p95 579 ms > 250 ms"},
		{[][]record.Verdict{{over, under}}, "output tok/s 10.0 < 1000"},
		{[][]record.Verdict{{over, under}, {never}}, "TTFT p99: 6 of 9 failed"},
		{[][]record.Verdict{{look}}, "TTFT p95 579 ms > 250 ms after 1,024 requests"},
	} {
		var rows []*record.Row
		for _, slo := range tt.rows {
			rows = append(rows, &record.Row{SLO: slo})
		}
		v, ok := Deciding(rows...)
		got := ""
		if ok {
			got = ShortReason(v)
		}
		if got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.rows, got, tt.want)
		}
	}
}

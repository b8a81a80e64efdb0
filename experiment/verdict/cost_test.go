package verdict

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
)

// Four GPUs at 2.50 USD an hour and 1,000 tokens/s: 10 USD an hour over 3.6 million tokens.
func TestCostByTheHour(t *testing.T) {
	usd := 2.5
	r := &record.Row{Summary: record.Summary{Throughput: record.Throughput{OutputTokensPerS: 1000}}}
	target := experiment.Target{GPUs: 4, GPUHourUSD: &usd}
	got, missing := costOf(r, target)
	want := &record.Cost{HourUSD: 10, USDPerMillion: 10 / 3.6, TokensPerUSD: 360_000}
	if d := cmp.Diff(want, got, cmpopts.EquateApprox(1e-12, 0)); d != "" || missing != "" {
		t.Error(d, missing)
	}
	free := 0.0
	target = experiment.Target{GPUs: 4, GPUHourUSD: &free}
	if got, _ := costOf(r, target); got.USDPerMillion != 0 || got.TokensPerUSD != 0 {
		t.Errorf("%+v", got)
	}
}

func TestNoCostSaysWhy(t *testing.T) {
	usd := 1.0
	target := experiment.Target{GPUs: 1, GPUHourUSD: &usd}
	row := record.Row{Summary: record.Summary{Throughput: record.Throughput{OutputTokensPerS: 1}}, SLO: []record.Verdict{{Verdict: stats.Pass}}}
	if c, missing := costOf(&row, target); c == nil || missing != "" {
		t.Errorf("%+v, %q", c, missing)
	}
	for _, target := range []experiment.Target{{GPUs: 1}, {GPUHourUSD: &usd}} {
		if c, missing := costOf(&row, target); c != nil || missing != NoPrice {
			t.Errorf("%+v, %q", c, missing)
		}
	}
	row.SLO[0].Verdict = stats.Undecided // by its own requests: a twin or a longer repeat can decide it
	if c, missing := costOf(&row, target); c == nil || missing != "" {
		t.Errorf("%+v, %q", c, missing)
	}
	row.SLO[0].Verdict = stats.Fail
	if c, missing := costOf(&row, target); c != nil || missing != "the SLO is not met: FAIL" {
		t.Errorf("%+v, %q", c, missing)
	}
	if c, missing := costOf(&record.Row{}, target); c != nil || missing != "no output token in the window" {
		t.Errorf("%+v, %q", c, missing)
	}
}

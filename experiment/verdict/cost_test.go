package verdict

import (
	"math"
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
	target := experiment.Target{GPUs: 4, GPUHourUSD: &usd, Owned: experiment.Owned{Utilisation: 0.5, GPUWatts: 700}}
	got, missing := CostOf(r, target)
	want := &record.Cost{HourUSD: 10, USDPerMillion: 10 / 3.6, TokensPerUSD: 360_000, Utilisation: new(0.5), USDPerMillionUsed: new(20 / 3.6), Watts: new(2800.), Joules: new(2.8)}
	if d := cmp.Diff(want, got, cmpopts.EquateApprox(1e-12, 0)); d != "" || missing != "" {
		t.Error(d, missing)
	}
	free := 0.0
	target = experiment.Target{GPUs: 4, GPUHourUSD: &free}
	if got, _ := CostOf(r, target); got.USDPerMillion != 0 || got.TokensPerUSD != 0 || got.Utilisation != nil || got.Joules != nil {
		t.Errorf("%+v", got)
	}
}

// 30,000 USD over four years of 8,766 hours are 0.8556 an hour, 1 kW at 0.15 are 0.15.
func TestCostOfOwnedHardware(t *testing.T) {
	target := experiment.Target{GPUs: 2, Owned: experiment.Owned{GPUPriceUSD: 30000, GPULifeYears: 4, GPUWatts: 1000, KWhUSD: 0.15}}
	got, _ := CostOf(&record.Row{Summary: record.Summary{Throughput: record.Throughput{OutputTokensPerS: 500}}}, target)
	if math.Abs(got.HourUSD-2*(30000./4/8766+0.15)) > 1e-9 || math.Abs(got.USDPerMillion-got.HourUSD/1.8) > 1e-9 {
		t.Errorf("%+v", got)
	}
}

func TestNoCostSaysWhy(t *testing.T) {
	usd := 1.0
	target := experiment.Target{GPUs: 1, GPUHourUSD: &usd}
	row := record.Row{Summary: record.Summary{Throughput: record.Throughput{OutputTokensPerS: 1}}, SLO: []record.Verdict{{Verdict: string(stats.Pass)}}}
	if c, missing := CostOf(&row, target); c == nil || missing != "" {
		t.Errorf("%+v, %q", c, missing)
	}
	for _, target := range []experiment.Target{{GPUs: 1}, {GPUHourUSD: &usd}, {GPUs: 1, Owned: experiment.Owned{GPUWatts: 700, KWhUSD: 1}}} {
		if c, missing := CostOf(&row, target); c != nil || missing != NoPrice {
			t.Errorf("%+v, %q", c, missing)
		}
	}
	for _, v := range []stats.Verdict{stats.Fail, stats.Undecided} {
		row.SLO[0].Verdict = string(v)
		if c, missing := CostOf(&row, target); c != nil || missing != "the SLO is not met: "+string(v) {
			t.Errorf("%+v, %q", c, missing)
		}
	}
	if c, missing := CostOf(&record.Row{}, target); c != nil || missing != "no output token came inside the window" {
		t.Errorf("%+v, %q", c, missing)
	}
}

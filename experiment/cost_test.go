package experiment

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"bench/experiment/stats"
)

// Four GPUs at 2.50 USD an hour and 1,000 tokens/s: 10 USD an hour over 3.6 million tokens.
func TestCostByTheHour(t *testing.T) {
	usd := 2.5
	r := &Row{Summary: Summary{Throughput: Throughput{OutputTokensPerS: 1000}}}
	target := Target{GPUs: 4, GPUHourUSD: &usd, Owned: Owned{Utilisation: 0.5, GPUWatts: 700}}
	got, missing := CostOf(r, target)
	want := &Cost{HourUSD: 10, USDPerMillion: 10 / 3.6, TokensPerUSD: 360_000, Utilisation: new(0.5), USDPerMillionUsed: new(20 / 3.6), Watts: new(2800.), Joules: new(2.8)}
	if d := cmp.Diff(want, got, cmpopts.EquateApprox(1e-12, 0)); d != "" || missing != "" {
		t.Error(d, missing)
	}
	free := 0.0
	target = Target{GPUs: 4, GPUHourUSD: &free}
	if got, _ := CostOf(r, target); got.USDPerMillion != 0 || got.TokensPerUSD != 0 || got.Utilisation != nil || got.Joules != nil {
		t.Errorf("%+v", got)
	}
}

// 30,000 USD over four years of 8,766 hours are 0.8556 an hour, 1 kW at 0.15 are 0.15.
func TestCostOfOwnedHardware(t *testing.T) {
	target := Target{GPUs: 2, Owned: Owned{GPUPriceUSD: 30000, GPULifeYears: 4, GPUWatts: 1000, KWhUSD: 0.15}}
	got, _ := CostOf(&Row{Summary: Summary{Throughput: Throughput{OutputTokensPerS: 500}}}, target)
	if math.Abs(got.HourUSD-2*(30000./4/8766+0.15)) > 1e-9 || math.Abs(got.USDPerMillion-got.HourUSD/1.8) > 1e-9 {
		t.Errorf("%+v", got)
	}
}

func TestNoCostSaysWhy(t *testing.T) {
	usd := 1.0
	target := Target{GPUs: 1, GPUHourUSD: &usd}
	row := Row{Summary: Summary{Throughput: Throughput{OutputTokensPerS: 1}}, SLO: []Verdict{{Verdict: string(stats.Pass)}}}
	if c, missing := CostOf(&row, target); c == nil || missing != "" {
		t.Errorf("%+v, %q", c, missing)
	}
	for _, target := range []Target{{GPUs: 1}, {GPUHourUSD: &usd}, {GPUs: 1, Owned: Owned{GPUWatts: 700, KWhUSD: 1}}} {
		if c, missing := CostOf(&row, target); c != nil || missing != noPrice {
			t.Errorf("%+v, %q", c, missing)
		}
	}
	for _, v := range []stats.Verdict{stats.Fail, stats.Undecided} {
		row.SLO[0].Verdict = string(v)
		if c, missing := CostOf(&row, target); c != nil || missing != "the SLO is not met: "+string(v) {
			t.Errorf("%+v, %q", c, missing)
		}
	}
	if c, missing := CostOf(&Row{}, target); c != nil || missing != "no output token came inside the window" {
		t.Errorf("%+v, %q", c, missing)
	}
}

func TestOwnedCheck(t *testing.T) {
	for _, c := range []struct {
		o    Owned
		want mistakes
	}{
		{Owned{}, nil},
		{Owned{GPUPriceUSD: 1, GPULifeYears: 4, GPUWatts: 3, KWhUSD: 0.1, Utilisation: 1}, nil},
		{Owned{GPUPriceUSD: -1}, mistakes{"gpu_price_usd: gpu_price_usd is -1"}},
		{Owned{GPUPriceUSD: 1}, mistakes{"gpu_price_usd: gpu_price_usd and gpu_life_years need each other"}},
		{Owned{KWhUSD: 1}, mistakes{"kwh_usd: kwh_usd without gpu_watts says nothing"}},
		{Owned{Utilisation: 60}, mistakes{"utilisation: utilisation is 60, not within 0 to 1"}},
		{Owned{GPUWatts: math.NaN()}, mistakes{"gpu_watts: gpu_watts is NaN"}},
	} {
		var got mistakes
		c.o.Check(got.add)
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%+v:\n%s", c.o, d)
		}
	}
	usd := 1.0
	var got mistakes
	Target{GPUHourUSD: &usd, Owned: Owned{GPUPriceUSD: 1, GPULifeYears: 1}}.Check(got.add)
	if len(got) != 1 {
		t.Errorf("two prices: %q", got)
	}
}

// Of three loads the highest fails the SLO: two have a cost, the one of the knee is accepted. Of
// repeats the median counts.
func TestCostsOfASeries(t *testing.T) {
	var rows []Row
	for slots, verdict := range map[int]stats.Verdict{1: stats.Pass, 8: stats.Pass, 16: stats.Fail} {
		for repeat := range 3 {
			r := Row{SLO: []Verdict{{Verdict: string(verdict)}}, Spec: Spec{Name: "a", Repeat: repeat + 1, Point: []Axis{{"concurrency", "x"}}}}
			r.Spec.Concurrency = slots
			r.Cost = &Cost{USDPerMillion: float64(100/slots + repeat)}
			if verdict == stats.Fail {
				r.Cost = nil
			}
			rows = append(rows, r)
		}
	}
	s := SeriesOf(rows)[0]
	want := []PointCost{{0, Cost{USDPerMillion: 101}, false}, {1, Cost{USDPerMillion: 13}, true}}
	if d := cmp.Diff(want, s.Costs()); d != "" {
		t.Error(d)
	}
}

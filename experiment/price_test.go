package experiment

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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

func TestTargetCheck(t *testing.T) {
	for _, c := range []struct {
		usd  float64
		gpus int
		want mistakes
	}{
		{2.5, 8, nil},
		{0, 0, nil},
		{-1, -1, mistakes{"gpus: gpus is negative", "gpu_hour_usd: -1 is no price"}},
		{math.NaN(), 1, mistakes{"gpu_hour_usd: NaN is no price"}},
		{math.Inf(1), 1, mistakes{"gpu_hour_usd: +Inf is no price"}},
	} {
		var got mistakes
		Target{GPUs: c.gpus, GPUHourUSD: &c.usd}.Check(got.add)
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%v, %d:\n%s", c.usd, c.gpus, d)
		}
	}
	var none mistakes
	Target{}.Check(none.add)
	if len(none) > 0 {
		t.Errorf("the zero target: %q", none)
	}
}

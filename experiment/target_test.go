package experiment

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTargetCheck(t *testing.T) {
	for _, c := range []struct {
		usd  float64
		gpus int
		want mistakes
	}{
		{2.5, 8, nil},
		{0, 0, nil},
		{-1, -1, mistakes{"gpus: gpus is negative", "gpu_hour_usd: gpu_hour_usd is -1, not a price"}},
		{math.NaN(), 1, mistakes{"gpu_hour_usd: gpu_hour_usd is NaN, not a price"}},
		{math.Inf(1), 1, mistakes{"gpu_hour_usd: gpu_hour_usd is +Inf, not a price"}},
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

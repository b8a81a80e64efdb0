package compare

import (
	"testing"

	"bench/experiment/record"
)

// TestGPUSeconds: of all runs of a side; absent if one of them lacks its time or its number of GPUs.
func TestGPUSeconds(t *testing.T) {
	took := func(r Run, gpus int, seconds ...float64) Run {
		r.Manifest.Target.GPUs = gpus
		for _, s := range seconds {
			r.Manifest.Attempts = append(r.Manifest.Attempts, record.Attempt{Ended: "done", Time: &record.TimeSplit{TotalS: s + 1}, LastRowS: s})
		}
		return r
	}
	one, changed := pairOf(40)
	two, _ := pairOf(41)
	c := compared(t, side(took(one, 2, 100), took(two, 2, 10, 40)), side(took(changed, 2, 70)), Options{})
	if c.BaseGPUSeconds == nil || *c.BaseGPUSeconds != 200+2*(11+40) || *c.NewGPUSeconds != 140 {
		t.Errorf("base %v, new %v", c.BaseGPUSeconds, c.NewGPUSeconds)
	}
	c = compared(t, side(took(one, 2, 100), two), side(took(changed, 0, 70)), Options{})
	if c.BaseGPUSeconds != nil || c.NewGPUSeconds != nil {
		t.Errorf("base %v without a time, new %v without GPUs", c.BaseGPUSeconds, c.NewGPUSeconds)
	}
}

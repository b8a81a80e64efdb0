package compare

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"bench/experiment/stats"
)

// One odd night in base is left out, and listed; the others are compared.
func TestOddNightIsLeftOut(t *testing.T) {
	one, changed := pairOf(40)
	odd, two := pairOf(41)
	one.Name, odd.Name, two.Name = "one", "odd", "two"
	odd.Manifest.Target.Model, odd.Manifest.Target.Hardware = "qwen", "a100"
	c := compared(t, side(one, odd, two), side(changed), Options{Gate: gate("tpot_p50 +20%")})
	want := []LeftOut{{Run: "odd", Why: "model qwen (new: llama); hardware a100 (new: h100-sxm)"}}
	if diff := cmp.Diff(want, c.LeftOut); diff != "" || c.Refused || len(c.Differences) > 0 || c.Points[0].BaseRepeats != 6 || c.Gate.Verdict != stats.Pass {
		t.Errorf("%s %+v", diff, c.Gate)
	}
	// Allowed: it counts.
	if c := compared(t, side(one, odd, two), side(changed), Options{Allow: []string{"model", "hardware"}}); len(c.LeftOut) > 0 || c.Points[0].BaseRepeats != 9 {
		t.Errorf("%+v", c.LeftOut)
	}
	// No night is like new: refused, as before.
	if c := compared(t, side(odd), side(changed), Options{}); len(c.LeftOut) > 0 || !c.Refused {
		t.Errorf("%+v", c.LeftOut)
	}
	// New differs within itself: nothing can be left out.
	if c := compared(t, side(one, two), side(changed, odd), Options{}); len(c.LeftOut) > 0 || !c.Refused {
		t.Errorf("%+v", c.LeftOut)
	}
}

// The same for a point whose workload was another in one night.
func TestOddWorkloadIsLeftOut(t *testing.T) {
	one, changed := pairOf(42)
	odd, _ := pairOf(43)
	one.Name, odd.Name = "one", "odd"
	for i := range odd.Rows {
		odd.Rows[i].Spec.Concurrency = 8
	}
	for name, base := range map[string]Side{"odd last": side(one, odd), "odd first": side(odd, one)} {
		c := compared(t, base, side(changed), Options{})
		p := c.Points[0]
		if p.Refused || p.BaseRepeats != 3 || len(p.LeftOut) != 3 || p.LeftOut[0].Why != "concurrency 8 (new: 4)" || p.LeftOut[0].Run != "odd" || len(p.Differences) > 0 {
			t.Errorf("%s: %+v %+v", name, p.LeftOut, p.Differences)
		}
	}
	if p := compared(t, side(odd), side(changed), Options{}).Points[0]; !p.Refused || len(p.LeftOut) > 0 {
		t.Errorf("none is like new: %+v", p)
	}
}

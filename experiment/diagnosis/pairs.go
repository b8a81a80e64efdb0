package diagnosis

import (
	"math"
	"slices"
	"strings"

	"bench/experiment"
	"bench/experiment/series"
)

func (v *pointMetrics) lowerLoad(all []pointMetrics) *pointMetrics {
	i := slices.IndexFunc(all, func(o pointMetrics) bool { return o.series == v.series && o.point == v.point-1 })
	if i < 0 || all[i].unreliable() {
		return nil
	}
	return &all[i]
}

func (v *pointMetrics) unreliable() bool {
	return v.failing != nil || v.stalling != nil || v.clientLimits() != nil
}

// otherTrafficPair is the point of the same row whose memory traffic per step, by the TPOT floor, differs most.
func (v *pointMetrics) otherTrafficPair(all []pointMetrics) *pointMetrics {
	const leastRatio = 1.3 // of the floors
	var best *pointMetrics
	distance := math.Log(leastRatio)
	for i := range all {
		o := &all[i]
		x, y := o.p.Rows[0].Roofline, v.p.Rows[0].Roofline
		if o.spec.Name != v.spec.Name || o.spec.Variant != v.spec.Variant || x == nil || y == nil ||
			!series.SameSetup(x, y) || o.unreliable() || !known(o.step) || !known(v.step) {
			continue
		}
		if d := math.Abs(math.Log(o.tpotFloor / v.tpotFloor)); d >= distance {
			best, distance = o, d
		}
	}
	return best
}

func (v *pointMetrics) shorterInputPair(all []pointMetrics) *pointMetrics {
	const alike = 1.2 // ratio of the outputs
	idle := func(x *pointMetrics) bool { return x.waiting < waitingSome || x.spec.Concurrency == 1 }
	var best *pointMetrics
	for i := range all {
		o := &all[i]
		same := o.s.Axis == v.s.Axis && o.p.LoadValue == v.p.LoadValue && o.spec.Variant == v.spec.Variant &&
			o.output <= alike*v.output && v.output <= alike*o.output
		more := v.input >= longerInput*o.input && v.computed >= o.computed+minComputed &&
			v.ttftLow >= longerTTFT*o.ttftTop
		if same && more && !o.unreliable() && idle(v) && idle(o) && (best == nil || o.input < best.input) {
			best = o
		}
	}
	return best
}

func (v *pointMetrics) coldPair(all []pointMetrics) *pointMetrics {
	others := func(x *pointMetrics) []experiment.Axis {
		return slices.DeleteFunc(slices.Clone(x.s.OtherAxes),
			func(a experiment.Axis) bool { return strings.HasPrefix(a.Key, "prefix") })
	}
	has := func(x *pointMetrics, state string) bool { return x.spec.Prefix != nil && x.spec.Prefix.State == state }
	if !has(v, "warm") {
		return nil
	}
	for i := range all {
		if o := &all[i]; has(o, "cold") && o.spec.Name == v.spec.Name && o.p.LoadValue == v.p.LoadValue &&
			slices.Equal(others(o), others(v)) {
			return o
		}
	}
	return nil
}

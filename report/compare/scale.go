package compare

import (
	"math"

	"bench/experiment/metric"
	"bench/experiment/stats"
)

// Scale is how a figure is compared: a share by its difference, all others by their ratio.
type Scale struct{ metric.Metric }

func (s Scale) absolute() bool { return s.IsShare() }

// relative applies a function to what is compared by its ratio.
func (s Scale) relative(of func(float64) float64, x float64) float64 {
	if s.absolute() {
		return x
	}
	return of(x)
}

func (s Scale) scale(x float64) float64 { return s.relative(math.Log, x) }

func (s Scale) unscale(x float64) float64 { return s.relative(math.Exp, x) }

// Change turns a difference on the scale of comparison into a relative change; of a share it leaves it.
func (s Scale) Change(difference float64) float64 { return s.relative(math.Expm1, difference) }

// Distance is a change on the scale of comparison.
func (s Scale) Distance(change float64) float64 { return s.relative(math.Log1p, change) }

// Changes are those of an interval: no share changes by more than 1.
func (s Scale) Changes(iv stats.Interval) stats.Interval {
	iv.Lo, iv.Hi = s.Change(iv.Lo), s.Change(iv.Hi)
	if s.absolute() {
		iv.Lo, iv.Hi = max(iv.Lo, -1), min(iv.Hi, 1)
	}
	return iv
}

// Judge is the verdict on a change with an adjusted p, of which farthest is the largest size that the data leave either
// way.
func (s Scale) Judge(change, adjusted, farthest, margin float64) Verdict {
	switch {
	case adjusted <= Risk && change != 0 && s.Neutral():
		return Changed
	case adjusted <= Risk && WorseBy(s.Name, change) > 0:
		return Worse
	case adjusted <= Risk && change != 0:
		return Better
	case farthest <= margin:
		return NoChange
	}
	return Inconclusive
}

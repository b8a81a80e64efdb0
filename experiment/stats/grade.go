package stats

import (
	"math"
	"slices"
)

type Grade string

// NoBound: the sample is smaller than MinSamples at 95 %, so that even independent values would not bound the
// percentile from above. Sound: worth at least soundSamples independent values, and bounded. Thin: between
// them.
const (
	NoBound Grade = "no_bound"
	Thin    Grade = "thin"
	Sound   Grade = "sound"
)

func GradeOf(n int, effective, p float64) Grade {
	switch {
	case !boundedBy(n, p, shownConfidence):
		return NoBound
	case effective < float64(soundSamples(p)):
		return Thin
	default:
		return Sound
	}
}

// NeededFor is the least number of values that bound the percentile of that name from above; 0: it has another name.
func NeededFor(name string) int {
	i := slices.IndexFunc(shown[:], func(q percentile) bool { return q.name == name })
	if i < 0 {
		return 0
	}
	return MinSamples(shown[i].p, shownConfidence)
}

func (g Grade) Worst(other Grade) Grade {
	order := []Grade{NoBound, Thin, Sound, ""}
	if slices.Index(order, other) < slices.Index(order, g) {
		return other
	}
	return g
}

// soundSamples is the number of values from which the p-quantile is Sound: ten are expected beyond it (20 for
// p50, 100 for p90, 200 for p95, 1,000 for p99). From p999 on it is a hundred (100,000 for p999), because
// values out there, a pause or a retry, come in bursts, and ten values can be one event. It is a rule of
// thumb, not a theorem. It is math.MaxInt for p outside (0, 1).
func soundSamples(p float64) int {
	if !(p > 0 && p < 1) {
		return math.MaxInt
	}
	// One value in `every` is beyond the quantile; rounded, since 1-0.9 is slightly less than a tenth.
	every := math.Round(1e6/min(p, 1-p)) / 1e6
	beyond := 10.0
	if every >= 1000 {
		beyond = 100
	}
	return int(math.Ceil(beyond * every))
}

package series

import (
	"fmt"
	"math"
	"slices"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/workload"
)

// PrefixGain is the latency that a warm or shared prefix saves, against the same point with a cold prefix.
type PrefixGain struct {
	State  string // of the prefix: warm or shared
	Metric string // ttft, tpot, e2e

	SavedMs float64        // p50 with the cold prefix − p50 with this one; medians over the repeats
	CI95    stats.Interval // of SavedMs; an end is infinite if either median has no interval
}

// Certain reports whether the sign of the gain is certain: the interval excludes 0.
func (g PrefixGain) Certain() bool { return g.CI95.Lo > 0 || g.CI95.Hi < 0 }

func PrefixGains(rows []record.Row) []PrefixGain {
	apart := func(r *record.Row) (point []experiment.Axis, state string) { // empty: it has no such axis
		at := slices.IndexFunc(r.Spec.Point, func(a experiment.Axis) bool { return a.Key == "prefix.state" })
		if at < 0 {
			return nil, ""
		}
		return slices.Delete(slices.Clone(r.Spec.Point), at, at+1), r.Spec.Point[at].Value
	}
	order, groups := grouped(rows, func(r *record.Row) string {
		point, state := apart(r)
		return fmt.Sprintf("%q %q %q %v", r.Spec.Name, point, r.PromptForm, state == "")
	})
	var out []PrefixGain
	for _, key := range order {
		p50 := func(state, metric string) (record.Percentile, bool) {
			rows := slices.DeleteFunc(slices.Clone(groups[key]), func(r *record.Row) bool {
				_, own := apart(r)
				return own != state
			})
			return percentiles(rows, "", metric).Get("p50")
		}
		for _, state := range []string{workload.Shared, workload.Warm} {
			for _, metric := range compared {
				a, hasA := p50(workload.Cold, metric)
				b, hasB := p50(state, metric)
				if hasA && hasB {
					out = append(out, PrefixGain{State: state, Metric: metric,
						SavedMs: a.Median - b.Median, CI95: stats.Difference(b.Median, a.Median, b.CI95, a.CI95)})
				}
			}
		}
	}
	return out
}

// Interference is what a class's latency in a mix is to its latency alone.
type Interference struct {
	Name   string            // of the row
	Point  []experiment.Axis // of the mix
	Class  string
	Metric string // ttft, tpot, e2e

	Alone    float64 // p95, ms, median over the repeats
	Together float64
	Ratio    float64        // Together ÷ Alone
	CI95     stats.Interval // of Ratio; an end is infinite, or 0, if either p95 has no interval
}

// ofLogs is an interval of a positive figure's logarithm.
func ofLogs(iv stats.Interval) stats.Interval {
	return stats.Interval{Lo: math.Log(max(0, iv.Lo)), Hi: math.Log(iv.Hi)}
}

func Interferences(rows []record.Row) []Interference {
	type key struct{ point, class string } // class "": the mix
	order, groups := grouped(rows, func(r *record.Row) key {
		point := slices.DeleteFunc(slices.Clone(r.Spec.Point),
			func(a experiment.Axis) bool { return r.Spec.Alone != "" && a.Key == "alone" })
		return key{fmt.Sprintf("%q %q", r.Spec.Name, point), r.Spec.Alone}
	})
	var out []Interference
	for _, k := range order {
		if k.class == "" {
			continue
		}
		mixed := groups[key{point: k.point}]
		for _, metric := range compared {
			a, hasA := percentiles(groups[k], "", metric).Get("p95")
			b, hasB := percentiles(mixed, k.class, metric).Get("p95")
			if hasA && hasB && a.Median > 0 && b.Median > 0 {
				within := stats.Difference(math.Log(a.Median), math.Log(b.Median), ofLogs(a.CI95), ofLogs(b.CI95))
				out = append(out, Interference{Name: mixed[0].Spec.Name, Point: mixed[0].Spec.Point, Class: k.class,
					Metric: metric, Alone: a.Median, Together: b.Median, Ratio: b.Median / a.Median,
					CI95: stats.Interval{Lo: math.Exp(within.Lo), Hi: math.Exp(within.Hi)}})
			}
		}
	}
	return out
}

package series

import (
	"fmt"
	"slices"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/workload"
)

// prefixState is the axis that pairs rows by what the server has met of their prefixes.
const prefixState = "prefix.state"

// PrefixGain is what a prefix that the server has met saves, beside the same point with a cold one.
type PrefixGain struct {
	Name   string            `json:"name"`           // the row's
	Point  []experiment.Axis `json:"axes,omitempty"` // of both, without the prefix's state
	State  string            `json:"state"`          // warm or shared, beside cold
	Metric string            `json:"metric"`         // ttft, tpot, e2e

	Cold    float64        `json:"cold_p50_ms"` // medians over the repeats
	With    float64        `json:"with_p50_ms"`
	SavedMs float64        `json:"saved_ms"` // cold − with
	CI95    stats.Interval `json:"ci95_ms"`  // of the difference; an end is null where either median has none
}

// Certain says that the interval leaves no finding of the sign.
func (g PrefixGain) Certain() bool { return g.CI95.Lo > 0 || g.CI95.Hi < 0 }

// PrefixGains compares each point that ran with a cold prefix and with one that the server had met.
func PrefixGains(rows []record.Row) []PrefixGain {
	type pair struct {
		point  []experiment.Axis
		states map[string][]*record.Row
	}
	pairs := map[string]*pair{}
	var order []string
	for i := range rows {
		r := &rows[i]
		at := slices.IndexFunc(r.Spec.Point, func(a experiment.Axis) bool { return a.Key == prefixState })
		if at < 0 {
			continue
		}
		point := slices.Delete(slices.Clone(r.Spec.Point), at, at+1)
		key := fmt.Sprintf("%q %q %q", r.Spec.Name, point, r.PromptForm)
		if pairs[key] == nil {
			pairs[key] = &pair{point, map[string][]*record.Row{}}
			order = append(order, key)
		}
		state := r.Spec.Point[at].Value
		pairs[key].states[state] = append(pairs[key].states[state], r)
	}
	var out []PrefixGain
	for _, key := range order {
		p := pairs[key]
		for _, state := range []string{workload.Shared, workload.Warm} {
			out = append(out, gains(p.point, state, p.states[workload.Cold], p.states[state])...)
		}
	}
	return out
}

func gains(point []experiment.Axis, state string, cold, with []*record.Row) []PrefixGain {
	if len(cold) == 0 || len(with) == 0 {
		return nil
	}
	var out []PrefixGain
	for _, m := range Headlines {
		a, hasA := medianOf(cold, m.of)
		b, hasB := medianOf(with, m.of)
		if hasA && hasB {
			out = append(out, PrefixGain{
				Name: cold[0].Spec.Name, Point: point, State: state, Metric: m.name, Cold: a.Median, With: b.Median,
				SavedMs: a.Median - b.Median, CI95: stats.Difference(b.Median, a.Median, b.CI95, a.CI95),
			})
		}
	}
	return out
}

// medianOf is the p50 of a latency over repeats.
func medianOf(rows []*record.Row, of func(*record.Summary) *stats.Summary) (record.Percentile, bool) {
	var all []*stats.Summary
	for _, r := range rows {
		all = append(all, of(&r.Summary))
	}
	return record.PercentilesOf(all...).Get("p50")
}

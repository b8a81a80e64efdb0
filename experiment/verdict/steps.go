package verdict

import (
	"math"
	"slices"
	"sort"

	"bench/experiment"
	"bench/experiment/check"
	"bench/experiment/record"
	"bench/experiment/stats"
)

// Step is the verdict on a latency as a function of its limit: FAIL below FailBelow, PASS from PassFrom on, UNDECIDED
// between them.
type Step struct {
	Key       string  // ttft_p95
	FailBelow float64 // ms; 0: no limit fails, +Inf: every one does
	PassFrom  float64 // ms; +Inf: no limit passes
}

// Steps are those of each limit on a latency of a stored row. The judge itself places them, so that a limit has the
// verdict that evaluating the row again under it brings.
func Steps(stored *record.Row, records []*record.Record) []Step {
	row := *stored
	e := Measured{Row: &row, Records: records, stored: stored}
	if slices.ContainsFunc(row.Findings, func(f record.Finding) bool { return len(f.Effects) > 0 }) {
		e.Classes = nil                  // summarize fills the map
		e.summarize(experiment.Target{}) // it only prices: no latency depends on it
		e.effects = check.Run(e.Row, e.Records, 0)
	}
	e.seen = map[sight]*observed{}
	window := e.judgedWindow()
	var out []Step
	for _, q := range questions(&e.Spec) {
		if q.class == "" && q.limit.Unit == "ms" && q.limit.Decidable() {
			out = append(out, e.step(q, window))
		}
	}
	return out
}

func (e *Measured) step(q question, window []*record.Record) Step {
	known := map[float64]record.Verdict{}
	at := func(limit float64) record.Verdict {
		if _, ok := known[limit]; !ok {
			asked := q
			asked.limit.Value = limit
			known[limit] = e.judgeLimit(asked, window, nil, experiment.Target{})
		}
		return known[limit]
	}
	places := e.places(at(q.limit.Value), q, window)
	least := func(reached func(stats.Verdict) bool) float64 {
		return leastLimit(places, func(limit float64) bool { return reached(at(limit).Verdict) })
	}
	return Step{q.limit.Key, least(func(v stats.Verdict) bool { return v != stats.Fail }),
		least(func(v stats.Verdict) bool { return v == stats.Pass })}
}

// places are the limits at which the verdict is likely to change: ends of intervals, and where an overload begins. The
// search between them is right without, and slower.
func (e *Measured) places(v record.Verdict, q question, window []*record.Record) []float64 {
	var out []float64
	for _, iv := range []*stats.Interval{v.Interval, v.Disturbed} {
		if iv != nil {
			out = append(out, iv.Lo, math.Nextafter(iv.Lo, math.Inf(1)), iv.Hi)
		}
	}
	low, _ := endsOf(e.effects, q.limit.Metric, q.class)
	own := filter(window, q.about)
	for _, at := range []*end{asMeasured, &low} {
		values := e.observe(q.limit, own, at).values
		last := slices.Sorted(slices.Values(values[len(values)-len(values)/4:]))
		if len(last) > 0 { // nearly all of them are over a limit that shows an overload
			x := last[len(last)-int(math.Ceil(stats.NearlyAll*float64(len(last))))]
			out = append(out, x, x/3, x/4)
		}
	}
	out = slices.DeleteFunc(out, func(x float64) bool { return !(x > 0) || math.IsInf(x, 1) })
	slices.Sort(out)
	return slices.Compact(out)
}

// leastLimit is the smallest limit that is reached, as all above it are; +Inf: none, 0: all.
func leastLimit(places []float64, reached func(limit float64) bool) float64 {
	low, high := 0.0, math.MaxFloat64
	switch {
	case !reached(high):
		return math.Inf(1)
	case reached(math.SmallestNonzeroFloat64): // of one request every limit is UNDECIDED
		return 0
	}
	i := sort.Search(len(places), func(i int) bool { return reached(places[i]) })
	if i > 0 {
		low = places[i-1]
	}
	if i < len(places) {
		high = places[i]
	}
	if before := math.Nextafter(high, 0); !reached(before) {
		return high
	}
	// Neighbours among positive floats are neighbours among the integers of their bits.
	from, to := math.Float64bits(low), math.Float64bits(high)
	for to-from > 1 {
		if middle := from + (to-from)/2; reached(math.Float64frombits(middle)) {
			to = middle
		} else {
			from = middle
		}
	}
	return math.Float64frombits(to)
}

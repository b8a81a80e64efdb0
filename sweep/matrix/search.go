package matrix

import (
	"math"
	"time"

	"bench/experiment"
	"bench/experiment/series"
	"bench/experiment/workload"
	"bench/sweep/strict"
)

func (x *expander) extractSearch(merged map[string]any) {
	for _, axis := range []string{"rate", "concurrency"} {
		table, ok := merged[axis].(map[string]any)
		if !ok {
			continue
		}
		if x.search != nil {
			x.bad(x.place(axis), "the row searches for both a rate and a concurrency",
				"write a number for one of them; a list runs one search per value")
			delete(merged, axis)
			continue
		}
		k := &experiment.Search{Axis: axis, Tolerance: experiment.DefaultTolerance}
		k.Min, k.Max = k.Bounds()
		k.Open = table["min"] == nil || table["max"] == nil
		x.search = k
		bad := func(path, text, hint string) { x.bad(x.place(strict.Join(axis, path)), text, hint) }
		strict.Decode(table, k, func(path, text, hint string) {
			x.search = nil // else the checks would report the same mistake again
			bad(path, text, hint)
		})
		checkZero(table, "budget", bad)
		low := k.Min
		if k.Open {
			low = max(k.Min, min(1, k.Max))
		}
		merged[axis] = low
		if axis == "concurrency" {
			merged[axis] = int64(min(max(low, 1), math.MaxUint16))
		} else if !(low >= 1e-4 && low <= 1e6) { // its check reports a wrong value
			merged[axis] = 1.0
		}
	}
}

// toProbe turns a point into the first probe of the row's search, and checks it at the highest load too. longest is
// the row's duration; 0 = none is written.
func (x *expander) toProbe(p *experiment.Spec, longest workload.Span, found func(path, text, hint string)) {
	if x.search == nil {
		return
	}
	k := *x.search
	k.Longest, k.First = longest, p.Warmup.Time
	p.Repeats = 0
	p.Search = &k
	p.Point = append(p.Point, experiment.Axis{Key: k.Axis})
	first := experiment.Probe{Load: k.LoadOf(p)}
	if k.Min > 0 && k.Max > k.Min { // its check reports another range
		if at, ok := series.NextProbe(&k, nil, nil, 0); ok {
			first = at
		}
	}
	*p = p.ProbeAt(first, 1)
	p.Check(found)
	if err := series.Twinned(p); k.Gentle && err != nil {
		found(k.Axis+".gentle", "a gentle search is answered by a twin: "+err.Error(), "remove gentle")
	}
	if k.Max > k.Min && k.Max <= 1e6 && !k.Open {
		high := p.ProbeAt(experiment.Probe{Load: k.Max}, 1)
		high.Check(found)
	}
}

// defaultWindow stands for the windows that the search chooses until its first probe is known.
const defaultWindow = workload.Span(30 * time.Second)

package compare

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
)

// SearchAnswer is the answer of a search on both sides: the highest load that meets its SLO, or that the
// server sustains.
type SearchAnswer struct {
	Point string       `json:"point"` // the row with its axes, except that of the load
	Goal  string       `json:"goal"`  // slo or saturation
	Axis  string       `json:"axis"`  // rate, in 1/s, or concurrency, in requests in flight
	Base  LoadInterval `json:"base"`
	New   LoadInterval `json:"new"`
	// of the likeliest load, and what the two intervals leave of it; absent: an end is open, or they are not comparable
	Change *float64        `json:"change,omitempty"`
	CI95   *stats.Interval `json:"ci95,omitempty"`
	// better or worse: the intervals are disjoint; no change: they leave at most the margin; else inconclusive
	Verdict Verdict `json:"verdict"`
	Why     string  `json:"why,omitempty"` // of inconclusive
}

// LoadInterval contains the answer of every run of a side.
type LoadInterval struct {
	stats.Bracket
	Runs int `json:"runs"` // that searched
}

// compared reports whether both sides have an answer to the same question.
func (a *SearchAnswer) compared() bool { return a.Verdict != Inconclusive || a.Change != nil }

// ComparedSearch is the place of the first search that both sides answer; -1: none.
func (c *Comparison) ComparedSearch() int {
	return slices.IndexFunc(c.Searches, func(a SearchAnswer) bool { return a.compared() })
}

// searches are in the order of new; refused: the sides are not comparable.
func searches(base, changed Side, refused bool) (out []SearchAnswer) {
	old, _ := searchesOf(base)
	now, order := searchesOf(changed)
	for _, name := range order {
		was := old[name]
		if was == nil {
			continue
		}
		a := answer(name, was, now[name])
		if refused {
			a.Verdict, a.Why, a.Change, a.CI95 = Inconclusive, "not comparable", nil, nil
		}
		out = append(out, a)
	}
	return out
}

type search struct {
	found *record.Found
	probe *record.Row
}

func searchesOf(s Side) (found map[string][]search, order []string) {
	found = map[string][]search{}
	for i := range s.Runs {
		r := &s.Runs[i]
		for j := range r.Manifest.Searches {
			f := &r.Manifest.Searches[j]
			probe := slices.IndexFunc(r.Rows, func(row record.Row) bool { return f.Probed(&row.Spec) })
			if probe < 0 {
				continue
			}
			name := (&experiment.Spec{Name: f.Name, Point: f.Others}).Label()
			if found[name] == nil {
				order = append(order, name)
			}
			found[name] = append(found[name], search{f, &r.Rows[probe]})
		}
	}
	return found, order
}

func answer(name string, base, changed []search) SearchAnswer {
	first := changed[0].found.Search
	a := SearchAnswer{Point: name, Goal: first.Goal, Axis: first.Axis, Base: hull(base), New: hull(changed),
		Verdict: Inconclusive}
	low := func(x LoadInterval) float64 { return *cmp.Or(x.Low, new(float64)) }
	if a.Why = unlike(slices.Concat(changed, base)); a.Why == "" {
		a.compare()
	}
	switch {
	case a.Why != "":
	case a.Base.High != nil && low(a.New) > *a.Base.High:
		a.Verdict = Better
	case a.New.High != nil && low(a.Base) > *a.New.High:
		a.Verdict = Worse
	case a.CI95 != nil && max(a.CI95.Hi, -a.CI95.Lo) <= noChange:
		a.Verdict = NoChange
	default:
		a.Why = "the intervals overlap"
	}
	return a
}

func (a *SearchAnswer) compare() {
	was, is := a.Base.Bracket, a.New.Bracket
	for _, end := range []*float64{was.Low, was.Best, was.High, is.Low, is.Best, is.High} {
		if end == nil || *end <= 0 {
			return
		}
	}
	a.Change = new(*is.Best / *was.Best - 1)
	a.CI95 = &stats.Interval{Lo: *is.Low / *was.High - 1, Hi: *is.High / *was.Low - 1}
}

// hull is the interval from the lowest to the highest of several answers; its best is their median.
func hull(of []search) LoadInterval {
	h := LoadInterval{Bracket: of[0].found.Bracket, Runs: len(of)}
	var best []float64
	for _, s := range of {
		b := s.found.Bracket
		h.Low, h.High = extreme(h.Low, b.Low, math.Min), extreme(h.High, b.High, math.Max)
		if b.Best != nil {
			best = append(best, *b.Best)
		}
	}
	h.Best = median(best)
	return h
}

// extreme of two ends; nil, an open end, wins.
func extreme(a, b *float64, of func(a, b float64) float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	return new(of(*a, *b))
}

func unlike(of []search) string {
	first := of[0]
	for _, s := range of[1:] {
		switch was, is := &first.probe.Spec, &s.probe.Spec; {
		case first.found.Search.Goal != s.found.Search.Goal || first.found.Search.Axis != s.found.Search.Axis:
			return "the goals of the searches differ"
		case !slices.Equal(was.SLO.Limits, is.SLO.Limits):
			return "the SLOs differ"
		case !maps.Equal(exceptLoad(was), exceptLoad(is)):
			return "the workloads differ"
		}
	}
	return ""
}

func exceptLoad(s *experiment.Spec) map[string]string {
	flat := flatten(s)
	maps.DeleteFunc(flat, func(key, _ string) bool { return sizesOnly(key) || key == s.Search.Axis })
	return flat
}

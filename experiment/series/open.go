package series

import (
	"cmp"
	"math"
	"slices"
	"time"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/verdict"
	"bench/experiment/workload"
)

// OpenPoint is a point whose SLO is undecided, with what would decide it.
type OpenPoint struct {
	Spec *experiment.Spec // of the repeat that needs the most requests
	Need int              // further requests for a verdict; 0 = more do not help
	Time time.Duration    // of a repeat with these and as many as the longest one had, by the measured rows
	Why  string           // the limit that is open

	// Longer is the next repeat to run; nil: no longer repeat is the same load, or more requests do not help.
	Longer     *experiment.Spec
	LongerTime time.Duration

	worth float64 // of its verdict for the operating point, for its time
}

const (
	// spare: the next share of a longer repeat is another one than the present.
	spare = 1.25
	// growth bounds a repeat: in simulations of a p95, this and spare take the fewest requests (docs/slo.md).
	growth = 4
)

func OpenPoints(rows []record.Row) []OpenPoint {
	var out []OpenPoint
	all := FromRows(rows)
	for i := range all {
		s := &all[i]
		for at := range s.Points {
			p := &s.Points[at]
			if p.SLO == stats.Undecided && p.Rows[0].Spec.Search == nil {
				o := openPoint(p)
				if o.Time > 0 {
					o.worth = s.weightOf(at) / o.Time.Seconds()
				}
				out = append(out, o)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b OpenPoint) int { return cmp.Compare(b.worth, a.worth) })
	return out
}

// weightOf is what a point's verdict tells of the operating point: 4 next to its bounds, 2 between them, 1 beyond.
func (s *Series) weightOf(at int) float64 {
	met, missed := -1, len(s.Points)
	for i := range s.Points {
		switch p := &s.Points[i]; {
		case p.SLO == stats.Pass && p.Valid:
			met = i
		case p.MissesSLO() && p.FailsByLoad():
			missed = min(missed, i)
		}
	}
	switch {
	case at < met || at > missed:
		return 1
	case at-1 == met || at+1 == missed:
		return 4
	}
	return 2
}

func openPoint(p *Point) OpenPoint {
	v, _ := verdict.Deciding(p.Rows...)
	r := p.Rows[0]
	for _, x := range p.Rows { // that needs the most
		if own, ok := verdict.Deciding(x); ok && own.Need == p.Need && own.Need > 0 {
			r = x
		}
	}
	o := OpenPoint{Spec: &r.Spec, Need: p.Need, Why: verdict.ShortReason(v)}
	n, window := float64(r.Summary.Requests.Stayed()), r.Window.Seconds()
	if o.Need == 0 || n == 0 || window <= 0 || !p.Valid {
		o.Need = 0
		return o
	}
	each, rest := window/n, r.Took().Seconds()-window
	timeOf := func(requests float64) time.Duration {
		return time.Duration((rest + requests*each) * float64(time.Second))
	}
	o.Time = timeOf(n + float64(o.Need))
	requests := math.Ceil(min(spare*(n+float64(o.Need)), growth*n))
	if longer, ok := longerThan(p, r, int(requests), requests*each); ok {
		o.Longer, o.LongerTime = &longer, timeOf(requests)
	}
	return o
}

func longerThan(p *Point, r *record.Row, requests int, seconds float64) (experiment.Spec, bool) {
	s := r.Spec
	if s.Rate.IsInf() || !s.Arrival.IsSteady() || s.Trace != nil || s.Tile != nil || s.UntilInterrupted() {
		return s, false
	}
	for _, x := range p.Rows {
		s.Repeat, s.Added = max(s.Repeat, x.Spec.Repeat), max(s.Added, x.Spec.Added)
	}
	s.Repeat, s.Added = s.Repeat+1, s.Added+1
	s.Repeats = s.Repeat
	if s.Requests > 0 {
		s.Requests = max(s.Requests, requests)
		seconds *= spare // the number ends the window
	}
	if s.Duration > 0 {
		s.Duration = max(s.Duration, workload.Span(math.Ceil(seconds)*float64(time.Second)))
	}
	ok := true
	s.Check(func(_, _, _ string) { ok = false }) // max_duration, and the largest number of requests
	return s, ok
}

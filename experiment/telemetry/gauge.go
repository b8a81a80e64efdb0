package telemetry

import (
	"math"
	"slices"
)

// point is a figure at a time, µs from the row's epoch.
type point struct {
	us  int64
	v   float64
	gap bool // the figure is not known between the point before and this one
}

// Gauge summarizes a gauge over a window, interpolated linearly between readings, but not over a gap.
type Gauge struct {
	Mean float64 `json:"mean"`          // over the covered time
	Max  float64 `json:"max"`           // of the readings, and of the interpolated values at the window's ends
	Last float64 `json:"last"`          // at the window's end
	Min  float64 `json:"min,omitempty"` // as Max; absent = 0
	// Covered is the share of the window between readings without a gap; absent = all of it. At 0 the mean is of
	// the readings.
	Covered *float64 `json:"covered_share,omitempty"`
}

// gauge covers the window between readings; nil: no reading in it. Those before and after are not enough.
func gauge(points []point, start, end int64) *Gauge {
	if !slices.ContainsFunc(points, func(p point) bool { return p.us >= start && p.us <= end }) {
		return nil
	}
	g := Gauge{Max: math.Inf(-1), Min: math.Inf(1)}
	var area, sum, n float64
	var covered int64
	for len(points) > 0 {
		next := 1 + slices.IndexFunc(points[1:], func(p point) bool { return p.gap })
		if next == 0 { // no gap
			next = len(points)
		}
		in := window(points[:next], start, end)
		points = points[next:]
		for i, p := range in {
			g.Max, g.Min, g.Last = max(g.Max, p.v), min(g.Min, p.v), p.v
			sum, n = sum+p.v, n+1
			if i > 0 {
				area += (in[i-1].v + p.v) / 2 * float64(p.us-in[i-1].us)
				covered += p.us - in[i-1].us
			}
		}
	}
	if g.Mean = sum / n; covered > 0 {
		g.Mean = area / float64(covered)
	}
	if share := float64(covered) / float64(max(1, end-start)); share < 0.9995 && end > start {
		g.Covered = new(Round(share, 3))
	}
	g.Mean, g.Max, g.Last, g.Min = Round(g.Mean, 6), Round(g.Max, 6), Round(g.Last, 6), Round(g.Min, 6)
	return &g
}

func window(points []point, start, end int64) []point {
	var in []point
	if v, ok := valueAt(points, start); ok {
		in = append(in, point{us: start, v: v})
	}
	for _, p := range points {
		if p.us > start && p.us < end {
			in = append(in, p)
		}
	}
	if v, ok := valueAt(points, end); ok && end > start {
		in = append(in, point{us: end, v: v})
	}
	return in
}

// valueAt interpolates linearly at us; not ok: no readings on both sides.
func valueAt(points []point, us int64) (v float64, ok bool) {
	for i, p := range points {
		switch {
		case p.us == us:
			return p.v, true
		case p.us > us && i == 0:
			return 0, false
		case p.us > us:
			a := points[i-1]
			return a.v + (p.v-a.v)*float64(us-a.us)/float64(p.us-a.us), true
		}
	}
	return 0, false
}

// increase is the increase of a counter over the window, interpolated at its ends; nil: no readings on both
// sides. resets counts the counter resets (the value fell): increments between the last reading and the reset
// are lost.
func increase(points []point, start, end int64) (by *float64, resets int) {
	total := make([]point, len(points))
	var lost float64
	for i, p := range points {
		if i > 0 && p.v < points[i-1].v {
			lost += points[i-1].v
			if p.us > start && points[i-1].us < end {
				resets++
			}
		}
		total[i] = point{us: p.us, v: p.v + lost}
	}
	a, ok1 := valueAt(total, start)
	b, ok2 := valueAt(total, end)
	if !ok1 || !ok2 {
		return nil, resets
	}
	return new(Round(b-a, 3)), resets
}

// readings are the samples of one source.
type readings struct {
	all    []*Sample      // those with figures, in the order of time
	gaps   map[int64]bool // t_us of those that follow a gap
	inside int            // number of all in the window
	failed int            // number of errors in the window
	err    string         // the last error, inside the window or not
}

// gapFactor: readings more than this many planned intervals apart have a gap. A failed one is a gap, too.
const gapFactor = 3

func readingsOf(samples []Sample, source string, start, end int64, has func(*Sample) bool) readings {
	r := readings{gaps: map[int64]bool{}}
	var last *Sample
	failed := false // since the last reading
	for _, s := range inOrder(samples, source) {
		in := s.TUs >= start && s.TUs < end
		switch {
		case has(s):
			if last != nil && (failed || last.Next > 0 && s.TUs-last.TUs > gapFactor*last.Next) {
				r.gaps[s.TUs] = true
			}
			r.all, last, failed = append(r.all, s), s, false
			if in {
				r.inside++
			}
		case s.Error != "":
			r.err, failed = s.Error, true
			if in {
				r.failed++
			}
		}
	}
	return r
}

func inOrder(samples []Sample, source string) (out []*Sample) {
	for i := range samples {
		if samples[i].Source == source {
			out = append(out, &samples[i])
		}
	}
	slices.SortStableFunc(out, func(a, b *Sample) int { return int(a.TUs - b.TUs) })
	return out
}

// missing is why the window has no reading; empty: it has one.
func (r *readings) missing() string {
	switch {
	case r.inside > 0:
		return ""
	case r.err != "":
		return r.err
	case len(r.all) > 0:
		return "no reading in the window: it is too short for one"
	}
	return "no reading"
}

func (r *readings) nearest(us int64) (best *Sample) {
	for _, s := range r.all {
		if best == nil || max(s.TUs-us, us-s.TUs) < max(best.TUs-us, us-best.TUs) {
			best = s
		}
	}
	return best
}

func (r *readings) edge(name string) *Sample {
	if i := slices.IndexFunc(r.all, func(s *Sample) bool { return s.Edge == name }); i >= 0 {
		return r.all[i]
	}
	return nil
}

func pointsOf(readings []*Sample, gaps map[int64]bool, get func(*Sample) *float64) []point {
	var out []point
	gap := false // since the last point
	for _, s := range readings {
		gap = gap || gaps[s.TUs]
		if v := get(s); v != nil && (len(out) == 0 || out[len(out)-1].us < s.TUs) {
			out = append(out, point{us: s.TUs, v: *v, gap: gap && len(out) > 0})
			gap = false
		}
	}
	return out
}

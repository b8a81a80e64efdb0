package telemetry

import "slices"

// point is a figure at a time, µs from the row's epoch.
type point struct {
	us int64
	v  float64
}

// Gauge summarizes a gauge over a window, interpolated linearly between readings.
type Gauge struct {
	Mean float64 `json:"mean"`          // over time
	Max  float64 `json:"max"`           // of the readings, and of the interpolated values at the window's ends
	Last float64 `json:"last"`          // at the window's end
	Min  float64 `json:"min,omitempty"` // as Max; absent = 0, or written by an earlier version
}

// gauge covers the part of the window between readings; nil: no reading in the window. Readings before and
// after the load are not enough.
func gauge(points []point, start, end int64) *Gauge {
	if !slices.ContainsFunc(points, func(p point) bool { return p.us >= start && p.us <= end }) {
		return nil
	}
	in := window(points, start, end)
	g := Gauge{Mean: in[0].v, Max: in[0].v, Min: in[0].v, Last: in[len(in)-1].v}
	var area float64
	for i, p := range in[1:] {
		area += (in[i].v + p.v) / 2 * float64(p.us-in[i].us)
		g.Max, g.Min = max(g.Max, p.v), min(g.Min, p.v)
	}
	if span := in[len(in)-1].us - in[0].us; span > 0 {
		g.Mean = area / float64(span)
	}
	g.Mean, g.Max, g.Last, g.Min = Round(g.Mean, 6), Round(g.Max, 6), Round(g.Last, 6), Round(g.Min, 6)
	return &g
}

// window returns the points of a window, with interpolated points at its ends where readings surround them.
func window(points []point, start, end int64) []point {
	var in []point
	if v, ok := valueAt(points, start); ok {
		in = append(in, point{start, v})
	}
	for _, p := range points {
		if p.us > start && p.us < end {
			in = append(in, p)
		}
	}
	if v, ok := valueAt(points, end); ok && end > start {
		in = append(in, point{end, v})
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
		total[i] = point{p.us, p.v + lost}
	}
	a, ok1 := valueAt(total, start)
	b, ok2 := valueAt(total, end)
	if !ok1 || !ok2 {
		return nil, resets
	}
	return new(Round(b-a, 3)), resets
}

package telemetry

import "slices"

// point is a figure at one moment, µs from the row's epoch.
type point struct {
	us int64
	v  float64
}

// Gauge is a figure that goes up and down, over a window. Between two readings it is taken to go straight.
type Gauge struct {
	Mean float64 `json:"mean"` // over time
	Max  float64 `json:"max"`  // of the readings, and of what lies at the window's ends
	Last float64 `json:"last"` // at the window's end
}

// gauge is over the window, as far as there are readings on both sides; nil = there is none inside: those before and behind
// the load say nothing of it.
func gauge(points []point, start, end int64) *Gauge {
	if !slices.ContainsFunc(points, func(p point) bool { return p.us >= start && p.us <= end }) {
		return nil
	}
	in := within(points, start, end)
	g := Gauge{Mean: in[0].v, Max: in[0].v, Last: in[len(in)-1].v}
	var area float64
	for i, p := range in[1:] {
		area += (in[i].v + p.v) / 2 * float64(p.us-in[i].us)
		g.Max = max(g.Max, p.v)
	}
	if span := in[len(in)-1].us - in[0].us; span > 0 {
		g.Mean = area / float64(span)
	}
	g.Mean, g.Max, g.Last = Round(g.Mean, 6), Round(g.Max, 6), Round(g.Last, 6)
	return &g
}

// within are the points of a window, with those at its edges that lie between two readings.
func within(points []point, start, end int64) []point {
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

// valueAt is the value on the straight line between the readings around a moment; not ok: there are none on both sides.
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

// growth is that of a counter over the window, by the straight lines between the readings around its ends; nil = there are
// none on both sides. A counter that fell began anew at 0: what it had counted since the reading before is lost, and resets
// says so.
func growth(points []point, start, end int64) (by *float64, resets int) {
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

package telemetry

import "slices"

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

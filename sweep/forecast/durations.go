package forecast

import (
	"slices"
	"time"

	"bench/experiment"
	"bench/experiment/record"
	"bench/sweep"
)

// durations are how long rows take: as finished rows of the same point did, else within what the matrix states.
type durations struct {
	timeout time.Duration             // of a request; 0 = the matrix states none
	took    map[point][]time.Duration // of finished rows
	beyond  []time.Duration           // of finished rows beyond their stated phases, ascending
}

// point is what rows that take the same time have in common: a longer repeat is another point.
type point struct {
	label, variant string
	requests       int
	duration       time.Duration
}

func pointOf(s *experiment.Spec) point {
	return point{s.Label(), s.Variant, s.Requests, time.Duration(s.Duration)}
}

func newDurations(m *sweep.Matrix) *durations {
	return &durations{timeout: m.Target.Timeout, took: map[point][]time.Duration{}}
}

func (d *durations) learn(r *record.Row) {
	if r.EndedAt.IsZero() || r.ServerLost || r.AllFailed() {
		return
	}
	at := pointOf(&r.Spec)
	d.took[at] = append(d.took[at], r.Took())
	if phases, known := r.Spec.ExpectedDuration(); known && r.Spec.Until == "" {
		d.beyond = append(d.beyond, max(0, r.Took()-phases))
		slices.Sort(d.beyond)
	}
}

func (d *durations) of(s *experiment.Spec) Span {
	if own := d.took[pointOf(s)]; len(own) > 0 {
		var sum time.Duration
		for _, took := range own {
			sum += took
		}
		mean := sum / time.Duration(len(own))
		return Span{Least: mean, Most: mean}
	}
	return d.stated(s)
}

// stated is the duration by the matrix: from the phases alone to the end of their grace, or the row's other limits.
// Finished rows say how long connecting and draining really take.
func (d *durations) stated(s *experiment.Spec) Span {
	if s.Search != nil {
		return Span{Most: time.Duration(s.Search.MaxTime())}
	}
	phases, known := s.ExpectedDuration()
	w := Span{Least: phases, Most: phases, Open: !known && (s.Duration == 0 || s.Warmup.Requests > 0)}
	if s.Until != "" || !known && s.Requests > 0 {
		w.Least = min(phases, time.Duration(s.Warmup.Time))
	}
	more := Span{Most: s.GraceTime() + perRow}
	if n := len(d.beyond); n > 0 {
		more = Span{Least: d.beyond[n/2], Most: d.beyond[n/2]}
	}
	w.Add(more)
	if w.Open && d.timeout > 0 && !s.HasConversations() {
		requests, atOnce := s.Warmup.Requests+s.Requests, max(1, s.Concurrency)
		if s.Open() && s.Concurrency == 0 {
			atOnce = requests
		}
		w.Open, w.Most = false, w.Most+time.Duration((requests+atOnce-1)/atOnce)*d.timeout
	}
	if longest := time.Duration(s.MaxDuration); longest > 0 && (w.Open || longest+perRow < w.Most) {
		w.Open, w.Most = false, longest+perRow
	}
	return w
}

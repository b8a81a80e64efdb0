// Package forecast computes what a sweep sends and how long it takes: before it runs (NewPlan for a dry run,
// TilingText), and while it runs (Remaining). It rests on the matrix and on the rows that have ended, on nothing else:
// the first estimate is a range, from the stated phases to the limits that end a row.
//
// It sends nothing and reads no clock: everything is a function of the matrix and of what was measured so
// far.
package forecast

import (
	"slices"
	"time"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/record"
	"bench/experiment/unit"
	"bench/sweep/matrix"
)

// perRow is the time that a row takes beyond its phases and their grace: connecting, priming, writing.
const perRow = time.Second

type Span struct {
	Least, Most time.Duration
	Open        bool // nothing bounds it from above: Most is no bound
}

func (s *Span) Add(o Span) {
	s.Least += o.Least
	s.Most += o.Most
	s.Open = s.Open || o.Open
}

// Less is the rest of the span after a time.
func (s Span) Less(d time.Duration) Span {
	s.Least, s.Most = max(0, s.Least-d), max(0, s.Most-d)
	return s
}

func (s Span) Known() bool { return !s.Open || s.Least >= time.Second }

// String is "about 42s" where both ends lie within a tenth, "2s to 1m 43s", or "at least 30s".
func (s Span) String() string {
	switch {
	case !s.Known():
		return "not known"
	case s.Open:
		return "at least " + unit.Clock(s.Least)
	case s.Most-s.Least <= max(time.Second, s.Most/10):
		return "about " + unit.Clock(s.Most)
	case s.Least < time.Second:
		return "at most " + unit.Clock(s.Most)
	}
	return unit.Clock(s.Least) + " to " + unit.Clock(s.Most)
}

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

func newDurations(m *matrix.Matrix) *durations {
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

// Remaining is the part of a sweep that has not run, with what is known about its duration.
type Remaining struct {
	Todo []Task // rows that have not begun, in order of execution

	Searching bool          // a search runs: its answers decide how many rows it still takes
	Variant   string        // of the server that runs
	Start     time.Duration // from the latest server's start to its first row; 0 = none yet

	budget time.Duration // of the run; 0 = none

	starts    bool // bench starts a server where the variant changes
	durations *durations
}

type Task struct {
	ID   string
	Spec *experiment.Spec
}

// NewRemaining has all rows of the matrix that match a glob of only; none = all.
func NewRemaining(m *matrix.Matrix, only []string) *Remaining {
	r := &Remaining{budget: time.Duration(m.Budget), starts: m.Server.Runs(), durations: newDurations(m)}
	if m.Tune != nil { // which of the rows run is not known
		r.Searching, r.budget = true, time.Duration(m.Tune.Budget)
		return r
	}
	for i := range m.Points {
		if ok, err := matrix.Match(&m.Points[i], only); ok && err == nil {
			r.Todo = append(r.Todo, Task{matrix.ID(&m.Points[i]), &m.Points[i]})
		}
	}
	return r
}

// Reach removes a row that has begun and the rows before it. Rows whose server did not start have no event of
// their own.
func (r *Remaining) Reach(id string) {
	if at := slices.IndexFunc(r.Todo, func(t Task) bool { return t.ID == id }); at >= 0 {
		r.Variant, r.Searching = r.Todo[at].Spec.Variant, r.Todo[at].Spec.Search != nil
		r.Todo = r.Todo[at+1:]
	}
}

// Learn takes a row that has ended, in this attempt or an earlier one.
func (r *Remaining) Learn(row *record.Row) { r.durations.learn(row) }

func (r *Remaining) Row(s *experiment.Spec) Span { return r.durations.of(s) }

// Takes is the expected duration of a row, at least: a row of unknown duration is worth a try.
func (r *Remaining) Takes(s *experiment.Spec) time.Duration { return r.Row(s).Least }

// RowLeft is the time until the end of the row that runs.
func (r *Remaining) RowLeft(s *experiment.Spec, progress endpoint.Snapshot, now time.Time) Span {
	whole := r.Row(s)
	if progress.Begun.IsZero() {
		return whole
	}
	elapsed := now.Sub(progress.Begun)
	left := whole.Less(elapsed)
	total := s.Warmup.Requests + s.Requests
	// A row that counts its requests is extrapolated from those that are done, once they are a tenth and five
	// at least.
	_, stated := s.ExpectedDuration()
	if stated || s.Until != "" || s.Requests == 0 || s.Warmup.Time > 0 || progress.Done < max(5, total/10) {
		return left
	}
	projected := time.Duration(float64(elapsed) / float64(progress.Done) * float64(max(0, total-progress.Done)))
	for _, most := range []time.Duration{time.Duration(s.Duration), time.Duration(s.MaxDuration)} {
		if most > 0 {
			projected = min(projected, max(0, most+perRow-elapsed))
		}
	}
	return Span{Least: projected, Most: projected}
}

// Left is the duration of the rows that have not begun, with the starts of servers between them.
func (r *Remaining) Left() Span {
	sum := Span{Open: r.Searching}
	variant := r.Variant
	for _, t := range r.Todo {
		if r.starts && t.Spec.Variant != variant {
			sum.Add(Span{Least: r.Start, Most: r.Start, Open: r.Start == 0})
			variant = t.Spec.Variant
		}
		sum.Add(r.Row(t.Spec))
		sum.Open = sum.Open || t.Spec.Search != nil
	}
	return sum
}

// Within is a time left in a run that took so long so far: a budget ends it, and uses what the rows leave.
func (r *Remaining) Within(left Span, took time.Duration) Span {
	if r.budget == 0 {
		return left
	}
	most := max(0, r.budget-took)
	return Span{Least: min(left.Least, most), Most: most}
}

package forecast

import (
	"slices"
	"time"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/sweep"
)

// Remaining is the part of a sweep that has not run, with what is known about its duration.
type Remaining struct {
	Todo []Task // rows that have not begun, in order of execution

	Searching bool          // a search runs: its answers decide how many rows it still takes
	Variant   string        // of the server that runs
	Start     time.Duration // from the latest server's start to its first row; 0 = none yet

	speed  Speed                    // of the server, as predicted
	starts bool                     // bench starts a server where the variant changes
	took   map[string]time.Duration // by point: duration of a repeat
	beyond []time.Duration          // durations of rows beyond their stated phases, ascending
}

// Task is one row to run.
type Task struct {
	ID   string
	Spec *experiment.Spec
}

// NewRemaining has all rows of the matrix that match k.Only.
func NewRemaining(m *sweep.Matrix, k Known) *Remaining {
	r := &Remaining{speed: k.Speed, starts: m.Server.Runs(), took: map[string]time.Duration{}}
	for i := range m.Points {
		if ok, err := sweep.Match(&m.Points[i], k.Only); ok && err == nil {
			r.Todo = append(r.Todo, Task{sweep.ID(&m.Points[i]), &m.Points[i]})
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

// Learn takes the duration of a row that has ended.
func (r *Remaining) Learn(s *experiment.Spec, took time.Duration) {
	r.took[s.Label()] = took
	if d, known := s.ExpectedDuration(); known && s.Until == "" {
		at, _ := slices.BinarySearch(r.beyond, took-d)
		r.beyond = slices.Insert(r.beyond, at, max(0, took-d))
	}
}

// Row is the duration of a row: from its stated phases and the median time of other rows beyond theirs, from an
// earlier repeat, or as the server's speed predicts it.
func (r *Remaining) Row(s *experiment.Spec) Span {
	more := perRow
	if n := len(r.beyond); n > 0 {
		more = r.beyond[n/2]
	}
	d, known := s.ExpectedDuration()
	if known && s.Until == "" {
		return Span{Least: d + more, Most: d + more}
	}
	if took, ok := r.took[s.Label()]; ok {
		return Span{Least: took, Most: took}
	}
	if took, ok := r.speed.row(s); ok {
		return Span{Least: took, Most: took}
	}
	w := Span{Least: d, Most: d + more, Open: !known && (s.Duration == 0 || s.Warmup.Requests > 0)}
	if s.Requests > 0 || s.Until != "" {
		w.Least = min(d, time.Duration(s.Warmup.Time))
	}
	if longest := time.Duration(s.MaxDuration); w.Open && longest > 0 {
		w.Open, w.Most = false, longest+more
	}
	return w
}

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
	known := whole.Most == whole.Least && !whole.Open
	if known || s.Until != "" || s.Requests == 0 || s.Warmup.Time > 0 || progress.Done < max(5, total/10) {
		return left
	}
	projected := time.Duration(float64(elapsed) / float64(progress.Done) * float64(max(0, total-progress.Done)))
	if !whole.Open {
		projected = min(projected, left.Most)
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

package forecast

import (
	"slices"
	"time"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/record"
	"bench/sweep"
)

// Remaining is the part of a sweep that has not run, with what is known about its duration.
type Remaining struct {
	Todo []Task // rows that have not begun, in order of execution

	Searching bool          // a search runs: its answers decide how many rows it still takes
	Variant   string        // of the server that runs
	Start     time.Duration // from the latest server's start to its first row; 0 = none yet

	Budget time.Duration // of the run; 0 = none

	starts    bool // bench starts a server where the variant changes
	durations *durations
}

type Task struct {
	ID   string
	Spec *experiment.Spec
}

// NewRemaining has all rows of the matrix that match a glob of only; none = all.
func NewRemaining(m *sweep.Matrix, only []string) *Remaining {
	r := &Remaining{Budget: time.Duration(m.Budget), starts: m.Server.Runs(), durations: newDurations(m)}
	if m.Tune != nil { // which of the rows run is not known
		r.Searching, r.Budget = true, time.Duration(m.Tune.Budget)
		return r
	}
	for i := range m.Points {
		if ok, err := sweep.Match(&m.Points[i], only); ok && err == nil {
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
	if r.Budget == 0 {
		return left
	}
	most := max(0, r.Budget-took)
	return Span{Least: min(left.Least, most), Most: most}
}

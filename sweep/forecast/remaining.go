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
	beyond    []time.Duration // durations of rows beyond their stated phases, ascending
}

// Task is one row to run.
type Task struct {
	ID   string
	Spec *experiment.Spec
}

// NewRemaining has all rows of the matrix that match k.Only.
func NewRemaining(m *sweep.Matrix, k Known) *Remaining {
	r := &Remaining{Budget: time.Duration(m.Budget), starts: m.Server.Runs(), durations: newDurations(k)}
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

// Learn takes a row that has ended, in this attempt or an earlier one.
func (r *Remaining) Learn(row *record.Row) {
	r.durations.learn(row)
	if d, known := row.Spec.ExpectedDuration(); known && row.Spec.Until == "" && !row.EndedAt.IsZero() {
		beyond := max(0, row.Took()-d)
		at, _ := slices.BinarySearch(r.beyond, beyond)
		r.beyond = slices.Insert(r.beyond, at, beyond)
	}
}

// Row is the duration of a row: as rows of its shape took or the server's speed predicts it, else from its stated
// phases and the median time of other rows beyond theirs.
func (r *Remaining) Row(s *experiment.Spec) Span {
	if took, from := r.durations.of(s); from != fromMatrix {
		return Span{Least: took, Most: took}
	}
	more := perRow
	if n := len(r.beyond); n > 0 {
		more = r.beyond[n/2]
	}
	d, known := s.ExpectedDuration()
	if known && s.Until == "" {
		return Span{Least: d + more, Most: d + more}
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

// Basis is what the durations of the rows to run rest on, as in a Plan; empty: no row is left.
func (r *Remaining) Basis() string {
	var rows [sources]int
	for _, t := range r.Todo {
		_, from := r.durations.of(t.Spec)
		rows[from]++
	}
	return r.durations.sourcesText(rows)
}

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

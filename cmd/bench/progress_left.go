package main

import (
	"fmt"
	"slices"
	"time"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/sweep"
)

// perRow is what a row costs on top of its phases, as long as none has shown it: connecting, priming, the last answers.
const perRow = time.Second

// span is a time that is not known exactly: between least and most, or with no end.
type span struct {
	least, most time.Duration
	open        bool // nothing bounds it from above
}

func (s *span) add(o span) {
	s.least += o.least
	s.most += o.most
	s.open = s.open || o.open
}

// less is what remains after a time.
func (s span) less(d time.Duration) span {
	s.least, s.most = max(0, s.least-d), max(0, s.most-d)
	return s
}

// String says no more than is known. Ends that lie within a tenth are told as one.
func (s span) String() string {
	switch {
	case s.open && s.least < time.Second:
		return "not known how long"
	case s.open:
		return "at least " + clock(s.least)
	case s.most-s.least <= max(time.Second, s.most/10):
		return "about " + clock(s.most)
	case s.least < time.Second:
		return "at most " + clock(s.most)
	}
	return clock(s.least) + " to " + clock(s.most)
}

// clock writes a time as people say it: 42s, 11m 20s, 1h 05m.
func clock(d time.Duration) string {
	s := int(d.Round(time.Second).Seconds())
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm %02ds", s/60, s%60)
	}
	return fmt.Sprintf("%dh %02dm", s/3600, s%3600/60)
}

// agenda is what a sweep has yet to do, and how long that takes as far as one can know.
type agenda struct {
	todo   []task
	starts bool // bench starts a server where the variant changes

	hunting bool                     // a search runs: how many rows it still takes, its answers say
	variant string                   // of the server that is there
	start   time.Duration            // how long the latest server took until its first row; 0 = none was there yet
	took    map[string]time.Duration // by point: what a repeat took
	beyond  []time.Duration          // what rows of a stated time took on top of it, in ascending order
}

type task struct {
	id   string
	spec *experiment.Spec
}

func newAgenda(m *sweep.Matrix, only []string) *agenda {
	a := &agenda{starts: m.Server.Runs(), took: map[string]time.Duration{}}
	for i := range m.Points {
		if ok, err := sweep.Match(&m.Points[i], only); ok && err == nil {
			a.todo = append(a.todo, task{sweep.ID(&m.Points[i]), &m.Points[i]})
		}
	}
	return a
}

// reach takes off the list what lies before a row, and the row: rows whose server did not start are passed over in silence.
func (a *agenda) reach(id string) {
	if at := slices.IndexFunc(a.todo, func(t task) bool { return t.id == id }); at >= 0 {
		a.variant, a.hunting = a.todo[at].spec.Variant, a.todo[at].spec.Search != nil
		a.todo = a.todo[at+1:]
	}
}

// learn takes how long a row took.
func (a *agenda) learn(s *experiment.Spec, took time.Duration) {
	a.took[s.Label()] = took
	if d, known := s.ExpectedDuration(); known && s.Until == "" {
		at, _ := slices.BinarySearch(a.beyond, took-d)
		a.beyond = slices.Insert(a.beyond, at, max(0, took-d))
	}
}

// rowSpan is how long a row takes, from what is stated, from an earlier repeat, and from what other rows mostly took on top.
func (a *agenda) rowSpan(s *experiment.Spec) span {
	more := perRow
	if n := len(a.beyond); n > 0 {
		more = a.beyond[n/2]
	}
	d, known := s.ExpectedDuration()
	if known && s.Until == "" {
		return span{least: d + more, most: d + more}
	}
	if took, ok := a.took[s.Label()]; ok {
		return span{least: took, most: took}
	}
	w := span{least: d, most: d + more, open: !known && (s.Duration == 0 || s.Warmup.Requests > 0)}
	if s.Requests > 0 || s.Until != "" {
		w.least = min(d, time.Duration(s.Warmup.Time))
	}
	if longest := time.Duration(s.MaxDuration); w.open && longest > 0 {
		w.open, w.most = false, longest+more
	}
	return w
}

// rest is how long a row still takes.
func (a *agenda) rest(s *experiment.Spec, r endpoint.Snapshot, now time.Time) span {
	whole := a.rowSpan(s)
	if r.Begun.IsZero() {
		return whole
	}
	elapsed := now.Sub(r.Begun)
	left := whole.less(elapsed)
	total := s.Warmup.Requests + s.Requests
	// Of a row that counts its requests, those that are done tell how long the others take; a few of them would tell little.
	if known := whole.most == whole.least && !whole.open; known || s.Until != "" || s.Requests == 0 || s.Warmup.Time > 0 || r.Done < max(5, total/10) {
		return left
	}
	projected := time.Duration(float64(elapsed) / float64(r.Done) * float64(max(0, total-r.Done)))
	if !whole.open {
		projected = min(projected, left.most)
	}
	return span{least: projected, most: projected}
}

// left is how long the rows take that have not begun, with the starts of servers between them.
func (a *agenda) left() span {
	sum := span{open: a.hunting}
	variant := a.variant
	for _, t := range a.todo {
		if a.starts && t.spec.Variant != variant {
			sum.add(span{least: a.start, most: a.start, open: a.start == 0})
			variant = t.spec.Variant
		}
		sum.add(a.rowSpan(t.spec))
		sum.open = sum.open || t.spec.Search != nil
	}
	return sum
}

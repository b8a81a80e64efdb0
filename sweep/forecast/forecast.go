// Package forecast computes what a sweep sends and how long it takes: before it runs (NewPlan for a dry run,
// TilingText), and while it runs (Remaining). It rests on the matrix and on the rows that have ended, on nothing else:
// the first estimate is a range, from the stated phases to the limits that end a row.
//
// It sends nothing and reads no clock: everything is a function of the matrix and of what was measured so
// far.
package forecast

import (
	"time"

	"bench/experiment/unit"
)

// perRow is the time that a row takes beyond its phases and their grace: connecting, priming, writing.
const perRow = time.Second

// Span is a time that is not known exactly.
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

// Known reports whether anything is known about the span.
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

// Package live shows a sweep while it runs, in four forms: a frame on a terminal (Sweep, Tiling), a line for each
// event (PrintEvent), JSON lines (Messages) and Prometheus metrics (Metrics). Each form takes the events of
// sweep.Run and reads the Progress of the row that runs. View redraws the frames of both commands.
//
// No figure here is a result: results are computed from the records.
package live

import (
	"time"

	"bench/experiment/endpoint"
	"bench/sweep"
)

// status is what a sweep does now.
type status struct {
	agenda *agenda

	total, done int             // rows
	server      *sweep.Starting // being started; nil: none
	row         *sweep.Begun    // nil: none runs
	since       time.Time       // start of the server or of the row
}

// apply takes a step of the run.
func (s *status) apply(e sweep.Event, now time.Time) {
	switch {
	case e.Starting != nil:
		s.server, s.row, s.since = e.Starting, nil, now
		s.agenda.variant = e.Starting.Variant
	case e.Started != nil:
		s.total = e.Started.Total
	case e.Begun != nil:
		if s.server != nil {
			s.agenda.start = now.Sub(s.since)
		}
		s.server, s.row, s.since, s.total = nil, e.Begun, now, e.Begun.Total
		s.agenda.reach(e.Begun.ID)
	case e.Finished != nil:
		if s.row != nil && !e.Finished.Kept {
			s.agenda.learn(s.row.Spec, now.Sub(s.since))
		}
		s.row, s.total, s.done = nil, e.Finished.Total, s.done+1
		s.agenda.reach(e.Finished.Row.ID)
	case e.Found != nil:
		s.agenda.hunting = false
	}
}

// reading is the progress of the row that runs; zero between rows.
func (s *status) reading() endpoint.Snapshot {
	if s.row == nil || s.row.Progress == nil {
		return endpoint.Snapshot{}
	}
	return s.row.Progress.Snapshot()
}

// left is the time until the end of the sweep.
func (s *status) left(r endpoint.Snapshot, now time.Time) span {
	left := s.agenda.left()
	switch {
	case s.server != nil:
		start := span{least: s.agenda.start, most: s.agenda.start, open: s.agenda.start == 0}
		left.add(start.less(now.Sub(s.since)))
	case s.row != nil:
		left.add(s.agenda.rest(s.row.Spec, r, now))
	}
	return left
}

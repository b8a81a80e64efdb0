// Package live shows a sweep while it runs, in five forms: a frame on a terminal (Sweep), a line for each
// interval (Tiling) or event (Lines), JSON lines (Messages) and Prometheus metrics (Metrics). Each form takes
// the events of sweep.Run and reads the Progress of the row that runs. View draws Sweep and Tiling.
//
// No figure here is a result: results are computed from the records.
package live

import (
	"fmt"
	"strings"
	"time"

	"bench/experiment/endpoint"
	"bench/sweep"
	"bench/sweep/forecast"
)

type status struct {
	remaining *forecast.Remaining

	total, done int             // rows
	server      *sweep.Starting // being started; nil: none
	row         *sweep.RowEvent // nil: none runs
	since       time.Time       // start of the server or of the row
	began       time.Time       // of the run, less what earlier attempts took
}

func (s *status) apply(e sweep.Event, now time.Time) {
	switch {
	case e.Starting != nil:
		s.server, s.row, s.since = e.Starting, nil, now
		s.remaining.Variant = e.Starting.Variant
	case e.Started != nil:
		s.total, s.began = e.Started.Total, now.Add(-e.Started.Spent)
	case e.Begun != nil:
		if s.server != nil {
			s.remaining.Start = now.Sub(s.since)
		}
		s.server, s.row, s.since, s.total = nil, e.Begun, now, e.Begun.Total
		s.remaining.Reach(e.Begun.ID)
	case e.Finished != nil:
		s.remaining.Learn(e.Finished.Row)
		s.row, s.total, s.done = nil, e.Finished.Total, s.done+1
		s.remaining.Reach(e.Finished.Row.ID)
	case e.Skipped != nil:
		s.total, s.done = e.Skipped.Total, s.done+1
		s.remaining.Reach(e.Skipped.ID)
	case e.Cut != nil:
		s.row = nil
	case e.Found != nil:
		s.remaining.Searching = false
	}
}

// reading is the progress of the row that runs; zero between rows.
func (s *status) reading() endpoint.Snapshot {
	if s.row == nil || s.row.Progress == nil {
		return endpoint.Snapshot{}
	}
	return s.row.Progress.Snapshot()
}

func (s *status) leftText(r endpoint.Snapshot, now time.Time) string {
	if left := s.left(r, now); left.Known() {
		return left.String() + " left"
	}
	return "time left not known"
}

func startText(s *sweep.Starting) string {
	return strings.TrimSpace(fmt.Sprintf("starting server %d %s", s.N, s.Variant))
}

// lastLine is the last line of the log of a server; empty: none yet.
func lastLine(s *sweep.Starting) string {
	if s.LastLine == nil {
		return ""
	}
	return s.LastLine()
}

func (s *status) left(r endpoint.Snapshot, now time.Time) forecast.Span {
	left := s.remaining.Left()
	switch {
	case s.server != nil:
		start := forecast.Span{Least: s.remaining.Start, Most: s.remaining.Start, Open: s.remaining.Start == 0}
		left.Add(start.Less(now.Sub(s.since)))
	case s.row != nil:
		left.Add(s.remaining.RowLeft(s.row.Spec, r, now))
	}
	return s.remaining.Within(left, now.Sub(s.began))
}

// Package live shows a sweep while it runs, in five forms: a frame on a terminal (Sweep), a line for each
// interval (Tiling) or event (Lines), JSON lines (Messages) and Prometheus metrics (Metrics). Each form takes
// the events of sweep.Run and reads the Progress of the row that runs. View draws Sweep and Tiling.
//
// No figure here is a result: results are computed from the records.
package live

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"

	"bench/experiment/endpoint"
	"bench/experiment/text"
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

// Messages writes a sweep as JSON lines, with the progress of the row that runs every few seconds.
type Messages struct {
	w io.Writer

	mu     sync.Mutex
	status status
	run    sweep.MessageRun

	stop func()
}

// progressEvery is the time between two events of a row's progress.
const progressEvery = 5 * time.Second

// NewMessages writes the events of a sweep of the rows of m that only picks, until its Stop.
func NewMessages(w io.Writer, m *sweep.Matrix, only []string) *Messages {
	x := &Messages{w: w, status: status{remaining: forecast.NewRemaining(m, only)}}
	x.stop = every(progressEvery, x.progress)
	return x
}

func (x *Messages) Stop() { x.stop() }

// End writes the last event, after Stop. A run without a directory has measured nothing, and gets no event.
func (x *Messages) End(result *sweep.Result) {
	if result == nil || result.Dir == "" {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.run.State = result.Manifest.State
	x.put(sweep.Message{Schema: sweep.SchemaEvent, At: time.Now().UTC(), Event: sweep.EventRunEnded, Run: &x.run})
}

func (x *Messages) Event(e sweep.Event) {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := time.Now()
	x.status.apply(e, now)
	m := e.Message(now)
	if e.Started != nil {
		x.run = *m.Run
	}
	x.put(m)
}

// put writes one line. An error does not end the sweep: it is dropped.
func (x *Messages) put(m sweep.Message) {
	s, err := json.Marshal(m)
	if err != nil {
		panic(err) // a struct of plain values
	}
	_, _ = x.w.Write(append(text.JSON(s), '\n'))
}

func (x *Messages) progress(now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	row := x.status.row
	if row == nil {
		return
	}
	r := x.status.reading()
	m := sweep.Event{Begun: row}.Message(now)
	m.Event, m.Progress = sweep.EventRowProgress, progressOf(r, now)
	left := x.status.left(r, now)
	m.Progress.LeastS = left.Least.Seconds()
	if !left.Open {
		m.Progress.MostS = new(left.Most.Seconds())
	}
	if !row.Spec.Streams() {
		m.Progress.TTFTP50, m.Progress.TTFTP99 = nil, nil
	}
	x.put(m)
}

func progressOf(r endpoint.Snapshot, now time.Time) *sweep.MessageProgress {
	p := &sweep.MessageProgress{
		Phase: "preparing", Sent: r.Sent, Done: r.Done, Failed: r.Failed, InFlight: r.InFlight, Tokens: r.Tokens,
		Sessions: r.Sessions, SessionsEnded: r.Over,
		TTFTP50: known(r.FirstToken.P50), TTFTP99: known(r.FirstToken.P99), LagP99: known(r.Lag.P99),
	}
	if p.Settling = r.Settling; r.Settling > 0 {
		p.Phase = "settling"
	}
	if !r.Begun.IsZero() {
		p.Phase, p.ElapsedS = r.Phase, now.Sub(r.Begun).Seconds()
	}
	return p
}

// known is x, or nil for NaN.
func known(x float64) *float64 {
	if math.IsNaN(x) {
		return nil
	}
	return &x
}

package live

import (
	"encoding/json"
	"io"
	"math"
	"sync"
	"time"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/record"
	"bench/experiment/text"
	"bench/experiment/verdict"
	"bench/sweep"
	"bench/sweep/forecast"
	"bench/sweep/matrix"
)

const SchemaEvent = "bench/event/v1"

// Message is an event of a sweep as one line of JSON, for programs.
type Message struct {
	Schema string    `json:"schema"`
	At     time.Time `json:"at"`
	// Event is one of: server_starting, search_started (it looks for the load of its first probe), run_started,
	// row_started, row_progress (every few seconds while a row runs), row_finished, row_skipped, row_cut (by a worker; it
	// begins again), search_ended, run_ended (the last one).
	Event string `json:"event"`

	Server   *sweep.Starting  `json:"server,omitempty"`   // of server_starting
	Run      *MessageRun      `json:"run,omitempty"`      // of run_started and run_ended
	Row      *MessageRow      `json:"row,omitempty"`      // of all row events
	Progress *MessageProgress `json:"progress,omitempty"` // of row_progress
	Result   *MessageResult   `json:"result,omitempty"`   // of row_finished
	// of row_skipped: "beyond the FAIL at rate 16/s", and of row_cut
	Reason string         `json:"reason,omitempty"`
	Search *MessageSearch `json:"search,omitempty"` // of search_ended
}

// MessageRun is the run as a whole.
type MessageRun struct {
	Dir   string `json:"dir"`
	Rows  int    `json:"rows"`            // of the plan
	Kept  int    `json:"rows_kept"`       // finished by an earlier attempt
	State string `json:"state,omitempty"` // done, interrupted or failed; absent = running
}

// MessageRow is the row of an event.
type MessageRow struct {
	ID      string            `json:"id"`
	Index   int               `json:"index"` // counts from 1
	Rows    int               `json:"rows"`
	Name    string            `json:"name"`
	Point   []experiment.Axis `json:"point,omitempty"`
	Repeat  int               `json:"repeat"`            // counts from 1
	Repeats int               `json:"repeats,omitempty"` // absent = one, or not known of a row that was kept
}

// MessageSearch is the answer of a search; run.json has all of it.
type MessageSearch struct {
	Name   string            `json:"name"`
	Point  []experiment.Axis `json:"point,omitempty"` // without the load
	Axis   string            `json:"axis"`            // rate or concurrency
	Search string            `json:"search"`          // what it searches for
	State  string            `json:"state"`           // as in run.json
	Low    *float64          `json:"low"`             // lower end of the answer; null = none
	High   *float64          `json:"high"`            // upper end of the answer; null = none
	Text   string            `json:"text"`
}

// MessageProgress is the progress of a row.
type MessageProgress struct {
	// phase of the latest request sent; preparing = none sent yet; settling = waiting for an idle server
	Phase         string  `json:"phase"`
	Settling      int     `json:"server_requests,omitempty"` // that the server has, while settling
	ElapsedS      float64 `json:"elapsed_s"`
	Sent          int     `json:"sent"`
	Done          int     `json:"done"`
	Failed        int     `json:"failed"`
	InFlight      int     `json:"in_flight"`
	Sessions      int     `json:"sessions,omitempty"` // conversations and agent runs that have begun; absent = none
	SessionsEnded int     `json:"sessions_ended,omitempty"`
	Tokens        int     `json:"output_tokens"` // of the requests that are done
	// so far, within 0.5 %; absent = too few requests, or no streaming
	TTFTP50 *float64 `json:"ttft_p50_ms,omitempty"`
	TTFTP99 *float64 `json:"ttft_p99_ms,omitempty"`
	LagP99  *float64 `json:"lag_p99_ms,omitempty"`
	LeastS  float64  `json:"left_at_least_s"`          // of the whole sweep
	MostS   *float64 `json:"left_at_most_s,omitempty"` // absent = nothing bounds it
}

// MessageResult is an excerpt of a finished <row>.json.
type MessageResult struct {
	Kept      bool     `json:"kept"` // finished by an earlier attempt
	Completed int      `json:"completed"`
	Failed    int      `json:"failed"`
	TTFTP50   *float64 `json:"ttft_p50_ms,omitempty"` // absent = not measured
	TPOTP50   *float64 `json:"tpot_p50_ms,omitempty"`
	E2EP50    *float64 `json:"e2e_p50_ms,omitempty"`
	TokensPS  float64  `json:"output_tokens_per_s"`
	SLO       string   `json:"slo,omitempty"` // absent = none is stated
	Valid     bool     `json:"valid"`         // no finding is invalid
	Findings  []string `json:"findings"`      // codes of the invalid ones and of the cautions
}

// messageOf is an event of a sweep as a message.
func messageOf(e sweep.Event, at time.Time) Message {
	m := Message{Schema: SchemaEvent, At: at.UTC()}
	switch {
	case e.Starting != nil:
		m.Event, m.Server = "server_starting", e.Starting
	case e.Started != nil:
		m.Event, m.Run = "run_started", &MessageRun{Dir: e.Started.Dir, Rows: e.Started.Total, Kept: e.Started.Kept}
	case e.Scouting != nil:
		m.Event, m.Search = "search_started", &MessageSearch{
			Name: e.Scouting.Name, Axis: e.Scouting.Search.Axis, Search: e.Scouting.Search.Goal,
		}
	case e.Begun != nil:
		m.Event, m.Row = "row_started", messageRow(e.Begun)
	case e.Skipped != nil:
		m.Event, m.Row, m.Reason = "row_skipped", messageRow(e.Skipped), e.Skipped.Reason
	case e.Cut != nil:
		m.Event, m.Row, m.Reason = "row_cut", messageRow(e.Cut), e.Cut.Reason
	case e.Finished != nil:
		m.Event, m.Row, m.Result = "row_finished", messageRow(e.Finished), resultOf(e.Finished)
	case e.Found != nil:
		f := e.Found
		m.Event, m.Search = "search_ended", &MessageSearch{
			Name: f.Name, Point: f.Others, Axis: f.Search.Axis, Search: f.Search.Goal,
			State: f.State, Low: f.Low, High: f.High, Text: f.Text,
		}
	}
	return m
}

func messageRow(e *sweep.RowEvent) *MessageRow {
	s := e.Spec
	return &MessageRow{ID: e.ID, Index: e.Index, Rows: e.Total, Name: s.Name, Point: s.Point, Repeat: s.Repeat,
		Repeats: s.Repeats}
}

func resultOf(f *sweep.RowEvent) *MessageResult {
	s := &f.Row.Summary
	r := &MessageResult{
		Kept: f.Kept, Completed: s.Requests.Completed, Failed: s.Requests.Failed,
		TokensPS: s.Throughput.OutputTokensPerS, Valid: f.Row.Valid(),
		Findings: append(f.Row.Codes(record.Invalid), f.Row.Codes(record.Caution)...),
	}
	if s.TTFT != nil {
		r.TTFTP50 = &s.TTFT.P50
	}
	if s.TPOT != nil {
		r.TPOTP50 = &s.TPOT.P50
	}
	if s.E2E != nil {
		r.E2EP50 = &s.E2E.P50
	}
	verdict, _ := verdict.OfRows(f.Row)
	r.SLO = string(verdict)
	return r
}

// Messages writes a sweep as JSON lines, with the progress of the row that runs every few seconds.
type Messages struct {
	w io.Writer

	mu     sync.Mutex
	status status
	run    MessageRun

	stop func()
}

// progressEvery is the time between two events of a row's progress.
const progressEvery = 5 * time.Second

// NewMessages writes the events of a sweep of the rows of m that only picks, until its Stop.
func NewMessages(w io.Writer, m *matrix.Matrix, only []string) *Messages {
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
	x.put(Message{Schema: SchemaEvent, At: time.Now().UTC(), Event: "run_ended", Run: &x.run})
}

func (x *Messages) Event(e sweep.Event) {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := time.Now()
	x.status.apply(e, now)
	m := messageOf(e, now)
	if e.Started != nil {
		x.run = *m.Run
	}
	x.put(m)
}

// put writes one line. An error does not end the sweep: it is dropped.
func (x *Messages) put(m Message) {
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
	m := messageOf(sweep.Event{Begun: row}, now)
	m.Event, m.Progress = "row_progress", progressOf(r, now)
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

func progressOf(r endpoint.Snapshot, now time.Time) *MessageProgress {
	p := &MessageProgress{
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

package sweep

import (
	"time"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/record"
	"bench/experiment/verdict"
)

const SchemaEvent = "bench/event/v1"

// Values of Message.Event.
const (
	EventServerStarting = "server_starting"
	EventSearchStarted  = "search_started" // it looks for the load of its first probe
	EventRunStarted     = "run_started"
	EventRowStarted     = "row_started"
	EventRowProgress    = "row_progress" // every few seconds while a row runs
	EventRowFinished    = "row_finished"
	EventRowSkipped     = "row_skipped"
	EventRowCut         = "row_cut" // by a worker; it begins again
	EventSearchEnded    = "search_ended"
	EventRunEnded       = "run_ended" // the last one
)

// Message is an event of a sweep as one line of JSON, for programs.
type Message struct {
	Schema string    `json:"schema"`
	At     time.Time `json:"at"`
	Event  string    `json:"event"`

	Server   *MessageServer   `json:"server,omitempty"`   // of server_starting
	Run      *MessageRun      `json:"run,omitempty"`      // of run_started and run_ended
	Row      *MessageRow      `json:"row,omitempty"`      // of all row events
	Progress *MessageProgress `json:"progress,omitempty"` // of row_progress
	Result   *MessageResult   `json:"result,omitempty"`   // of row_finished
	// of row_skipped: "beyond the FAIL at rate 16/s", and of row_cut
	Reason string         `json:"reason,omitempty"`
	Search *MessageSearch `json:"search,omitempty"` // of search_ended
}

// MessageServer is a server that is being started.
type MessageServer struct {
	N       int    `json:"n"`       // counts from 1
	Variant string `json:"variant"` // its knobs; empty: none
	Log     string `json:"log"`     // file with its output
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

func (e Event) Message(at time.Time) Message {
	m := Message{Schema: SchemaEvent, At: at.UTC()}
	switch {
	case e.Starting != nil:
		m.Event = EventServerStarting
		m.Server = &MessageServer{N: e.Starting.N, Variant: e.Starting.Variant, Log: e.Starting.Log}
	case e.Started != nil:
		m.Event, m.Run = EventRunStarted, &MessageRun{Dir: e.Started.Dir, Rows: e.Started.Total, Kept: e.Started.Kept}
	case e.Scouting != nil:
		m.Event, m.Search = EventSearchStarted, &MessageSearch{
			Name: e.Scouting.Name, Axis: e.Scouting.Search.Axis, Search: e.Scouting.Search.Goal,
		}
	case e.Begun != nil:
		m.Event, m.Row = EventRowStarted, e.Begun.message()
	case e.Skipped != nil:
		m.Event, m.Row, m.Reason = EventRowSkipped, e.Skipped.message(), e.Skipped.Reason
	case e.Cut != nil:
		m.Event, m.Row, m.Reason = EventRowCut, e.Cut.message(), e.Cut.Reason
	case e.Finished != nil:
		f := e.Finished
		row := RowEvent{Index: f.Index, Total: f.Total, Spec: &f.Row.Spec, ID: f.Row.ID}
		m.Event, m.Row, m.Result = EventRowFinished, row.message(), f.result()
	case e.Found != nil:
		f := e.Found
		m.Event, m.Search = EventSearchEnded, &MessageSearch{
			Name: f.Name, Point: f.Others, Axis: f.Search.Axis, Search: f.Search.Goal,
			State: f.State, Low: f.Low, High: f.High, Text: f.Text,
		}
	}
	return m
}

func (e *RowEvent) message() *MessageRow {
	s := e.Spec
	return &MessageRow{ID: e.ID, Index: e.Index, Rows: e.Total, Name: s.Name, Point: s.Point, Repeat: s.Repeat,
		Repeats: s.Repeats}
}

func (f *Finished) result() *MessageResult {
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

// Event is a step of a run. Exactly one of the pointers is set.
type Event struct {
	Starting *Starting
	Started  *Started
	Scouting *experiment.Spec // a search looks for the load of its first probe
	Begun    *RowEvent
	Finished *Finished
	Skipped  *RowEvent
	Cut      *RowEvent     // by a worker: it begins again
	Found    *record.Found // a search that has ended
}

type Starting struct {
	N       int // counts from 1
	Variant string
	Log     string // path of its log

	LastLine func() string // of its log so far, safe at any time; empty: none
}

type Started struct {
	Dir         string
	Total, Kept int           // rows in the plan, and those finished by an earlier attempt
	Changed     Changed       // rows of a run to resume that this matrix describes otherwise
	Spent       time.Duration // of the budget so far; 0 without one
}

// RowEvent is a row without a result.
type RowEvent struct {
	Index, Total int // counts from 1, kept rows included
	Spec         *experiment.Spec
	ID           string
	Progress     *endpoint.Progress // of a row that has begun
	Reason       string             // "beyond the FAIL at rate 16/s"; "worker 2 (host-b): no sign of life for 10s"
}

// Finished is a row with all of its files.
type Finished struct {
	Index, Total int
	Row          *record.Row
	Kept         bool // finished by an earlier attempt
}

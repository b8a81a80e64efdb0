// Package load decides who sends when, never what. One driver serves the open loop (intended arrivals, no
// bound), the closed loop (no arrivals, N workers) and arrivals with a cap. A late client never drops, merges
// or moves an arrival: it only shows lag.
//
// The states of a run. The contexts in brackets end at the arrow. Load goes on until the run is over:
//
//	warm-up ─▶ window ─[windowCtx]─▶ cool-down ─[dispatchCtx, requestCtx: ErrUnfinished]─▶ over
//	cool-down ─ Config.Overloaded ─▶ cool-down that sends nothing new; it ends as the other does
//	any of these ─ MaxDuration ─[dispatchCtx, requestCtx: ErrUnfinished]─▶ over, cut
//	any of these ─ Config.Decided ─[dispatchCtx]─▶ draining ─ DecidedDrain ─[requestCtx: errDecided]─▶ over
//	any of these ─ Run's ctx ends ─[dispatchCtx]─▶ draining ─ all ended, or Drain ─[requestCtx: Canceled]─▶ over
//
// The window closes with the first arrival behind it, by its duration, with its last request (Requests),
// at the end of the plan (with sessions, when the last turn of all arrives), or with Config.Ends or Config.Decided. The
// cool-down ends when nothing is pending (the window is closed, and its requests have ended; with conversations, those
// of the warm-up too), or with the grace period.
//
// One of several machines sends its share of the plan. In an open loop it knows the arrivals of all, so that each has
// the same window; else the numbers of requests are divided. Its cool-down ends when all machines have drained: with
// Config.Release.
//
// The states of a request:
//
//	encoded ─▶ arrived: has a phase ─▶ ready: has a worker ─▶ sent ─▶ ended ─▶ Config.Each
//	               │ dispatchCtx            │ dispatchCtx      ▲        │
//	               ▼                        ▼                  └────────┘ turns that wait for it alone now, after
//	            not sent: of the window, Unfinished; else not counted     their think time, on the same worker
//
// A session is a graph of turns; a conversation is one whose graph is a chain. A turn is due its think time after the
// last of those that it waits for has ended. When a turn fails, or its user leaves, those that wait for it,
// directly or not, are lost.
//
// Under a concurrency a worker is free, or has one request or session from ready to its last end. encodeCtx
// ends the encoding; its child dispatchCtx the sending of new requests; its child windowCtx the waits that
// only an open window needs. requestCtx ends the requests in flight; it is no child, since Drain outlives
// Run's ctx.
package load

import (
	"context"
	"time"

	"bench/experiment/openai"
	"bench/experiment/workload"
)

// Phase of a request, by its intended arrival.
type Phase int

const (
	Warmup Phase = iota
	Window
	Cooldown
)

// Job is one request. Times are offsets from Run's start.
type Job struct {
	Request workload.Request
	Phase   Phase
	// At is the intended arrival. Open loop: by the schedule. Closed loop: when the worker became free, by the
	// stamp of the last byte that it waited for (Result.Free). A later turn of a session: the end of the last turn
	// that it waits for plus the think time.
	At    time.Duration
	Ready time.Duration // At, or later when its worker became free later under the cap
	Input int           // prompt tokens of a later turn, counting the answers that came; 0 = the request's
	// InputEstimated: Input counts reasoning that was not sent back, of unknown length.
	InputEstimated bool
	Lost           int // turns of the session that are not sent because this one failed or its user left
	// SessionOver: with this turn its session has ended, or what is left of it is lost.
	SessionOver bool
	Result      openai.Result

	session *session        // nil: the load has no sessions
	others  []time.Duration // arrivals of other workers since the last own one, of an open loop
}

type Config struct {
	workload.Load
	Rate workload.Rate  // of arrivals: requests, or sessions; 0 = closed loop
	Plan *workload.Plan // used from one goroutine; when it ends, so does the window
	// Share is the part of the plan and of the load that this driver sends, beside other machines; the zero
	// value: all.
	Share workload.Share
	// Encode makes the request's body, ahead of its time. Calls do not overlap. A request that waits long for
	// a worker is encoded a second time.
	Encode func(*workload.Request) []byte
	// Send starts the request without waiting; finish does the rest and fills job.Result, whose times count
	// from epoch. ctx ends with the cause openai.ErrUnfinished when the row is over.
	Send func(ctx context.Context, job *Job, body []byte, epoch time.Time) (finish func())
	// Follow makes a later turn of a session (Request and Input) and its body. first is the session's first request;
	// before is the turn that it continues, which has ended, and body that turn's body; nil = it continues none. It
	// runs when the turns that it waits for have ended, on any goroutine. nil = no sessions.
	Follow func(first *workload.Request, turn int, before *Job, body []byte) (next *Job, nextBody []byte)
	// Each receives every request when it has ended, from one goroutine. Its error ends the run.
	Each func(*Job) error
	// Ends closes the window when it ends, as if Duration were over: the window's requests go on, for the
	// grace period at most. nil = the load itself decides.
	Ends context.Context
	// Decided, when it ends, ends the row at once: its window closes, nothing more is sent, and what is in flight
	// after DecidedDrain is cancelled as unfinished. nil = the load itself decides.
	Decided      context.Context
	DecidedDrain time.Duration
	// Overloaded is asked after calls of Each, from the same goroutine, once the window is over. When it returns true,
	// the cool-down of an open loop of single requests sends nothing more; the window's requests go on. nil = it lasts.
	Overloaded func() bool
	// Start is called when the first bodies are encoded, and returns when the load begins. Its error ends the run. nil
	// = now.
	Start func(context.Context) (time.Time, error)
	// Release, if it is not nil, keeps the row from ending before it ends, so that the load of all machines stays
	// whole. Drained is called once nothing else does. Both are nil, or none.
	Release context.Context
	Drained func()
	// Drain is how long requests in flight may go on after ctx has ended.
	Drain time.Duration
	// wait sleeps until t or the end of ctx; nil = as precisely as the machine can.
	wait func(ctx context.Context, t time.Time)
}

// Measured is the window that a run had, as offsets from its start.
type Measured struct {
	Epoch      time.Time
	Start, End time.Duration
	Last       time.Duration // latest intended arrival in it
	Requests   int           // in it; with a share of an open loop, of all machines
	Cut        bool          // MaxDuration ended the row
}

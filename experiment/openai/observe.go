package openai

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
)

// ErrCallerLeft as the end of an observed exchange makes the outcome Left: the caller closed or cancelled.
var ErrCallerLeft = errors.New("the caller left")

// maxObserved bounds the large buffers of all observations of an Observer, in bytes.
const maxObserved = 64 << 20

// Observer measures exchanges that pass through a proxy: something else sends the requests and reads the answers.
// It reads them as Client does, so that both give the same Result, but for what only a connection shows, and
// without a text: Error, ServerID, Header and Answer stay empty. It is safe for concurrent use.
type Observer struct {
	client *Client // with what measures an exchange, and without a server
}

// NewObserver returns an observer of answers of one API: one of target.APIs.
func NewObserver(api string) *Observer {
	c := &Client{api: api, clock: &clock{base: time.Now()}, viaTransport: true, decoding: make(chan struct{}, 1)}
	c.buffers.limit = maxObserved
	c.exchanges.New = func() any { return new(exchange) }
	return &Observer{c}
}

// Begin starts an observation. It overwrites r, reusing its slices. Times in r count from epoch; r is complete when
// End returns, which must be called.
func (o *Observer) Begin(epoch time.Time, r *Result) *Observation {
	r.Reset()
	x := o.client.exchanges.Get().(*exchange)
	x.prepare(o.client, &Call{Epoch: epoch}, r)
	x.callerCtx, x.ctx = context.Background(), context.Background()
	x.observed = &Observation{x: x}
	return x.observed
}

// Observation is one exchange: its methods are called in order, by one goroutine at a time, and never wait.
type Observation struct {
	x       *exchange     // nil: ended
	latest  time.Duration // the last time that was given, since the clock's base
	charged int64         // of the budget, for lists of events
	unsure  bool          // the header does not say if a stream follows: the body's first byte does
	enough  bool          // what follows changes nothing
	lost    bool          // the answer cannot be read, or is beyond a bound
}

func (o *Observation) note(at time.Time) { o.latest = at.Sub(o.x.client.clock.base) }

func (o *Observation) Sent(at time.Time) {
	if o.x != nil {
		o.note(at)
		o.x.result.Sent = o.x.sinceEpoch(o.latest)
	}
}

// Response notes the answer's status and header, whose content type says if a stream follows. Interim (1xx)
// responses are left out. Who decodes the body leaves out its Content-Encoding: with one, the answer is not measured.
func (o *Observation) Response(status int, header http.Header, at time.Time) {
	x := o.x
	if x == nil || x.resp != nil {
		return
	}
	o.note(at)
	x.received, x.lastArrival = true, o.latest
	x.resp = &http.Response{StatusCode: status}
	x.result.Status = status
	encoding := header.Get("Content-Encoding")
	failed := status < 200 || status > 299 // an error's text is not kept: it may be in any encoding
	o.lost = !failed && encoding != "" && !strings.EqualFold(encoding, "identity")
	o.enough = o.lost || failed
	kind, _, _ := strings.Cut(strings.ToLower(header.Get("Content-Type")), ";")
	switch strings.TrimSpace(kind) {
	case "text/event-stream":
		x.call.Stream = true
	case "application/json":
	default:
		o.unsure = true
	}
}

func (o *Observation) Piece(b []byte, at time.Time) {
	x := o.x
	if x == nil || len(b) == 0 || x.resp == nil {
		return
	}
	o.note(at)
	x.lastArrival = max(x.lastArrival, o.latest)
	if o.enough {
		return
	}
	if o.unsure {
		text := bytes.TrimSpace(b)
		if len(text) == 0 {
			return
		}
		x.call.Stream, o.unsure = text[0] != '{' && text[0] != '[', false
	}
	o.enough = x.onBody(b, arrival{at: x.lastArrival}) || x.concluded
	if !o.charge() {
		x.protocolErr = errBudget
	}
	if beyond(x.protocolErr) {
		o.Drop()
	}
}

func (o *Observation) charge() bool {
	r := o.x.result
	const empty = 40 // bytes of an emptyEvent
	n := counted(8*cap(r.Gaps)) + counted(8*cap(r.TokensPerEvent)) + counted(empty*cap(o.x.empties))
	if n == o.charged || !o.x.client.buffers.take(n-o.charged) {
		return n == o.charged
	}
	o.charged = n
	return true
}

// Drop gives up on an answer that is not measured, so that it takes no memory; End reports it.
func (o *Observation) Drop() {
	if o.x == nil {
		return
	}
	x, r := o.x, o.x.result
	r.Gaps, r.TokensPerEvent, x.empties = nil, nil, nil
	x.scanner.reset()
	x.body = x.client.buffers.reuse(x.body)
	o.lost, o.enough = true, true
}

func beyond(err error) bool {
	for _, bound := range []error{errTooLong, errBudget, errManyEvents, errEmpties} {
		if errors.Is(err, bound) {
			return true
		}
	}
	return false
}

// End ends the exchange, with io.EOF or nil for an orderly end, and fills the result. ErrCallerLeft: outcome Left,
// unless the answer was complete; a cancelled context: Cancelled. Not measured: the answer is encoded or beyond a
// bound, so that the result has nothing but its status and times. An answer in one piece is decoded here, which takes
// 20 ms for a megabyte.
func (o *Observation) End(err error, at time.Time) (measured bool) {
	x := o.x
	if x == nil {
		return false
	}
	o.note(at)
	if !o.lost {
		x.conclude(err)
		o.lost = beyond(x.protocolErr)
	}
	if o.lost {
		x.result.Outcome, x.result.Finish = "", ""
		x.setEnd()
		x.setFree()
	}
	x.client.buffers.take(-o.charged)
	if o.charged > 0 {
		x.empties = nil
	}
	c := x.client
	x.release()
	c.exchanges.Put(x)
	o.x = nil
	return !o.lost
}

func (o *Observation) interrupted(err error) bool {
	x := o.x
	switch {
	case errors.Is(err, ErrUnfinished):
		x.fail(Unfinished, "")
	case errors.Is(err, ErrCallerLeft) && x.result.Finish != "":
		x.succeed()
	case errors.Is(err, ErrCallerLeft):
		x.leave()
	case errors.Is(err, context.Canceled):
		x.fail(Cancelled, "")
	default:
		return false
	}
	return true
}

package openai

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// Do sends the request, once, and blocks until it has ended. It overwrites r, reusing its slices.
func (c *Client) Do(ctx context.Context, call *Call, r *Result) { c.Start(ctx, call, r)() }

// Start is the part of Do that does not wait: if a connection is idle, it writes as much of the request as
// the kernel takes. The caller must call finish, which does the rest, on any goroutine. So a dispatcher can
// write a request on time itself, and leave the answer to another goroutine.
func (c *Client) Start(ctx context.Context, call *Call, r *Result) (finish func()) {
	r.Reset()
	x := c.exchanges.Get().(*exchange)
	x.prepare(c, call, r)
	x.callerCtx = ctx
	x.ctx, x.cancel = limited(ctx, c.timeout, call.LeaveAfter)
	if !c.viaTransport && c.tls == nil && x.reusable() {
		x.writeIdle()
	}
	return x.finish
}

var errLeft = errors.New("the user left")

// limited is ctx with the request's time limit, or until its user leaves; 0: the user stays.
func limited(ctx context.Context, timeout, leave time.Duration) (context.Context, context.CancelFunc) {
	if leave > 0 && leave < timeout {
		return context.WithTimeoutCause(ctx, leave, errLeft)
	}
	return context.WithTimeout(ctx, timeout)
}

func (x *exchange) finish() {
	defer func(c *Client, cancel context.CancelFunc) {
		cancel()
		x.release()
		c.exchanges.Put(x)
	}(x.client, x.cancel)
	if x.client.viaTransport {
		x.runTransport()
	} else {
		x.runConn()
	}
}

// exchange is one request in flight. Exchanges are pooled with their buffers.
type exchange struct {
	client    *Client
	call      Call
	result    *Result
	callerCtx context.Context
	ctx       context.Context // callerCtx with the request's time limit
	cancel    context.CancelFunc
	epoch     time.Duration // since the clock's base
	began     time.Duration // since the clock's base
	conn      *conn         // nil: none yet, or the transport's

	unsent       unsent
	head         []byte // of the response, while it is incomplete
	headBytes    int    // so far, with those of interim responses
	interim      int    // 1xx responses so far
	resp         *http.Response
	framing      framing
	lastArrival  time.Duration // since the clock's base
	received     bool          // at least one byte of the response
	bodyComplete bool          // and nothing came behind it
	draining     bool          // only drainTimeout is left for what follows [DONE]
	drainedBytes int           // bytes behind [DONE]
	protocolErr  error         // the response is malformed

	scanner scanner
	walker  walker
	empties []emptyEvent // events of the answer without text and token ids
	body    []byte       // of an answer in one piece, or of an error status
	bodyAt  arrival      // of the last byte

	concluded    bool // the result has its outcome
	sawDone      bool // [DONE] came
	tokens       int  // counted from events
	usageSeen    bool // OutputTokens is the server's usage
	prompt       promptUsage
	runningUsage bool // usage comes with the token-bearing events
	sides        sides

	observed *Observation // the exchange is another's: it passes through a proxy; nil: the client's own
}

func (x *exchange) prepare(c *Client, call *Call, r *Result) {
	epoch := call.Epoch
	if epoch.IsZero() {
		epoch = time.Now()
	}
	x.client, x.call, x.result = c, *call, r
	x.scanner.budget, x.walker.api = &c.buffers, c.api
	x.epoch, x.began = epoch.Sub(c.clock.base), time.Since(c.clock.base)
}

func (x *exchange) release() {
	x.scanner.reset()
	x.body = x.client.buffers.reuse(x.body)
	x.unsent.drop()
	if cap(x.head) > maxKeptBuffer {
		x.head = nil
	}
	x.walker.clear()
	*x = exchange{
		head: x.head[:0], scanner: x.scanner, walker: x.walker, empties: x.empties[:0], body: x.body[:0],
	}
}

func (x *exchange) sinceEpoch(at time.Duration) time.Duration { return at - x.epoch }

func (x *exchange) now() time.Duration {
	if x.observed != nil {
		return x.sinceEpoch(x.observed.latest)
	}
	return x.sinceEpoch(time.Since(x.client.clock.base))
}

func (x *exchange) reusable() bool { return !x.client.noReuse.Load() && !x.call.Fresh }

func (x *exchange) writeIdle() {
	if conn := x.client.getIdle(); conn != nil {
		x.attach(conn)
		for b, more := x.unsent.piece(); len(b) > 0; b, more = x.unsent.piece() {
			n := conn.rx.tryWrite(b, more)
			x.markSent(n)
			if n < len(b) {
				return
			}
		}
	}
}

func (x *exchange) attach(conn *conn) {
	x.conn = conn
	r := x.result
	r.Reused = conn.prepared || conn.used
	if r.Connect = conn.setup.total(); r.Reused {
		r.Connect = 0
	} else {
		r.Setup = conn.setup
	}
	x.unsent.fill(&x.client.template, &x.call, x.reusable())
	x.call.Body = nil // many requests can be in flight, and the server has their bodies
}

func (x *exchange) runConn() {
	if x.conn == nil {
		before := time.Now()
		conn, err := x.client.getConn(x.ctx, x.call.Fresh)
		if err != nil {
			x.conclude(err)
			return
		}
		x.attach(conn)
		x.result.Connect = min(x.result.Connect, time.Since(before)) // another request may have begun to open it
	}
	conn := x.conn
	uninterrupted := context.AfterFunc(x.ctx, conn.interrupt)
	x.conclude(x.roundTrip())
	if uninterrupted() && x.reusable() && x.bodyComplete && !x.resp.Close {
		if x.draining {
			_ = conn.SetReadDeadline(time.Time{})
		}
		conn.used, conn.prepared = true, false
		x.client.idle.put(conn)
		return
	}
	conn.Close()
}

func (x *exchange) markSent(n int) {
	if n > 0 {
		x.unsent.take(n)
		x.result.Sent = x.sinceEpoch(x.conn.rx.lastWrite.Sub(x.client.clock.base))
	}
}

// roundTrip writes the rest and reads the answer. A server may answer and close before it has read all.
func (x *exchange) roundTrip() error {
	conn := x.conn
	var writeErr error
	for b, _ := x.unsent.piece(); len(b) > 0 && writeErr == nil; b, _ = x.unsent.piece() {
		var n int
		n, writeErr = conn.Write(b)
		x.markSent(n)
	}
	err := conn.readLoop(x.onData)
	if writeErr != nil && !x.received {
		return writeErr
	}
	return err
}

// onData handles a piece of the response, whose read returned at read; done when no more is expected.
func (x *exchange) onData(b []byte, read time.Time) (done bool) {
	x.received = true
	a := x.arrival(read)
	if x.resp == nil {
		if b = x.onHeader(b); x.resp == nil {
			return x.protocolErr != nil
		}
	}
	for {
		piece, rest, err := x.framing.next(b)
		if err != nil {
			x.protocolErr = err
			return true
		}
		if x.onBody(piece, a) {
			return true
		}
		if b = rest; len(piece) == 0 {
			break
		}
	}
	if x.framing.state == atEnd {
		x.bodyComplete = len(b) == 0
		return true
	}
	x.startDrain()
	return false
}

// arrival is when bytes arrived whose read returned at read: by the kernel's stamp if clock trusts it.
func (x *exchange) arrival(read time.Time) arrival {
	clock := x.client.clock
	now := read.Sub(clock.base)
	a := arrival{at: now}
	if stamp := x.conn.rx.stamp; stamp != 0 {
		if at, ok := clock.toMonotonic(stamp, read, x.began); ok {
			a = arrival{at: at, lag: now - at, kernel: true}
		}
	}
	if a.at < x.lastArrival { // arrivals never go back
		a.at, a.lag = x.lastArrival, now-x.lastArrival
	}
	x.lastArrival = a.at
	return a
}

func (x *exchange) onBody(b []byte, a arrival) (enough bool) {
	switch {
	case len(b) == 0:
		return false
	case x.concluded: // drain what follows [DONE], so that the connection can be reused
		x.drainedBytes += len(b)
		return x.drainedBytes > drainBytes
	case x.resp.StatusCode < 200 || x.resp.StatusCode > 299:
		x.addBody(b[:min(len(b), maxErrorBody-len(x.body))])
		return len(x.body) == maxErrorBody
	case x.call.Stream:
		return x.onStream(b, a)
	}
	x.bodyAt = a
	x.addBody(b)
	return x.protocolErr != nil
}

func (x *exchange) addBody(b []byte) {
	if x.body, x.protocolErr = x.client.buffers.append(x.body, b); len(x.body) > maxEvent {
		x.protocolErr = errTooLong
	}
}

// startDrain limits the time for what follows [DONE]. The end of a chunked body often comes in a packet of
// its own, and closing the connection before it would lose the connection.
func (x *exchange) startDrain() {
	if x.concluded && !x.draining {
		x.draining = true
		_ = x.conn.SetReadDeadline(time.Now().Add(drainTimeout)) // on a closed connection, reads fail anyway
	}
}

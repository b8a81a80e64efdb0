package openai

import (
	"context"
	"net/http"
	"time"
)

// Do sends the request and blocks until it is over; r is filled anew, reusing its slices. It never sends a request
// again.
func (c *Client) Do(ctx context.Context, call *Call, r *Result) { c.Start(ctx, call, r)() }

// Start does what can be done of Do without waiting: where a connection is ready, it writes as much of the request as the kernel
// takes. The function that it returns does the rest, on any goroutine, and has to be called. So who has to be on time can
// write a request itself, and leave the answer to another.
func (c *Client) Start(ctx context.Context, call *Call, r *Result) (finish func()) {
	r.reset()
	x := c.exchanges.Get().(*exchange)
	x.prepare(c, call, r)
	x.callerCtx = ctx
	x.ctx, x.cancel = context.WithTimeout(ctx, c.timeout)
	if !c.viaTransport && c.tls == nil && x.reusable() {
		x.writeIdle()
	}
	return x.finish
}

// finish does what is left of the exchange.
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

// exchange is one request under way. It is used again for later ones, with its buffers.
type exchange struct {
	client    *Client
	call      *Call
	result    *Result
	callerCtx context.Context // as it was given
	ctx       context.Context // with the request's time limit
	cancel    context.CancelFunc
	epoch     time.Duration // since the clock's base
	began     time.Duration // since the clock's base
	conn      *conn         // nil: none yet, or the transport's

	request      []byte
	written      int    // bytes of it that the kernel has
	head         []byte // of the response, until it is whole
	resp         *http.Response
	framing      framing
	lastArrival  time.Duration // the latest arrival, since the clock's base
	received     bool          // some byte of an answer came
	bodyComplete bool          // the body is whole, and nothing came behind it
	draining     bool          // what follows [DONE] has little time
	drainedBytes int           // bytes that came behind [DONE]
	readErr      error         // why what came is no HTTP answer

	scanner scanner
	walker  walker
	body    []byte  // of an answer in one piece, or of a refusal
	bodyAt  arrival // of its last byte

	concluded    bool // the result has its outcome
	sawDone      bool // [DONE] came
	tokens       int  // by events
	usageSeen    bool // by usage
	runningUsage bool // usage comes with the token-bearing events
}

func (x *exchange) prepare(c *Client, call *Call, r *Result) {
	epoch := call.Epoch
	if epoch.IsZero() {
		epoch = time.Now()
	}
	x.client, x.call, x.result = c, call, r
	x.epoch, x.began = epoch.Sub(c.clock.base), time.Since(c.clock.base)
}

// forget drops all but the buffers.
func (x *exchange) release() {
	x.scanner.reset()
	if cap(x.body) > maxKeptBuffer {
		x.body = nil
	}
	if cap(x.request) > maxKeptBuffer {
		x.request = nil
	}
	x.walker.clear()
	*x = exchange{request: x.request[:0], head: x.head[:0], scanner: x.scanner, walker: x.walker, body: x.body[:0]}
}

// since turns a time since the clock's base into one since the call's epoch.
func (x *exchange) sinceEpoch(at time.Duration) time.Duration { return at - x.epoch }

func (x *exchange) now() time.Duration { return x.sinceEpoch(time.Since(x.client.clock.base)) }

// keeps says that the exchange uses a connection that others have used, and leaves it to others.
func (x *exchange) reusable() bool { return !x.client.noReuse.Load() && !x.call.Fresh }

// early writes as much of the request as goes at once, if a connection is ready.
func (x *exchange) writeIdle() {
	if conn := x.client.getIdle(); conn != nil {
		x.attach(conn)
		x.markSent(conn.rx.tryWrite(x.request))
	}
}

// use makes conn the exchange's.
func (x *exchange) attach(conn *conn) {
	x.conn = conn
	r := x.result
	r.Reused = conn.prepared || conn.used
	if r.Connect = conn.setup.Total(); r.Reused {
		r.Connect = 0
	} else {
		r.Setup = conn.setup
	}
	x.request = append(x.client.template.head(x.request[:0], x.call, x.reusable()), x.call.Body...)
}

// converse sends the request over a connection of the client's own, and reads the answer.
func (x *exchange) runConn() {
	if x.conn == nil {
		conn, err := x.client.getConn(x.ctx, x.call.Fresh)
		if err != nil {
			x.conclude(err)
			return
		}
		x.attach(conn)
	}
	conn := x.conn
	uninterrupted := context.AfterFunc(x.ctx, conn.interrupt)
	x.conclude(x.roundTrip())
	if uninterrupted() && x.reusable() && x.bodyComplete && !x.resp.Close {
		if x.draining {
			_ = conn.SetReadDeadline(time.Time{})
		}
		conn.used, conn.prepared = true, false
		x.client.putIdle(conn)
		return
	}
	conn.Close()
}

// sent notes that n more bytes of the request have been handed over.
func (x *exchange) markSent(n int) {
	if n > 0 {
		x.written += n
		x.result.Sent = x.sinceEpoch(x.conn.rx.lastWrite.Sub(x.client.clock.base))
	}
}

// talk writes what is left of the request and reads the answer. A server may answer, and hang up, before it has read everything.
func (x *exchange) roundTrip() error {
	conn := x.conn
	var writeErr error
	if x.written < len(x.request) {
		var n int
		n, writeErr = conn.Write(x.request[x.written:])
		x.markSent(n)
	}
	err := conn.readLoop(x.onData)
	if writeErr != nil && !x.received {
		return writeErr
	}
	return err
}

// take looks at a piece of the response, which was read at read; it is over when nothing more is to come.
func (x *exchange) onData(b []byte, read time.Time) (over bool) {
	x.received = true
	a := x.arrival(read)
	if x.resp == nil {
		if b = x.onHeader(b); x.resp == nil {
			return x.readErr != nil
		}
	}
	for {
		piece, rest, err := x.framing.next(b)
		if err != nil {
			x.readErr = err
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

// arrival is when the bytes that were read at read came: by the kernel's stamp where there is one that can be believed.
func (x *exchange) arrival(read time.Time) arrival {
	clock := x.client.clock
	now := read.Sub(clock.base)
	a := arrival{at: now}
	if stamp := x.conn.rx.stamp; stamp != 0 {
		if at, ok := clock.toMonotonic(stamp, read, x.began); ok {
			a = arrival{at: at, lag: now - at, kernel: true}
		}
	}
	if a.at < x.lastArrival { // no byte comes before the one ahead of it
		a.at, a.lag = x.lastArrival, now-x.lastArrival
	}
	x.lastArrival = a.at
	return a
}

// piece takes the next bytes of the body; it is true when no more are wanted.
func (x *exchange) onBody(b []byte, a arrival) (enough bool) {
	switch {
	case len(b) == 0:
		return false
	case x.concluded: // behind [DONE]; a connection is worth reading a little more
		x.drainedBytes += len(b)
		return x.drainedBytes > drainBytes
	case x.resp.StatusCode < 200 || x.resp.StatusCode > 299:
		x.body = append(x.body, b[:min(len(b), maxErrorBody-len(x.body))]...)
		return len(x.body) == maxErrorBody
	case x.call.Stream:
		return x.onStream(b, a)
	}
	x.body, x.bodyAt = append(x.body, b...), a
	if len(x.body) > maxEvent {
		x.readErr = errTooLong
	}
	return x.readErr != nil
}

// drain gives what follows [DONE] a little while to come: the end of a chunked body often comes in a packet of its own,
// and a connection that is closed before it is lost.
func (x *exchange) startDrain() {
	if x.concluded && !x.draining {
		x.draining = true
		_ = x.conn.SetReadDeadline(time.Now().Add(drainTimeout)) // on one that is closed, reads fail anyway
	}
}

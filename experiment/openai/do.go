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
	x.begin(c, call, r)
	x.caller = ctx
	x.ctx, x.cancel = context.WithTimeout(ctx, c.timeout)
	if !c.relayed && c.tls == nil && x.keeps() {
		x.early()
	}
	return x.finish
}

// finish does what is left of the exchange.
func (x *exchange) finish() {
	defer func(c *Client, cancel context.CancelFunc) {
		cancel()
		x.forget()
		c.exchanges.Put(x)
	}(x.client, x.cancel)
	if x.client.relayed {
		x.relay()
	} else {
		x.converse()
	}
}

// exchange is one request under way. It is used again for later ones, with its buffers.
type exchange struct {
	client *Client
	call   *Call
	result *Result
	caller context.Context // as it was given
	ctx    context.Context // with the request's time limit
	cancel context.CancelFunc
	epoch  time.Duration // since the clock's base
	began  time.Duration // since the clock's base
	conn   *conn         // nil: none yet, or the transport's

	request  []byte
	written  int    // bytes of it that the kernel has
	head     []byte // of the response, until it is whole
	resp     *http.Response
	frames   framing
	last     time.Duration // the latest arrival, since the clock's base
	received bool          // some byte of an answer came
	ended    bool          // the body is whole, and nothing came behind it
	draining bool          // what follows [DONE] has little time
	drained  int           // bytes that came behind [DONE]
	broken   error         // why what came is no HTTP answer

	scan   scanner
	walk   walker
	body   []byte  // of an answer in one piece, or of a refusal
	bodyAt arrival // of its last byte

	judged  bool // the result has its outcome
	done    bool // [DONE] came
	tokens  int  // by events
	counted bool // by usage
	running bool // usage comes with the token-bearing events
}

func (x *exchange) begin(c *Client, call *Call, r *Result) {
	epoch := call.Epoch
	if epoch.IsZero() {
		epoch = time.Now()
	}
	x.client, x.call, x.result = c, call, r
	x.epoch, x.began = epoch.Sub(c.clock.base), time.Since(c.clock.base)
}

// forget drops all but the buffers.
func (x *exchange) forget() {
	x.scan.reset()
	if cap(x.body) > keepBuffer {
		x.body = nil
	}
	if cap(x.request) > keepBuffer {
		x.request = nil
	}
	x.walk.forget()
	*x = exchange{request: x.request[:0], head: x.head[:0], scan: x.scan, walk: x.walk, body: x.body[:0]}
}

// since turns a time since the clock's base into one since the call's epoch.
func (x *exchange) since(at time.Duration) time.Duration { return at - x.epoch }

func (x *exchange) now() time.Duration { return x.since(time.Since(x.client.clock.base)) }

// keeps says that the exchange uses a connection that others have used, and leaves it to others.
func (x *exchange) keeps() bool { return !x.client.fresh.Load() && !x.call.Fresh }

// early writes as much of the request as goes at once, if a connection is ready.
func (x *exchange) early() {
	if conn := x.client.idle(); conn != nil {
		x.use(conn)
		x.sent(conn.rx.start(x.request))
	}
}

// use makes conn the exchange's.
func (x *exchange) use(conn *conn) {
	x.conn = conn
	r := x.result
	r.Reused = conn.prepared || conn.used
	if r.Connect = conn.setup.Total(); r.Reused {
		r.Connect = 0
	} else {
		r.Setup = conn.setup
	}
	x.request = append(x.client.template.head(x.request[:0], x.call, x.keeps()), x.call.Body...)
}

// converse sends the request over a connection of the client's own, and reads the answer.
func (x *exchange) converse() {
	if x.conn == nil {
		conn, err := x.client.connect(x.ctx, x.call.Fresh)
		if err != nil {
			x.conclude(err)
			return
		}
		x.use(conn)
	}
	conn := x.conn
	uninterrupted := context.AfterFunc(x.ctx, conn.interrupt)
	x.conclude(x.talk())
	if uninterrupted() && x.keeps() && x.ended && !x.resp.Close {
		if x.draining {
			_ = conn.SetReadDeadline(time.Time{})
		}
		conn.used, conn.prepared = true, false
		x.client.keep(conn)
		return
	}
	conn.Close()
}

// sent notes that n more bytes of the request have been handed over.
func (x *exchange) sent(n int) {
	if n > 0 {
		x.written += n
		x.result.Sent = x.since(x.conn.rx.wrote.Sub(x.client.clock.base))
	}
}

// talk writes what is left of the request and reads the answer. A server may answer, and hang up, before it has read everything.
func (x *exchange) talk() error {
	conn := x.conn
	var writeErr error
	if x.written < len(x.request) {
		var n int
		n, writeErr = conn.Write(x.request[x.written:])
		x.sent(n)
	}
	err := conn.each(x.take)
	if writeErr != nil && !x.received {
		return writeErr
	}
	return err
}

// take looks at a piece of the response, which was read at read; it is over when nothing more is to come.
func (x *exchange) take(b []byte, read time.Time) (over bool) {
	x.received = true
	a := x.arrival(read)
	if x.resp == nil {
		if b = x.header(b); x.resp == nil {
			return x.broken != nil
		}
	}
	for {
		piece, rest, err := x.frames.next(b)
		if err != nil {
			x.broken = err
			return true
		}
		if x.piece(piece, a) {
			return true
		}
		if b = rest; len(piece) == 0 {
			break
		}
	}
	if x.frames.state == atEnd {
		x.ended = len(b) == 0
		return true
	}
	x.drain()
	return false
}

// arrival is when the bytes that were read at read came: by the kernel's stamp where there is one that can be believed.
func (x *exchange) arrival(read time.Time) arrival {
	clock := x.client.clock
	now := read.Sub(clock.base)
	a := arrival{at: now}
	if stamp := x.conn.rx.stamp; stamp != 0 {
		if at, ok := clock.place(stamp, read, x.began); ok {
			a = arrival{at: at, lag: now - at, kernel: true}
		}
	}
	if a.at < x.last { // no byte comes before the one ahead of it
		a.at, a.lag = x.last, now-x.last
	}
	x.last = a.at
	return a
}

// piece takes the next bytes of the body; it is true when no more are wanted.
func (x *exchange) piece(b []byte, a arrival) (enough bool) {
	switch {
	case len(b) == 0:
		return false
	case x.judged: // behind [DONE]; a connection is worth reading a little more
		x.drained += len(b)
		return x.drained > drainBytes
	case x.resp.StatusCode < 200 || x.resp.StatusCode > 299:
		x.body = append(x.body, b[:min(len(b), maxRefusal-len(x.body))]...)
		return len(x.body) == maxRefusal
	case x.call.Stream:
		return x.events(b, a)
	}
	x.body, x.bodyAt = append(x.body, b...), a
	if len(x.body) > maxEvent {
		x.broken = errTooLong
	}
	return x.broken != nil
}

// drain gives what follows [DONE] a little while to come: the end of a chunked body often comes in a packet of its own,
// and a connection that is closed before it is lost.
func (x *exchange) drain() {
	if x.judged && !x.draining {
		x.draining = true
		_ = x.conn.SetReadDeadline(time.Now().Add(drainFor)) // on one that is closed, reads fail anyway
	}
}

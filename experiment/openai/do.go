package openai

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"

	sdk "github.com/sashabaranov/go-openai"
)

// Do sends the request and blocks until it is over; r is filled anew, reusing its slices. It never retries a request of
// which a byte was handed to the kernel.
func (c *Client) Do(ctx context.Context, call *Call, r *Result) {
	r.reset()
	x := c.exchanges.Get().(*exchange)
	defer c.exchanges.Put(x)
	x.begin(c, call, r)
	defer x.forget()
	x.caller = ctx
	ctx, x.cancel = context.WithTimeout(ctx, c.timeout)
	defer x.cancel()
	x.ctx = ctx
	err := x.send()
	x.facts()
	switch {
	case x.resp == nil:
		x.lost(err)
	case r.Status < 200 || r.Status > 299:
		x.refused(err)
	case call.Stream:
		x.stream()
	default:
		x.document()
	}
	x.close()
}

// exchange is one request under way. It is used again for later ones, with its buffers.
type exchange struct {
	client  *Client
	call    *Call
	result  *Result
	caller  context.Context // as it was given
	ctx     context.Context // with the request's time limit
	cancel  context.CancelFunc
	epoch   time.Duration // since the clock's base
	payload *payload
	conn    *conn
	resp    *http.Response
	scan    scanner
	walk    walker

	done    bool // [DONE] came
	ended   bool // the body is read to its end
	tokens  int  // by events
	counted bool // by usage
	running bool // usage comes with the token-bearing events
}

func (x *exchange) begin(c *Client, call *Call, r *Result) {
	epoch := call.Epoch
	if epoch.IsZero() {
		epoch = time.Now()
	}
	*x = exchange{client: c, call: call, result: r, epoch: epoch.Sub(c.clock.base), payload: &payload{rest: call.Body},
		scan: x.scan, walk: x.walk}
}

// forget drops what belongs to the caller; a write that net/http has not given up yet finds no body any more.
func (x *exchange) forget() {
	x.payload.drop()
	x.scan.r = nil
	*x = exchange{scan: x.scan, walk: x.walk}
}

// since turns a time since the clock's base into one since the call's epoch.
func (x *exchange) since(at time.Duration) time.Duration { return at - x.epoch }

func (x *exchange) now() time.Duration { return x.since(time.Since(x.client.clock.base)) }

type exchangeKey struct{}

// send has go-openai make the request around a stub. Its stream reader is left unused.
func (x *exchange) send() error {
	ctx := context.WithValue(x.ctx, exchangeKey{}, x)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: x.gotConn})
	if x.client.api == Chat {
		_, err := x.client.sdk.CreateChatCompletionStream(ctx, sdk.ChatCompletionRequest{})
		return err
	}
	_, err := x.client.sdk.CreateCompletionStream(ctx, sdk.CompletionRequest{Prompt: ""})
	return err
}

func (x *exchange) gotConn(info httptrace.GotConnInfo) {
	conn, ok := info.Conn.(*conn)
	if !ok { // the transport has no other kind
		return
	}
	x.conn = conn
	conn.begin()
	x.result.Reused = info.Reused || conn.prepared
	x.result.Connect = conn.setup
	if x.result.Reused {
		x.result.Connect = 0
	}
}

// facts notes what the connection and the response's head say.
func (x *exchange) facts() {
	if x.conn != nil {
		if sent, _ := x.conn.marks(); sent != Never {
			x.result.Sent = x.since(sent)
		}
	}
	if x.resp != nil {
		x.result.Status = x.resp.StatusCode
		x.result.Header = x.client.secrets.hideHeader(x.resp.Header)
	}
}

// close leaves the connection fit for the next request where that takes little: the end of a chunked body often comes
// in a packet of its own, and a connection that is closed before it is lost.
func (x *exchange) close() {
	if x.resp == nil {
		return
	}
	if !x.ended && (x.done || x.result.Outcome == Status) {
		timer := time.AfterFunc(drainFor, x.cancel)
		_, _ = io.Copy(io.Discard, io.LimitReader(x.resp.Body, drainBytes))
		timer.Stop()
	}
	x.resp.Body.Close()
}

// doer puts the exact body into go-openai's requests and sends them.
type doer struct{ c *Client }

var errNoRetry = errors.New("the request was sent already")

func (d doer) Do(req *http.Request) (*http.Response, error) {
	x, ok := req.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		return nil, errors.New("a request from outside Do")
	}
	d.c.dress(req)
	if x.call.RequestID != "" {
		req.Header.Set("X-Request-Id", x.call.RequestID)
	}
	if !x.call.Stream {
		req.Header.Set("Accept", "application/json")
	}
	req.Close = d.c.fresh.Load()
	req.Body, req.ContentLength = x.payload, int64(len(x.call.Body))
	req.GetBody = func() (io.ReadCloser, error) { // net/http may use another connection only where nothing was sent
		if sent, _ := x.conn.marks(); sent != Never {
			return nil, errNoRetry
		}
		x.payload.drop()
		x.payload = &payload{rest: x.call.Body}
		return x.payload, nil
	}
	resp, err := d.c.transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	x.resp = resp
	if resp.StatusCode >= 400 || resp.StatusCode < 200 { // go-openai reads it whole
		shown := *resp
		shown.Body = io.NopCloser(io.LimitReader(untilBroken{resp.Body}, 64<<10))
		return &shown, nil
	}
	return resp, nil
}

// untilBroken ends where its reader fails: half of an error's text is better than none.
type untilBroken struct{ r io.Reader }

func (u untilBroken) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	if err != nil {
		err = io.EOF
	}
	return n, err
}

// dress sets the headers that every request has.
func (c *Client) dress(req *http.Request) {
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	} else if c.user != nil {
		password, _ := c.user.Password()
		req.SetBasicAuth(c.user.Username(), password)
	}
	for name, value := range c.headers {
		if http.CanonicalHeaderKey(name) == "Host" {
			req.Host = value
			continue
		}
		req.Header.Set(name, value)
	}
}

// payload is a request's body. It can be dropped while net/http still writes it: after a failure, net/http may read on
// for a moment, when the caller uses the bytes for something else.
type payload struct {
	mu   sync.Mutex
	rest []byte
}

func (p *payload) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

func (p *payload) Close() error { return nil }

func (p *payload) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rest = nil
}

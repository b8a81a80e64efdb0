package openai

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// runTransport sends over net/http's transport, for proxies and HTTP/2: arrivals are when a read returned.
func (x *exchange) runTransport() {
	ctx, cancel := context.WithCancel(x.ctx)
	defer cancel()
	var t transportTrace
	resp, err := x.client.transport.RoundTrip(x.client.template.http(t.attach(ctx, x.client.clock.base), &x.call))
	x.applyTrace(&t)
	if err == nil {
		err = x.readTransport(resp, cancel)
	}
	x.conclude(err)
}

func (x *exchange) readTransport(resp *http.Response, cancel func()) error {
	defer resp.Body.Close()
	x.received = true
	x.client.secrets.hideHeader(resp.Header)
	x.onResponse(resp)
	return readLoop(resp.Body, func(b []byte, read time.Time) bool {
		x.lastArrival = read.Sub(x.client.clock.base)
		enough := x.onBody(b, arrival{at: x.lastArrival})
		if x.concluded && !x.draining {
			x.draining = true
			time.AfterFunc(drainTimeout, cancel)
		}
		return enough
	})
}

// transportTrace is what net/http reports, from goroutines of its own. Times are since the clock's base.
type transportTrace struct {
	wanted, got, wrote atomic.Int64
	reused             atomic.Bool
}

func (t *transportTrace) attach(ctx context.Context, base time.Time) context.Context {
	mark := func(to *atomic.Int64) { to.Store(int64(time.Since(base))) }
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { mark(&t.wanted) },
		GotConn: func(info httptrace.GotConnInfo) {
			mark(&t.got)
			t.reused.Store(info.Reused)
		},
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				mark(&t.wrote)
			}
		},
	})
}

func (x *exchange) applyTrace(t *transportTrace) {
	r := x.result
	if wrote := t.wrote.Load(); wrote != 0 {
		r.Sent = x.sinceEpoch(time.Duration(wrote))
	}
	if got := t.got.Load(); got != 0 {
		if r.Reused, r.Connect = t.reused.Load(), 0; !r.Reused {
			r.Connect = time.Duration(got - t.wanted.Load())
		}
	}
}

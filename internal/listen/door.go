// Package listen is the one way in which bench answers on the network. A Door serves a handler with the same limits for
// all: of a header's time and size, of a body's progress, of connections, and of what pages of other sites may ask.
package listen

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"
)

// Door serves a handler on one listener. Set its fields before Serve.
type Door struct {
	Handler        http.Handler  // one that hijacks a connection has read the body, or closes the connection
	TLS            *tls.Config   // nil = without TLS
	HTTP2          bool          // HTTP/2 too, without TLS by prior knowledge
	MaxConnections int           // 0 = 1,000; at most half of the files that the process may open; -1 = all but 64
	BodyTimeout    time.Duration // without a byte of a body that is read; 0 = one minute
	Drain          time.Duration // how long open answers may take after the end; 0 = they are cut at once
	Cut            func()        // called before open answers are cut; nil = nothing

	// Traffic lets all requests pass, for any host and from any site: those of a load. A gateway before the listener
	// keeps the Host of its callers. Without Traffic the handler is behind Protect, and a caller that takes no bytes
	// for 30 s is gone.
	Traffic bool
	// ConnContext is that of http.Server; nil = none.
	ConnContext func(ctx context.Context, c net.Conn) context.Context

	gate gate
}

const (
	headerTimeout = 10 * time.Second // from the first byte of a header, or from the connection's start, to its end
	idleTimeout   = 3 * time.Minute  // between the requests of a connection
	maxHeader     = 256 << 10        // bytes: a URL that selects a thousand runs fits
	maxStreams    = 1000             // of an HTTP/2 connection

	defaultConnections = 1000
	spareFiles         = 64 // for all but connections
)

// Waited is how often a connection came when their limit was reached.
func (d *Door) Waited() int { return int(d.gate.waited.Load()) }

// Serve answers on a listener until ctx is done, then waits for the open answers, up to Drain, and cuts the others. It
// closes the listener, and returns when every connection and handler has ended.
func (d *Door) Serve(ctx context.Context, l net.Listener) error {
	base, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	d.gate.open(l, d.MaxConnections)
	server := d.server(base)
	ended := make(chan error, 1)
	go func() {
		if d.TLS != nil {
			ended <- server.ServeTLS(&d.gate, "", "")
			return
		}
		ended <- server.Serve(&d.gate)
	}()
	var failed error
	select {
	case failed = <-ended:
	case <-ctx.Done():
		patience, cancel := context.WithTimeout(base, d.Drain)
		err := server.Shutdown(patience)
		cancel()
		if err != nil && d.Cut != nil {
			d.Cut()
		}
	}
	cut()
	_ = server.Close()
	if failed == nil {
		failed = <-ended
	}
	d.gate.wait()
	if errors.Is(failed, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serving: %w", failed)
}

func (d *Door) server(base context.Context) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(d.HTTP2)
	protocols.SetUnencryptedHTTP2(d.HTTP2)
	handler := d.Handler
	if !d.Traffic {
		handler = Protect(handler)
	}
	return &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			d.gate.running.Add(1)
			defer d.gate.end()
			if !d.Traffic {
				taken := &writer{ResponseWriter: w}
				defer taken.extend() // net/http sends the rest
				w = taken
			}
			d.timed(handler, w, r)
		}),
		TLSConfig: d.TLS, Protocols: &protocols,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog:    log.New(io.Discard, "", 0), // its lines have addresses, and what strangers send
		BaseContext: func(net.Listener) context.Context { return base },
		ConnState:   d.gate.follow,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			ctx = context.WithValue(ctx, connection{}, c)
			if d.ConnContext != nil {
				ctx = d.ConnContext(ctx, c)
			}
			return ctx
		},
	}
}

// Start serves in the background until stop, which cuts the connections and waits for the end.
func (d *Door) Start(l net.Listener) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = d.Serve(ctx, l) // whoever asks sees its end
	}()
	return func() {
		cancel()
		<-done
	}
}

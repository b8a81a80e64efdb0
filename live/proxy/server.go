package proxy

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"bench/internal/listen"
)

type Server struct {
	Proxy          *Proxy
	TLS            *tls.Config   // nil = without TLS
	MaxConnections int           // more wait until one ends; 0 = the default of package listen
	Drain          time.Duration // how long open answers may take after the end; 0 = they are cut at once

	Page       func() []byte // the page of the administration, HTML; nil = none
	PagePolicy string        // its Content-Security-Policy
	Unrecorded func() int    // exchanges that Done could not store; nil = none

	draining atomic.Bool
	reach    reach
	shown    struct {
		mu   sync.Mutex
		made time.Time
		took time.Duration
		text []byte
	}
	door listen.Door // of the traffic
}

func (s *Server) Draining() bool { return s.draining.Load() }

// Serve serves until ctx is done, then waits for the open answers, up to Drain, and cuts the others. Connections are
// HTTP/1.1, and HTTP/2 with TLS or by prior knowledge.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	d := &s.door // whose Waited may be read at any time
	d.Handler, d.TLS, d.HTTP2, d.MaxConnections, d.Traffic = s.Proxy, s.TLS, true, s.MaxConnections, true
	d.Drain, d.Cut = s.Drain, s.Proxy.Cut
	defer context.AfterFunc(ctx, func() { s.draining.Store(true) })()
	return d.Serve(ctx, l)
}

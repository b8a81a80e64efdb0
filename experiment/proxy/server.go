package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

type Server struct {
	Proxy          *Proxy
	TLS            *tls.Config   // nil = without TLS
	MaxConnections int           // more wait in the listen queue until one ends; 0 = no limit
	Drain          time.Duration // how long open answers may take after the end; 0 = they are cut at once

	Page       func() []byte // the page of the administration, HTML; nil = none
	Unrecorded func() int    // exchanges that Done could not store; nil = none

	draining atomic.Bool
	reach    reach
	shown    struct {
		mu   sync.Mutex
		made time.Time
		took time.Duration
		text []byte
	}
	waited atomic.Int64 // times that the limit of connections was reached
}

const (
	headerTimeout     = 10 * time.Second // of a request's header, against callers that send none
	callerIdleTimeout = 3 * time.Minute  // between the requests of a connection
	maxHeader         = 256 << 10        // bytes
)

func (s *Server) Draining() bool { return s.draining.Load() }

// Serve serves until ctx is done, then waits for the open answers, up to Drain, and cuts the others. Connections are
// HTTP/1.1, and HTTP/2 with TLS or by prior knowledge.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{
		Handler: s.Proxy, Protocols: &protocols, ReadHeaderTimeout: headerTimeout, IdleTimeout: callerIdleTimeout,
		MaxHeaderBytes: maxHeader, ErrorLog: log.New(io.Discard, "", 0), // its lines have addresses
		TLSConfig: s.TLS,
		HTTP2:     &http.HTTP2Config{MaxConcurrentStreams: 1000},
	}
	if s.MaxConnections > 0 {
		l = &limited{Listener: l, free: make(chan struct{}, s.MaxConnections), closed: make(chan struct{}), waited: &s.waited}
	}
	ended := make(chan error, 1)
	go func() {
		if s.TLS != nil {
			ended <- server.ServeTLS(l, "", "")
			return
		}
		ended <- server.Serve(l)
	}()
	select {
	case err := <-ended:
		_ = server.Close()
		return err
	case <-ctx.Done():
	}
	s.draining.Store(true)
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Drain)
	defer cancel()
	err := server.Shutdown(patience)
	s.Proxy.Idle(patience) // Shutdown does not wait for upgraded connections
	if err != nil || s.Proxy.Open() > 0 {
		s.Proxy.Cut()
		_ = server.Close()
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	s.Proxy.Idle(context.WithoutCancel(ctx))
	return nil
}

type limited struct {
	net.Listener
	free   chan struct{}
	closed chan struct{}
	once   sync.Once
	waited *atomic.Int64
}

func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.free <- struct{}{}:
	default:
		l.waited.Add(1)
		select {
		case l.free <- struct{}{}:
		case <-l.closed:
			return nil, net.ErrClosed
		}
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.free
		return nil, err
	}
	return &limitedConn{Conn: c, free: l.free}, nil
}

func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type limitedConn struct {
	net.Conn
	once sync.Once
	free chan struct{}
}

func (c *limitedConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { <-c.free })
	return err
}

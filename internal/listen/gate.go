package listen

import (
	"container/list"
	"context"
	"crypto/tls"
	"math"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// gate is a listener that bounds the number of open connections. One above the limit takes the place of the oldest that
// may be cut: the header of its request is not whole, or it was answered and has not sent the rest of a body. If there
// is none, it waits for an end, and the next ones wait in the listen queue.
type gate struct {
	net.Listener
	most   int
	waited atomic.Int64
	ended  chan struct{} // capacity 1: a connection or handler has ended
	closed chan struct{}
	once   sync.Once

	running atomic.Int64 // connections, and handlers: net/http waits for none of a hijacked or an HTTP/2 connection

	mu    sync.Mutex
	loose list.List                  // connections that may be cut, the oldest first
	conns map[net.Conn]*list.Element // open connections, with their place among those; nil = none
}

// grace is for how long no connection is cut: its header may be on its way, or its answer.
const grace = 100 * time.Millisecond

// loose is a connection that may be cut.
type loose struct {
	net.Conn
	since time.Time
}

type connection struct{} // key of a request's net.Conn

func (g *gate) open(l net.Listener, most int) {
	files := openFiles()
	switch {
	case most == 0:
		most = min(defaultConnections, files/2)
	case most > 0:
		most = min(most, files/2)
	default:
		most = files - spareFiles
	}
	g.Listener, g.most = l, max(1, most)
	g.ended, g.closed = make(chan struct{}, 1), make(chan struct{})
	g.conns = map[net.Conn]*list.Element{}
}

// openFiles is how many files the process may have open.
func openFiles() int {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return math.MaxInt
	}
	return int(min(l.Cur, math.MaxInt))
}

// Accept implements net.Listener.
func (g *gate) Accept() (net.Conn, error) {
	c, err := g.Listener.Accept()
	if err != nil || !g.full() {
		return c, err
	}
	g.waited.Add(1)
	t := time.NewTimer(0)
	defer t.Stop()
	for g.full() {
		select {
		case <-g.ended:
		case <-t.C:
			if cut, again := g.cutOldest(); !cut {
				t.Reset(again)
			}
		case <-g.closed:
			_ = c.Close()
			return nil, net.ErrClosed
		}
	}
	return c, nil
}

// Close implements net.Listener.
func (g *gate) Close() error {
	g.once.Do(func() { close(g.closed) })
	return g.Listener.Close()
}

func (g *gate) full() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.conns) >= g.most
}

// cutOldest closes the oldest connection that may be cut. If it does not, it may after some time.
func (g *gate) cutOldest() (cut bool, again time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	oldest := g.loose.Front()
	if oldest == nil {
		return false, grace
	}
	o := oldest.Value.(loose)
	if left := grace - time.Since(o.since); left > 0 {
		return false, left
	}
	g.hold(o.Conn)
	delete(g.conns, o.Conn) // what serves it ends later
	if encrypted, ok := o.Conn.(*tls.Conn); ok {
		o.Conn = encrypted.NetConn() // without the alert, whose write can last
	}
	_ = o.Close()
	return true, 0
}

// follow counts a connection, as http.Server.ConnState.
func (g *gate) follow(c net.Conn, s http.ConnState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch g.hold(c); s {
	case http.StateNew:
		g.running.Add(1)
		g.conns[c] = nil
		g.loosen(c)
	case http.StateIdle:
		g.loosen(c)
	case http.StateClosed, http.StateHijacked:
		delete(g.conns, c)
		g.end()
	}
}

// hold keeps a connection from being cut. The caller has the lock.
func (g *gate) hold(c net.Conn) {
	if place := g.conns[c]; place != nil {
		g.loose.Remove(place)
		g.conns[c] = nil
	}
}

// loosen lets a connection be cut, until its next request. The caller has the lock.
func (g *gate) loosen(c net.Conn) {
	if place, open := g.conns[c]; open && place == nil { // neither a hijacked one nor one that was cut
		g.conns[c] = g.loose.PushBack(loose{c, time.Now()})
	}
}

// release lets a request's connection be cut: it was answered, and has not sent the rest of a body.
func (g *gate) release(ctx context.Context) {
	c, _ := ctx.Value(connection{}).(net.Conn)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.loosen(c)
}

// end counts the end of a connection or handler, and wakes whoever waits for it.
func (g *gate) end() {
	g.running.Add(-1)
	select {
	case g.ended <- struct{}{}:
	default:
	}
}

// wait waits until no connection is open and no handler runs. Accept must not be running.
func (g *gate) wait() {
	for g.running.Load() > 0 {
		<-g.ended
	}
}

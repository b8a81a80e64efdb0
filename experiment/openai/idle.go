package openai

import (
	"context"
	"slices"
	"sync"
	"time"
)

// dialAtOnce limits the connections that are opened at the same time for requests. More would overflow the
// server's backlog (511 in nginx), and the kernel repeats what was dropped after 1, 3 and 7 s.
const dialAtOnce = 256

// idleConns are the connections that no request uses, and the requests that wait for one: one of the lists is
// empty. For each that waits, a connection is being opened.
type idleConns struct {
	mu      sync.Mutex
	conns   []*conn         // the one that has waited longest first
	waiting []chan dialed   // each has room for its one element
	dialing context.Context // ends when no request waits any more, or with the client
	stop    context.CancelFunc
}

// dialed is what a waiting request gets: a connection that was opened, or that another request has freed.
type dialed struct {
	conn *conn
	err  error
}

func (c *Client) getConn(ctx context.Context, fresh bool) (*conn, error) {
	if fresh {
		return c.dial(ctx)
	}
	if conn := c.getIdle(); conn != nil {
		return conn, nil
	}
	if c.noReuse.Load() {
		return c.dial(ctx)
	}
	for {
		conn, err := c.awaitConn(ctx)
		if err != nil || !conn.used || conn.usable() {
			return conn, err
		}
		conn.Close()
	}
}

// awaitConn opens a connection, and returns it or one that is free earlier. If each request had to wait for
// its own, a slow server would be kept slow by thousands of connections that no request needs.
func (c *Client) awaitConn(ctx context.Context) (*conn, error) {
	turn := make(chan dialed, 1)
	dialing := c.idle.wait(turn)
	c.dials.Go(func() { c.open(dialing) })
	select {
	case d := <-turn:
		return d.conn, d.err
	case <-ctx.Done():
		if !c.idle.leave(turn) {
			if d := <-turn; d.conn != nil {
				c.idle.put(d.conn)
			}
		}
		return nil, ctx.Err()
	}
}

func (c *Client) open(ctx context.Context) {
	select {
	case c.dialSlots <- struct{}{}:
		defer func() { <-c.dialSlots }()
	case <-ctx.Done():
		return
	}
	if !c.idle.wanted() {
		return
	}
	conn, err := c.dial(ctx)
	switch {
	case err == nil:
		c.idle.put(conn)
	case ctx.Err() == nil: // else those it was for are gone
		c.idle.fail(err)
	}
}

// wait adds a request that waits for a connection. The connections for it are to be opened within the context.
func (s *idleConns) wait(turn chan dialed) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dialing == nil {
		s.dialing, s.stop = context.WithCancel(context.Background())
	}
	s.waiting = append(s.waiting, turn)
	return s.dialing
}

func (s *idleConns) leave(turn chan dialed) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.waiting, turn)
	if i < 0 {
		return false
	}
	if s.waiting = slices.Delete(s.waiting, i, i+1); len(s.waiting) == 0 {
		s.stopDialing()
	}
	return true
}

// stopDialing ends the dials in progress; mu is held.
func (s *idleConns) stopDialing() {
	if s.stop != nil {
		s.stop()
	}
	s.dialing, s.stop = nil, nil
}

func (s *idleConns) wanted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting) > 0
}

func (s *idleConns) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if turn := s.first(); turn != nil {
		turn <- dialed{err: err}
	}
}

// first takes the request that has waited longest; nil: none waits. mu is held.
func (s *idleConns) first() chan dialed {
	if len(s.waiting) == 0 {
		return nil
	}
	turn := s.waiting[0]
	s.waiting[0] = nil
	s.waiting = s.waiting[1:]
	return turn
}

// put gives a connection to the first request that waits, or keeps it; it closes those idle for too long.
func (s *idleConns) put(conn *conn) {
	conn.idleSince = time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if turn := s.first(); turn != nil {
		turn <- dialed{conn: conn}
		return
	}
	conn.prepared = !conn.used
	for len(s.conns) > 0 && conn.idleSince.Sub(s.conns[0].idleSince) > idleTimeout {
		s.conns[0].Close()
		s.conns = s.conns[1:]
	}
	s.conns = append(s.conns, conn)
}

func (s *idleConns) pop() *conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.conns) - 1
	if last < 0 {
		return nil
	}
	conn := s.conns[last]
	s.conns[last] = nil
	s.conns = s.conns[:last]
	return conn
}

func (s *idleConns) dropUsed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns = slices.DeleteFunc(s.conns, func(conn *conn) bool {
		if conn.used {
			conn.Close()
		}
		return conn.used
	})
}

func (c *Client) getIdle() *conn {
	for conn := c.idle.pop(); conn != nil; conn = c.idle.pop() {
		if conn.usable() {
			return conn
		}
		conn.Close()
	}
	return nil
}

func (c *Client) closeIdle() {
	for conn := c.idle.pop(); conn != nil; conn = c.idle.pop() {
		conn.Close()
	}
}

package openai

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"sync"
	"time"
)

// prepareAtOnce bounds the connections that are being opened at the same time.
const prepareAtOnce = 64

// Prepare opens n connections ahead of the requests that will need them, so that no request waits for one. The
// transport takes them when it would dial. Those left from an earlier call are closed first, as are, when their turn
// comes, those older than 4 s: a server may be about to close them. It returns how many it opened and the first error;
// after NoReuse it opens none.
func (c *Client) Prepare(ctx context.Context, n int) (opened int, err error) {
	if c.fresh.Load() { // such a server may keep a thread busy for each connection that waits
		return 0, nil
	}
	c.discard()
	var wg sync.WaitGroup
	var mu sync.Mutex
	slots := make(chan struct{}, prepareAtOnce)
	for i := 0; i < n && ctx.Err() == nil; i++ {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			conn, dialErr := c.dial(ctx)
			mu.Lock()
			defer mu.Unlock()
			if dialErr != nil {
				err = cmp.Or(err, dialErr)
				return
			}
			conn.prepared = true
			opened++
			c.keep(conn)
		})
	}
	wg.Wait()
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return opened, fmt.Errorf("opening connections to %s: %w", c.addr, err)
	}
	return opened, nil
}

// take returns a prepared connection that is still good, else a new one.
func (c *Client) take(ctx context.Context) (*conn, error) {
	for {
		conn := c.pop()
		if conn == nil {
			return c.dial(ctx)
		}
		if time.Since(conn.opened) < idleFor && !conn.rx.closed() {
			return conn, nil
		}
		conn.Close()
	}
}

// dial opens a connection, past its TLS handshake.
func (c *Client) dial(ctx context.Context) (*conn, error) {
	start := time.Now()
	tcp, err := c.dialTCP(ctx, "tcp", c.addr)
	if err != nil {
		return nil, err
	}
	rx := receive(tcp)
	conn := &conn{Conn: rx, rx: rx, clock: c.clock, sent: Never}
	if c.tls != nil {
		secure := tls.Client(rx, c.tls)
		if err := secure.HandshakeContext(ctx); err != nil {
			tcp.Close()
			return nil, fmt.Errorf("TLS handshake: %w", err)
		}
		conn.Conn = secure
	}
	conn.opened = time.Now()
	conn.setup = conn.opened.Sub(start)
	return conn, nil
}

func (c *Client) keep(conn *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ready = append(c.ready, conn)
}

// pop takes the newest prepared connection; nil: there is none.
func (c *Client) pop() *conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := len(c.ready) - 1
	if last < 0 {
		return nil
	}
	conn := c.ready[last]
	c.ready = c.ready[:last]
	return conn
}

// discard closes the prepared connections.
func (c *Client) discard() {
	for conn := c.pop(); conn != nil; conn = c.pop() {
		conn.Close()
	}
}

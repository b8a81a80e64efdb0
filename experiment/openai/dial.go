package openai

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net/http/httptrace"
	"sync"
	"time"
)

const prepareAtOnce = 64

type Setup struct {
	DNS, TCP, TLS time.Duration // 0: no such step
	rtt           time.Duration // the kernel's round-trip time; 0: not known
}

func (s Setup) total() time.Duration { return s.DNS + s.TCP + s.TLS }

// Prepare opens n connections ahead of their requests, so that no request waits for one, and closes the idle
// ones of before. It returns the set-up times and the first error. It opens none after NoReuse, with a proxy
// and with HTTP/2.
func (c *Client) Prepare(ctx context.Context, n int) (opened []Setup, err error) {
	if c.viaTransport || c.noReuse.Load() { // a NoReuse server may keep a thread busy for each idle connection
		return nil, nil
	}
	c.closeIdle()
	var wg sync.WaitGroup
	var mu sync.Mutex
	dialing := make(chan struct{}, prepareAtOnce)
	for i := 0; i < n && ctx.Err() == nil; i++ {
		dialing <- struct{}{}
		wg.Go(func() {
			defer func() { <-dialing }()
			conn, dialErr := c.dial(ctx)
			mu.Lock()
			defer mu.Unlock()
			if dialErr != nil {
				err = cmp.Or(err, dialErr)
				return
			}
			opened = append(opened, conn.setup)
			c.idle.put(conn)
		})
	}
	wg.Wait()
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return opened, fmt.Errorf("opening connections to %s: %w", c.addr, err)
	}
	return opened, nil
}

func (c *Client) dial(ctx context.Context) (*conn, error) {
	start := time.Now()
	resolved := start
	tcp, err := c.dialTCP(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSDone: func(httptrace.DNSDoneInfo) { resolved = time.Now() },
	}), "tcp", c.addr)
	if err != nil {
		return nil, err
	}
	connected := time.Now()
	rx := newReceiver(tcp)
	conn := &conn{Conn: rx, rx: rx, setup: Setup{DNS: resolved.Sub(start), TCP: connected.Sub(resolved), rtt: rx.rtt()}}
	if c.tls != nil {
		secure := tls.Client(rx, c.tls)
		if err := secure.HandshakeContext(ctx); err != nil {
			tcp.Close()
			return nil, fmt.Errorf("TLS handshake: %w", err)
		}
		conn.Conn = secure
		conn.setup.TLS = time.Since(connected)
	}
	c.sockets.add(conn)
	return conn, nil
}

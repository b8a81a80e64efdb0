package openai

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http/httptrace"
	"slices"
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

const (
	placeSameHost = "same host" // a loopback address, or the client's own
	placeLAN      = "lan"       // a private address within lanRTT
	placeRemote   = "remote"
	placeProxied  = "behind a proxy" // what is behind the proxy can't be seen
)

// lanRTT is the longest round trip of a local network; a private address can belong to a VPN.
const lanRTT = 5 * time.Millisecond

type Vantage struct {
	Place string
	RTT   []time.Duration // of TCP handshakes, ascending; by the kernel if it reports them
}

func (c *Client) Vantage(ctx context.Context, n int) (Vantage, error) {
	v := Vantage{Place: placeRemote}
	for range n {
		if c.proxied {
			return Vantage{Place: placeProxied}, nil
		}
		conn, err := c.dial(ctx)
		if err != nil {
			return Vantage{}, fmt.Errorf("measuring the round trip to %s: %w", c.addr, err)
		}
		v.RTT = append(v.RTT, cmp.Or(conn.setup.rtt, conn.setup.TCP))
		v.Place = classify(conn.LocalAddr(), conn.RemoteAddr(), slices.Min(v.RTT))
		conn.Close()
	}
	slices.Sort(v.RTT)
	return v, nil
}

func classify(local, remote net.Addr, rtt time.Duration) string {
	here, ok := local.(*net.TCPAddr)
	there, also := remote.(*net.TCPAddr)
	switch {
	case !ok || !also:
		return placeRemote
	case there.IP.IsLoopback() || there.IP.Equal(here.IP):
		return placeSameHost
	case (there.IP.IsPrivate() || there.IP.IsLinkLocalUnicast()) && rtt < lanRTT:
		return placeLAN
	}
	return placeRemote
}

package openai

import (
	"context"
	"fmt"
	"net"
	"slices"
	"time"
)

// Where a client can stand, as its address and the server's tell.
const (
	placeSameHost = "same host" // the server has the client's own address, or a loopback one
	placeLAN      = "lan"       // a private address, less than lanRTT away
	placeRemote   = "remote"
	placeProxied  = "behind a proxy" // what lies behind the proxy can't be seen
)

// lanRTT bounds the round trip within a local network; a private address can be that of a VPN.
const lanRTT = 5 * time.Millisecond

// Vantage is where the client stands.
type Vantage struct {
	Place string
	RTT   []time.Duration // of the TCP handshakes that were made to measure it, ascending; by the kernel where it tells
}

// Vantage opens n connections, one after the other, and closes them again.
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
		rtt := conn.setup.RTT
		if rtt == 0 {
			rtt = conn.setup.TCP
		}
		v.RTT = append(v.RTT, rtt)
		v.Place = classify(conn.LocalAddr(), conn.RemoteAddr(), slices.Min(v.RTT))
		conn.Close()
	}
	slices.Sort(v.RTT)
	return v, nil
}

// place judges a connection by its two ends.
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

package openai

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"time"
)

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

package main

import (
	"context"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"bench/live/proxy"
)

// checkLoop refuses servers that are the recorder itself: each request would come back.
func (f *recordFlags) checkLoop(ctx context.Context, own net.Addr) error {
	for _, server := range []struct{ flag, url string }{{"--to", f.to}, {"--shadow", f.shadow.to}} {
		var at *url.URL
		if server.url != "" {
			at = serverURL(server.flag, server.url, func(string, ...any) {})
		}
		if at != nil && isAt(ctx, at, own) {
			return usage("%s is the recorder's own address, --listen %s: its requests would come back\n"+
				"hint: %s takes the address of the server; if it is right, give --listen another port",
				server.flag, own, server.flag)
		}
	}
	return nil
}

// dialTimeout is that of a server with the recorder's port.
const dialTimeout = 5 * time.Second

// isAt reports whether a connection to a URL's host and port reaches a listener of this process.
func isAt(ctx context.Context, u *url.URL, listener net.Addr) bool {
	own, ok := listener.(*net.TCPAddr)
	address := proxy.HostPort(u)
	if !ok || !strings.HasSuffix(address, ":"+strconv.Itoa(own.Port)) {
		return false
	}
	c, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", address)
	if err != nil {
		return false // the first request will say so
	}
	defer c.Close()
	from, to := c.LocalAddr().(*net.TCPAddr).IP, c.RemoteAddr().(*net.TCPAddr).IP
	here := to.IsLoopback() || to.Equal(from) // a machine connects to itself from the same address
	return here && (own.IP.IsUnspecified() || own.IP.Equal(to))
}

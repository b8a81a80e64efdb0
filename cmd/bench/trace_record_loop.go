package main

import (
	"cmp"
	"context"
	"net"
	"net/url"
	"slices"
	"strconv"
	"time"
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
				"hint: %s takes the address of the server; if it is right, listen on another one, such as --listen :8081",
				server.flag, own, server.flag)
		}
	}
	return nil
}

// lookupTimeout is that of a host's addresses.
const lookupTimeout = 5 * time.Second

// isAt reports whether a URL's host and port are those of a listener of this process.
func isAt(ctx context.Context, u *url.URL, listener net.Addr) bool {
	tcp, ok := listener.(*net.TCPAddr)
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	if !ok || port != strconv.Itoa(tcp.Port) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	hosts, err := net.DefaultResolver.LookupIPAddr(ctx, u.Hostname())
	if err != nil {
		return false // the first request will say so
	}
	return slices.ContainsFunc(hosts, func(h net.IPAddr) bool {
		switch {
		case h.IP.Equal(tcp.IP):
			return true
		case h.IP.IsUnspecified(): // the system connects to its loopback
			return tcp.IP.IsLoopback() || tcp.IP.IsUnspecified()
		}
		return tcp.IP.IsUnspecified() && isOwnIP(h.IP)
	})
}

func isOwnIP(ip net.IP) bool {
	if ip.IsLoopback() {
		return true
	}
	own, _ := net.InterfaceAddrs() // none: only the loopback is known
	return slices.ContainsFunc(own, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && n.IP.Equal(ip)
	})
}

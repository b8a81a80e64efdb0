package server

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"
)

type StaleError struct{ address string }

func (e *StaleError) Error() string {
	return fmt.Sprintf("another process listens at %s: it would be measured instead of the server that bench starts\n"+
		"hint: stop it (ss -ltnp shows its pid), or use another port in [server] command and [target] endpoint",
		e.address)
}

// checkFree fails if a process listens at the address for some seconds: what a killed bench leaves is ended soon.
func (c Config) checkFree(ctx context.Context) error {
	address := c.address()
	if address == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	for ctx.Err() == nil {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			return nil
		}
		conn.Close()
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
	return &StaleError{address}
}

// checkOwner fails if neither pid nor a descendant listens at the address. It needs Linux.
func (c Config) checkOwner(pid int) error {
	_, text, err := net.SplitHostPort(c.address())
	if !c.Own || err != nil {
		return nil
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return nil
	}
	if ours, any := portOwner(port, pid); any && !ours {
		return fmt.Errorf("%w\nhint: if the command passes its port to another process (docker, a gateway), set proxied = true in [server]", &StaleError{c.address()})
	}
	return nil
}

// address is the host and port of the URL; empty: no URL.
func (c Config) address() string {
	u, err := url.Parse(c.URL)
	if err != nil || u.Hostname() == "" {
		return ""
	}
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme]))
}

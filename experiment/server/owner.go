package server

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"
)

// StaleError says that somebody else answers where the server was to.
type StaleError struct{ Address string }

func (e *StaleError) Error() string {
	return fmt.Sprintf("something answers at %s already, which is not the server that bench starts: it would be measured in its place\n"+
		"hint: end it (ss -ltnp shows who it is), or give the new one another port in [server] command and [target] endpoint", e.Address)
}

// checkFree asks, before the start, whether the address is free.
func (c Config) checkFree(ctx context.Context) error {
	address := c.address()
	if address == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil
	}
	conn.Close()
	return &StaleError{address}
}

// checkOwner asks, once the server answers, whether it is that of the process and its descendants. Where the system does not tell who
// listens, vacant has to do.
func (c Config) checkOwner(pid int) error {
	_, text, err := net.SplitHostPort(c.address())
	if !c.Own || err != nil {
		return nil
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return nil
	}
	if ours, somebody := portOwner(port, pid); somebody && !ours {
		return fmt.Errorf("%w\nhint: if the command hands its port to another process on purpose (docker, a gateway): proxied = true in [server]", &StaleError{c.address()})
	}
	return nil
}

// address is the host and port of the URL; empty without one.
func (c Config) address() string {
	u, err := url.Parse(c.URL)
	if err != nil || u.Hostname() == "" {
		return ""
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

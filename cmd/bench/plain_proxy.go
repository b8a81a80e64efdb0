package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"

	"github.com/spf13/cobra"
)

// newPlainProxy is the proxy that `bench selftest --gateway` compares with: what a few lines of Go give. It is
// hidden: users do not call it.
func newPlainProxy(c *cli) *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use:    "plain-proxy --to URL",
		Short:  "serve a plain reverse proxy on a free loopback port",
		Hidden: true,
		Args:   positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			u, err := url.Parse(to)
			if err != nil || u.Host == "" {
				return usage("--to: not a URL\nhint: bench selftest --gateway runs it; do not call it yourself")
			}
			return c.plainProxy(cmd.Context(), u)
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "`URL` of the server")
	return cmd
}

// plainProxy serves until ctx is done.
func (c *cli) plainProxy(ctx context.Context, to *url.URL) error {
	l, err := net.Listen("tcp", anyPort)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 0, 1<<16 // else it would close and open connections all the time
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport:     transport,
		FlushInterval: -1,
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Else the answer of a server that sends its head early breaks off now and then: writing the head closes the
		// request's body, which the transport may still read (golang/go issue 40747).
		_ = http.NewResponseController(w).EnableFullDuplex()
		proxy.ServeHTTP(w, r)
	})}
	stop := context.AfterFunc(ctx, func() { srv.Close() })
	defer stop()
	fmt.Fprintf(c.stdout, "listening on http://%s\n", l.Addr())
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving: %w", err)
	}
	return &exitError{codeInterrupted, errors.New("")}
}

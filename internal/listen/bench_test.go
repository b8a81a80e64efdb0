package listen

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// BenchmarkRequest compares a Door with a server of net/http that has a header's and idle time: a POST of 2 KB on a
// kept connection.
func BenchmarkRequest(b *testing.B) {
	read := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	for name, serve := range map[string]func(context.Context, net.Listener) error{
		"net/http": func(_ context.Context, l net.Listener) error {
			return (&http.Server{Handler: read, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout}).Serve(l)
		},
		"door": (&Door{Handler: read, Traffic: true}).Serve,
	} {
		b.Run(name, func(b *testing.B) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			go func() { _ = serve(ctx, l) }()
			body := strings.Repeat("x", 2<<10)
			for b.Loop() {
				a, err := http.Post("http://"+l.Addr().String(), "", strings.NewReader(body))
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, a.Body)
				a.Body.Close()
			}
		})
	}
}

package listen

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	fixture "bench/internal/fixturetest"
)

// serve opens a door in a bubble, until the test's end or the call of end.
func serve(t *testing.T, d *Door) (pipes *fixture.Pipes, end func()) {
	t.Helper()
	pipes = fixture.NewPipes()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- d.Serve(ctx, pipes) }()
	ended := false
	end = func() {
		if cancel(); !ended {
			ended = true
			if err := <-served; err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(end)
	return pipes, end
}

// send writes a text to a new connection, in the background: nobody may read it.
func send(t *testing.T, pipes *fixture.Pipes, text string) net.Conn {
	t.Helper()
	c, err := pipes.Dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	go io.WriteString(c, text)
	return c
}

// answered reads a connection to its end, which must come.
func answered(t *testing.T, c net.Conn) (text string, after time.Duration) {
	t.Helper()
	began := time.Now()
	all, err := io.ReadAll(c)
	if err != nil {
		t.Error(err)
	}
	return string(all), time.Since(began)
}

// bubble runs a test in virtual time. net/http's own goroutines linger.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Second) })
		f(t)
	})
}

const half = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\nhalf"

// TestFlood: hundreds of connections that send half of something, or nothing more, do not keep the next caller waiting.
func TestFlood(t *testing.T) {
	unauthorized := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			w.Header().Set("Connection", "close")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, "welcome")
	})
	for name, text := range map[string]string{
		"nothing": "", "half headers": "GET / HTTP/1.1\r\nHost:",
		"half bodies": fmt.Sprintf(half, 1000), "half large bodies": fmt.Sprintf(half, 1<<30),
		"half chunks": "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n100\r\nhalf",
		"idle":        "GET / HTTP/1.1\r\nHost: x\r\nAuthorization: 1\r\n\r\n",
		"refused":     "GET / HTTP/1.1\r\nHost: x\r\nSec-Fetch-Site: cross-site\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				d := &Door{Handler: unauthorized, MaxConnections: 128}
				pipes, _ := serve(t, d)
				began := time.Now()
				for range 600 {
					go func() {
						c, err := pipes.Dial(t.Context(), "", "")
						if err != nil {
							return
						}
						go io.WriteString(c, text)
						_, _ = io.Copy(io.Discard, c)
					}()
				}
				synctest.Wait()
				c := send(t, pipes, "GET / HTTP/1.1\r\nHost: x\r\nAuthorization: 1\r\nConnection: close\r\n\r\n")
				if text, _ := answered(t, c); !strings.HasSuffix(text, "welcome") || time.Since(began) > time.Second {
					t.Errorf("after %v: %q", time.Since(began), text)
				}
				if name == "half headers" && d.Waited() < 400 {
					t.Errorf("%d connections waited", d.Waited())
				}
			})
		})
	}
}

// TestLimit: a connection in use is not cut; the next one waits for its end.
func TestLimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := &Door{MaxConnections: 1, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			time.Sleep(time.Minute)
		})}
		pipes, _ := serve(t, d)
		began := time.Now()
		var callers sync.WaitGroup
		for i := range 2 {
			c := send(t, pipes, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
			synctest.Wait()
			callers.Go(func() {
				text, _ := answered(t, c)
				open := time.Since(began)
				if !strings.HasPrefix(text, "HTTP/1.1 200") || open.Round(time.Second) != time.Duration(i+1)*time.Minute {
					t.Errorf("%d: %q after %v", i, text, open)
				}
			})
		}
		callers.Wait()
		if d.Waited() != 1 {
			t.Error(d.Waited())
		}
	})
}

// TestEnd: open answers have the time of Drain, and Serve returns behind all handlers, of hijacked connections too.
func TestEnd(t *testing.T) {
	for _, c := range []struct{ drain, wantOpen time.Duration }{
		{0, 0}, {10 * time.Second, 10 * time.Second}, {2 * time.Minute, time.Minute},
	} {
		bubble(t, func(t *testing.T) {
			cut := false
			var running atomic.Int64
			d := &Door{Drain: c.drain, Cut: func() { cut = true }}
			d.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				running.Add(1)
				defer running.Add(-1)
				if r.URL.Path == "/hijack" {
					conn, _, err := http.NewResponseController(w).Hijack()
					if err != nil {
						t.Error(err)
						return
					}
					defer conn.Close()
				}
				select {
				case <-r.Context().Done():
				case <-time.After(time.Minute):
				}
			})
			pipes, end := serve(t, d)
			go io.Copy(io.Discard, send(t, pipes, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
			send(t, pipes, "GET /hijack HTTP/1.1\r\nHost: x\r\n\r\n")
			send(t, pipes, "")
			synctest.Wait()
			began := time.Now()
			end()
			open := time.Since(began)
			if open < c.wantOpen || open > c.wantOpen+6*time.Second || cut != (c.drain < time.Minute) || running.Load() != 0 {
				t.Errorf("drain %v: open for %v, cut %v, %d handlers run", c.drain, open, cut, running.Load())
			}
		})
	}
}

// TestMost: a door has at most half of the files, or all but some.
func TestMost(t *testing.T) {
	files := openFiles()
	for asked, want := range map[int]int{0: min(1000, files/2), 7: 7, 1 << 62: files / 2, -1: files - spareFiles} {
		var g gate
		if g.open(nil, asked); g.most != want {
			t.Errorf("%d: %d, want %d", asked, g.most, want)
		}
	}
}

package listen

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
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

// TestFlood: hundreds of connections that send half of something do not keep the next caller waiting.
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
		"nothing": "", "half headers": "GET / HTTP/1.1\r\nHost:", "half bodies": fmt.Sprintf(half, 1000), "half large bodies": fmt.Sprintf(half, 1<<30),
		"half chunks": "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n100\r\nhalf",
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
		d := &Door{MaxConnections: 1, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(time.Minute) })}
		pipes, _ := serve(t, d)
		began := time.Now()
		var callers sync.WaitGroup
		for i := range 2 {
			c := send(t, pipes, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
			synctest.Wait()
			callers.Go(func() {
				text, _ := answered(t, c)
				if open := time.Since(began); !strings.HasPrefix(text, "HTTP/1.1 200") || open.Round(time.Second) != time.Duration(i+1)*time.Minute {
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

// TestBody: each read of a body has a minute; its end gives the handler all the time.
func TestBody(t *testing.T) {
	for name, c := range map[string]struct {
		pieces, want string // a piece of the body after each pause
		pause        time.Duration
		duplex       bool
	}{
		"slow":             {pieces: "abcdefgh", pause: 50 * time.Second, want: "abcdefgh <nil>"},
		"slow, in duplex":  {pieces: "abcdefgh", pause: 50 * time.Second, want: "abcdefgh <nil>", duplex: true},
		"stalls":           {pieces: "ab", pause: 70 * time.Second, want: " timeout and its request ended"},
		"stalls in duplex": {pieces: "ab", pause: 70 * time.Second, want: " timeout and its request ended", duplex: true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var got string
				pipes, _ := serve(t, &Door{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if c.duplex {
						_ = http.NewResponseController(w).EnableFullDuplex()
					}
					text, err := io.ReadAll(r.Body)
					if errors.Is(err, os.ErrDeadlineExceeded) {
						err = errors.New("timeout")
					}
					got = fmt.Sprint(string(text), " ", err)
					if _, err := r.Body.Read(make([]byte, 1)); err == nil {
						t.Error("a body has more than its end")
					}
					select {
					case <-r.Context().Done():
						got += " and its request ended"
					case <-time.After(10 * time.Minute):
					}
				})})
				conn := send(t, pipes, fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n", len(c.pieces)))
				var writing sync.WaitGroup
				writing.Go(func() {
					for i := range c.pieces {
						time.Sleep(c.pause)
						_, _ = io.WriteString(conn, c.pieces[i:i+1])
					}
				})
				answered(t, conn)
				writing.Wait()
				if got != c.want {
					t.Errorf("%q, want %q", got, c.want)
				}
			})
		})
	}
}

// TestUnread: the rest of a body that no handler reads is awaited for a moment, behind an answer that ends the
// connection for less.
func TestUnread(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter)
		text   string
		most   time.Duration
	}{
		"small answer": {func(w http.ResponseWriter) { w.WriteHeader(404) }, fmt.Sprintf(half, 1000), restTimeout},
		"large answer": {func(w http.ResponseWriter) { fmt.Fprint(w, strings.Repeat("x", 10_000)) }, fmt.Sprintf(half, 1000), bodyTimeout + restTimeout},
		"close":        {func(w http.ResponseWriter) { w.Header().Set("Connection", "close") }, fmt.Sprintf(half, 1000), lingerTimeout},
		"close, large": {func(w http.ResponseWriter) { w.Header().Set("Connection", "close") }, fmt.Sprintf(half, 1<<30), time.Second},
		"continue":     {func(w http.ResponseWriter) { w.WriteHeader(401) }, "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n", restTimeout},
		"panic":        {func(http.ResponseWriter) { panic("SECRET") }, fmt.Sprintf(half, 1000), restTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				pipes, _ := serve(t, &Door{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { c.answer(w) })})
				text, after := answered(t, send(t, pipes, c.text))
				if after > c.most || (text == "") != (name == "panic") || strings.Contains(text, "100 Continue") {
					t.Errorf("%q after %v", text, after)
				}
			})
		})
	}
}

// TestKept: a connection serves on after bodies that were read, were not, were announced by Expect, and after a pause.
func TestKept(t *testing.T) {
	bubble(t, func(t *testing.T) {
		pipes, _ := serve(t, &Door{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/read" {
				_, _ = io.Copy(io.Discard, r.Body)
			}
			fmt.Fprint(w, r.URL.Path)
		})})
		c := send(t, pipes, "")
		in := bufio.NewReader(c)
		for i, path := range []string{"/read", "/unread", "/unread", "/read", "/none", "/read"} {
			head := "POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n"
			if i == 3 {
				go io.WriteString(c, head+"Expect: 100-continue\r\n\r\n")
				if line, err := in.ReadString('\n'); line != "HTTP/1.1 100 Continue\r\n" {
					t.Fatal(line, err)
				}
				_, _ = in.ReadString('\n')
				go io.WriteString(c, "body")
			} else {
				go io.WriteString(c, head+"\r\nbody")
			}
			answer, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(i, err)
			}
			if text, err := io.ReadAll(answer.Body); string(text) != path || err != nil {
				t.Error(i, string(text), err)
			}
			time.Sleep(2 * time.Minute)
		}
	})
}

// TestHTTP2: streams of one connection have the same times, by themselves.
func TestHTTP2(t *testing.T) {
	bubble(t, func(t *testing.T) {
		pipes, _ := serve(t, &Door{HTTP2: true, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, err := io.ReadAll(r.Body)
			timer := time.After(5 * time.Minute)
			select {
			case <-timer:
			case <-r.Context().Done():
				t.Error("the request ended", context.Cause(r.Context()))
			}
			fmt.Fprint(w, r.Proto, " ", errors.Is(err, os.ErrDeadlineExceeded))
		})})
		var protocols http.Protocols
		protocols.SetUnencryptedHTTP2(true)
		transport := &http.Transport{DialContext: pipes.Dial, Protocols: &protocols}
		defer transport.CloseIdleConnections()
		stalled, body := io.Pipe()
		defer body.Close()
		answers := make(chan string)
		for _, b := range []io.Reader{strings.NewReader("whole"), stalled} {
			go func() {
				a, err := (&http.Client{Transport: transport}).Post("http://x/", "", b)
				if err != nil {
					answers <- err.Error()
					return
				}
				text, err := io.ReadAll(a.Body)
				answers <- fmt.Sprint(string(text), err)
			}()
		}
		got := []string{<-answers, <-answers}
		if all := strings.Join(got, ", "); !strings.Contains(all, "HTTP/2.0 true") || !strings.Contains(all, "HTTP/2.0 false") {
			t.Error(all)
		}
	})
}

// TestEnd: open answers have the time of Drain, and Serve returns behind all handlers, of hijacked connections too.
func TestEnd(t *testing.T) {
	for _, c := range []struct{ drain, wantOpen time.Duration }{{0, 0}, {10 * time.Second, 10 * time.Second}, {2 * time.Minute, time.Minute}} {
		bubble(t, func(t *testing.T) {
			cut := false
			var running atomic.Int64
			d := &Door{Drain: c.drain, Cut: func() { cut = true }, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
			})}
			pipes, end := serve(t, d)
			go io.Copy(io.Discard, send(t, pipes, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
			send(t, pipes, "GET /hijack HTTP/1.1\r\nHost: x\r\n\r\n")
			send(t, pipes, "")
			synctest.Wait()
			began := time.Now()
			end()
			if open := time.Since(began); open < c.wantOpen || open > c.wantOpen+6*time.Second || cut != (c.drain < time.Minute) || running.Load() != 0 {
				t.Errorf("drain %v: open for %v, cut %v, %d handlers run", c.drain, open, cut, running.Load())
			}
		})
	}
}

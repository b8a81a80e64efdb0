package listen

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

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
				head := "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
				conn := send(t, pipes, fmt.Sprintf(head, len(c.pieces)))
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
	small, large := fmt.Sprintf(half, 1000), fmt.Sprintf(half, 1<<30)
	expect := "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n"
	long := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, "%10000d", 1) }
	last := func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") }
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request)
		text   string
		most   time.Duration
	}{
		"small answer": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, small, restTimeout},
		"large answer": {long, small, 2 * restTimeout},
		"stalled, large answer": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			long(w, r)
		}, small, bodyTimeout + restTimeout},
		"close":        {last, small, lingerTimeout},
		"close, large": {last, large, time.Second},
		"continue":     {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }, expect, restTimeout},
		"panic":        {func(http.ResponseWriter, *http.Request) { panic("SECRET") }, small, restTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				pipes, _ := serve(t, &Door{Handler: http.HandlerFunc(c.answer)})
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
		slices.Sort(got)
		if got[0] != "HTTP/2.0 false<nil>" || got[1] != "HTTP/2.0 true<nil>" {
			t.Error(got)
		}
	})
}

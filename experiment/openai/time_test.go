package openai

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const ms = time.Millisecond

// TestExactTimes: over a pipe, in virtual time, every time of a result is exact.
func TestExactTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testClient(t, "test:80")
		defer c.Close()
		pipes(c, answer(func(p *peer) {
			time.Sleep(10 * ms)
			p.say(streamHead, chunked(`data: {"choices":[{"delta":{"role":"assistant"}}]}`+"\n\n"))
			time.Sleep(40 * ms)
			p.say(chunked(token("a")))
			time.Sleep(10 * ms)
			// One chunk in three pieces: net/http passes all of it on with the last one.
			long := chunked(token("b") + token("c") + token("d"))
			p.say(long[:len(token("b"))+5])
			time.Sleep(20 * ms)
			p.say(long[len(token("b"))+5 : len(long)-10])
			time.Sleep(30 * ms)
			p.say(long[len(long)-10:])
			time.Sleep(5 * ms)
			p.say(chunked(finish("stop") + doneEvent))
			time.Sleep(7 * ms)
			p.say(lastChunk)
		}))
		for range 2 {
			call := streamCall
			call.Epoch = time.Now().Add(-time.Second)
			var r Result
			c.Do(t.Context(), &call, &r)
			got := fmt.Sprint(r.Outcome, r.Sent-time.Second, r.FirstEvent-time.Second, r.First-time.Second, r.Gaps, r.Last-time.Second, r.End-time.Second)
			if want := fmt.Sprint(OK, 0*ms, 10*ms, 50*ms, []time.Duration{10 * ms, 20 * ms, 30 * ms}, 110*ms, 115*ms); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if drained := time.Since(call.Epoch) - time.Second; drained != 122*ms || r.Free-time.Second != drained {
				t.Errorf("Do returned after %v, free at %v", drained, r.Free)
			}
		}
	})
}

// A response is over with its last byte; one that stays open behind [DONE], after drainTimeout.
func TestFree(t *testing.T) {
	tests := []struct {
		name      string
		server    func(p *peer)
		end, free time.Duration
	}{
		{"left open", func(p *peer) { p.say(streamHead, chunked(token("a")+doneEvent)); time.Sleep(time.Second) }, 0, drainTimeout},
		{"a length without [DONE]", func(p *peer) {
			body := token("a") + finish("stop")
			p.say(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", len(body)))
			time.Sleep(3 * ms)
			p.say(body)
		}, 3 * ms, 3 * ms},
		{"closed later", func(p *peer) { p.say(plainHead, token("a"), finish("stop")); time.Sleep(9 * ms) }, 9 * ms, 9 * ms},
		{"a refusal", func(p *peer) {
			p.say("HTTP/1.1 503 Busy\r\nContent-Length: 9\r\n\r\n")
			time.Sleep(4 * ms)
			p.say("try later")
		}, 4 * ms, 4 * ms},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := testClient(t, "test:80")
				defer c.Close()
				pipes(c, once(tt.server))
				var r Result
				c.Do(t.Context(), &streamCall, &r)
				if r.End != tt.end || r.Free != tt.free {
					t.Errorf("%s: end %v, free %v, want %v and %v", r.Outcome, r.End, r.Free, tt.end, tt.free)
				}
				time.Sleep(time.Second) // the server's
			})
		})
	}
}

// TestStalls: a server stops at any point of an answer, and the wait ends in each possible way.
func TestStalls(t *testing.T) {
	stalls := []struct {
		name, text string
		events     int
		stream     bool
		say        []string
	}{
		{"before the answer", "no answer", 0, true, nil},
		{"in the header", "no answer", 0, true, []string{"HTTP/1.1 200 OK\r\n"}},
		{"after the header", "after 0 token", 0, true, []string{streamHead}},
		{"after a token", "after 1 token", 1, true, []string{streamHead, chunked(token("a"))}},
		{"in a chunk", "after 2 token", 2, true, []string{streamHead, chunked(token("a")), "fff\r\n" + token("b") + "data"}},
		{"behind the finish reason", "after 1 token", 1, true, []string{streamHead, chunked(token("a")), chunked(finish("stop"))}},
		{"in a document", "in the middle", 0, false, []string{"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"}},
		{"in an error's body", "", 0, true, []string{"HTTP/1.1 500 Oops\r\nContent-Length: 99\r\n\r\n{"}},
	}
	ways := []struct {
		want Outcome
		text string
		ctx  func() (context.Context, context.CancelFunc)
	}{
		{Timeout, "timed out after 1m0s", func() (context.Context, context.CancelFunc) { return context.WithCancel(context.Background()) }},
		{Timeout, "caller's deadline", func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(context.Background(), time.Second)
		}},
		{Cancelled, "cancelled", func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(time.Second, cancel)
			return ctx, cancel
		}},
		{Unfinished, "unfinished", func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(context.Background())
			time.AfterFunc(time.Second, func() { cancel(fmt.Errorf("grace is over: %w", ErrUnfinished)) })
			return ctx, func() { cancel(nil) }
		}},
	}
	for _, stall := range stalls {
		for _, way := range ways {
			t.Run(stall.name+"/"+way.text, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := testClient(t, "test:80")
					defer c.Close()
					pipes(c, once(func(p *peer) {
						p.say(stall.say...)
						_, _, _ = p.request() // until the client closes
					}))
					ctx, cancel := way.ctx()
					defer cancel()
					call := streamCall
					call.Stream = stall.stream
					start := time.Now()
					var r Result
					c.Do(ctx, &call, &r)
					if r.Outcome != way.want || !strings.Contains(r.Error, way.text) || way.want != Unfinished && !strings.Contains(r.Error, stall.text) || r.Events != stall.events {
						t.Errorf("%q, %q, %d events", r.Outcome, r.Error, r.Events)
					}
					wait := time.Second
					if strings.Contains(way.text, "1m0s") {
						wait = time.Minute
					}
					if took := time.Since(start); took != wait || r.End != wait {
						t.Errorf("took %v, end %v", took, r.End)
					}
					checkTimes(t, &r)
				})
			})
		}
	}
}

// TestDial: a connection that is never established is a time-out too, and a cancellation is obeyed.
func TestDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testClient(t, "test:80")
		c.dialTCP = func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		var r Result
		c.Do(t.Context(), &streamCall, &r)
		if r.Outcome != Timeout || !strings.Contains(r.Error, "no connection to test:80") || r.Sent != Never || r.End != time.Minute {
			t.Errorf("%+v", r)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if n, err := c.Prepare(ctx, 200); len(n) != 0 || err == nil {
			t.Error(n, err)
		}
	})
}

// TestDrain: a body that does not end after [DONE] delays Do by 250 ms, changes no outcome and costs the
// connection.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testClient(t, "test:80")
		defer c.Close()
		pipes(c, once(func(p *peer) {
			p.say(streamHead, chunked(token("a")), chunked(finish("stop")+doneEvent))
			_, _, _ = p.request()
		}))
		start := time.Now()
		var r Result
		for range 2 {
			c.Do(t.Context(), &streamCall, &r)
			if r.Outcome != OK || r.Reused {
				t.Errorf("%+v", r)
			}
		}
		if took := time.Since(start); took != 500*ms {
			t.Errorf("two requests took %v", took)
		}
	})
}

// TestIdle: connections that were idle or prepared for more than 4 s are not used.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testClient(t, "test:80")
		defer c.Close()
		var dialled atomic.Int32
		pipes(c, func(n int, p *peer) {
			dialled.Add(1)
			answer(stream(token("a"), finish("stop"), doneEvent))(n, p)
		})
		use := func(wait time.Duration, reused bool, want int32) {
			t.Helper()
			time.Sleep(wait)
			var r Result
			c.Do(t.Context(), &streamCall, &r)
			synctest.Wait()
			if r.Outcome != OK || r.Reused != reused || dialled.Load() != want {
				t.Errorf("%q %q, reused %v, %d dialled, want %d", r.Outcome, r.Error, r.Reused, dialled.Load(), want)
			}
		}
		if n, err := c.Prepare(t.Context(), 2); len(n) != 2 || err != nil {
			t.Fatal(n, err)
		}
		use(3900*ms, true, 2)
		use(3900*ms, true, 2)
		use(4100*ms, false, 3)
		if n, err := c.Prepare(t.Context(), 2); len(n) != 2 || err != nil {
			t.Fatal(n, err)
		}
		if n, err := c.Prepare(t.Context(), 1); len(n) != 1 || err != nil || len(c.idle.conns) != 1 {
			t.Fatal(n, err, len(c.idle.conns))
		}
	})
}

// TestStart: with an idle connection, the kernel has the whole request when Start returns, and Start did not
// wait.
func TestStart(t *testing.T) {
	got := make(chan string, 1)
	answer := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- string(body)
		<-answer
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, token("x")+finish("length")+doneEvent)
	}))
	defer srv.Close()
	c, err := New(Options{BaseURL: srv.URL + "/v1"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Prepare(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	var r Result
	rest := c.Start(t.Context(), &Call{Body: []byte(`{"n":1}`), Stream: true, Epoch: time.Now()}, &r)
	if runtime.GOOS == "linux" { // elsewhere finish sends it
		if body := <-got; body != `{"n":1}` || r.Sent == Never {
			t.Errorf("the server read %q, sent %v", body, r.Sent)
		}
	}
	close(answer)
	rest()
	if r.Outcome != OK || r.Events != 1 || !r.Reused || r.Sent > r.First {
		t.Errorf("%+v", r)
	}
}

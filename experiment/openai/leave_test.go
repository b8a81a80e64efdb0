package openai

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// A user who leaves closes the connection at exactly that moment; an answer that ends before is an ordinary one.
func TestLeave(t *testing.T) {
	tests := []struct {
		name       string
		after      time.Duration
		outcome    Outcome
		end        time.Duration
		got        int // output tokens
		closedConn bool
	}{
		{"stays", 0, OK, 30 * ms, 3, false},
		{"before the first token", 5 * ms, Left, 5 * ms, 0, true},
		{"in the middle", 25 * ms, Left, 25 * ms, 2, true},
		{"too late", 40 * ms, OK, 30 * ms, 3, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := testClient(t, "test:80")
				defer c.Close()
				connections := 0
				pipes(c, func(n int, p *peer) {
					connections = max(connections, n+1)
					answer(func(p *peer) {
						p.say(streamHead)
						for _, text := range []string{"a", "b", "c"} {
							time.Sleep(10 * ms)
							p.say(chunked(token(text)))
						}
						p.say(chunked(finish("stop")+doneEvent), lastChunk)
					})(n, p)
				})
				call := streamCall
				call.MaxTokens, call.LeaveAfter = 3, tt.after
				var r Result
				for range 2 { // a connection that was closed is not used again
					c.Do(t.Context(), &call, &r)
					if r.Outcome != tt.outcome || r.End-r.Sent != tt.end || r.Free != r.End || r.OutputTokens != tt.got || r.Error != "" {
						t.Errorf("%s after %v, free %v, %d tokens %q", r.Outcome, r.End-r.Sent, r.Free-r.Sent, r.OutputTokens, r.Error)
					}
				}
				if want := map[bool]int{false: 1, true: 2}[tt.closedConn]; connections != want {
					t.Errorf("%d connections, want %d", connections, want)
				}
				time.Sleep(time.Second) // the server notices
			})
		})
	}
}

// The user's departure is no time-out, and an earlier time-out is no departure.
func TestLeaveAndTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testClient(t, "test:80", func(o *Options) { o.Timeout = 20 * ms })
		defer c.Close()
		pipes(c, answer(func(p *peer) { time.Sleep(time.Second) }))
		for after, want := range map[time.Duration]Outcome{10 * ms: Left, 30 * ms: Timeout} {
			call := streamCall
			call.LeaveAfter = after
			var r Result
			if c.Do(t.Context(), &call, &r); r.Outcome != want {
				t.Errorf("after %v: %s", after, r.Outcome)
			}
		}
		time.Sleep(2 * time.Second) // the server notices
	})
}

// Over HTTP/2 the stream is reset, which the server sees, and the connection stays.
func TestLeaveHTTP2(t *testing.T) {
	gone := make(chan error, 1)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprint(w, token("a"), token("b"))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		gone <- r.Context().Err()
	}))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	defer s.Close()
	c := testClient(t, "", func(o *Options) { o.BaseURL, o.HTTP2 = s.URL+"/v1", true })
	defer c.Close()
	call := Call{Body: []byte(`{}`), Stream: true, LeaveAfter: 50 * ms}
	var r Result
	if c.Do(t.Context(), &call, &r); r.Outcome != Left || r.OutputTokens != 2 {
		t.Errorf("%s %q, %d tokens", r.Outcome, r.Error, r.OutputTokens)
	}
	<-gone
}

// The headers of a session and a trace go through both paths, and cost the head no allocation.
func TestSessionAndTraceHeaders(t *testing.T) {
	seen := make(chan http.Header, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprint(w, token("a"), finish("stop"), doneEvent)
	}))
	defer s.Close()
	for _, proxy := range []string{"", s.URL} {
		c := testClient(t, "", func(o *Options) { o.BaseURL, o.Proxy, o.SessionHeader = s.URL+"/v1", proxy, "X-Session-ID" })
		call := Call{Body: []byte(`{}`), Stream: true, SessionID: "abc-7", Traceparent: "00-1-2-01"}
		var r Result
		c.Do(t.Context(), &call, &r)
		if h := <-seen; h.Get("X-Session-ID") != "abc-7" || h.Get("Traceparent") != "00-1-2-01" {
			t.Errorf("proxy %q: %v", proxy, h)
		}
		b := make([]byte, 0, 4096)
		if n := testing.AllocsPerRun(10, func() { b = c.template.head(b[:0], &call, true) }); n > 0 {
			t.Errorf("the head takes %v allocations", n)
		}
		c.Close()
	}
}

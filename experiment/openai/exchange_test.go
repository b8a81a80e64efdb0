package openai

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bench/experiment/target"
)

func dialFunc(f func() (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) { return f() }
}

// reset makes the peer's close a TCP reset.
func (p *peer) reset() {
	p.Conn.(*net.TCPConn).SetLinger(0)
	p.Close()
}

func stream(parts ...string) func(p *peer) {
	return func(p *peer) {
		p.say(streamHead)
		for _, part := range parts {
			p.say(chunked(part))
		}
		p.say(lastChunk)
	}
}

// outcomeTest is a server that ends a stream in some way.
type outcomeTest struct {
	name   string
	server func(p *peer)
	want   Outcome
	text   string // in the error
	events int
	forced int
}

// outcomeTests are the ways that we could think of, in the words of an API.
func outcomeTests(s speech) []outcomeTest {
	return []outcomeTest{
		{"whole", stream(s.token("a"), s.token("b"), s.end("length", 5, 2)), OK, "", 2, 2},
		{"short by usage", stream(s.token("a"), s.token("b"), s.end("stop", 5, 2)), Short, "", 2, 3},
		{"short by events", stream(s.token("a"), s.token("b"), s.finish("stop"), s.done), Short, "", 2, 3},
		{"no [DONE], but a finish reason", stream(s.token("a"), s.finish("stop")), OK, "", 1, 0},
		{"[DONE], but no finish reason", stream(s.token("a"), doneEvent), OK, "", 1, 0},
		{"[DONE] without a line end", stream(s.token("a"), "data: [DONE]"), OK, "", 1, 0},
		{"[DONE] behind one line end", stream(s.token("a"), s.finish("stop")+"data: [DONE]\n"), OK, "", 1, 0},
		{"no empty lines", stream(unspaced(s.token("a")+s.token("b")+doneEvent) + "\n"), OK, "", 2, 0},
		{"no empty lines, and garbage", stream(unspaced(s.token("a")+s.token("b")) + "data: oops\n\n"), Protocol, "oops", 2, 0},
		{"reset after the finish reason", func(p *peer) {
			p.say(streamHead, chunked(s.token("a")), chunked(s.finish("stop")))
			time.Sleep(20 * time.Millisecond)
			p.reset()
		}, OK, "", 1, 0},
		{"comments and keep-alives", stream(": ping\n\n", "data:\n\n", ":\n"+s.token("a"), "event: ping\n\n", s.finish("stop"), s.done), OK, "", 1, 0},
		{"301 comments", stream(strings.Repeat(": ping\n", 301), s.token("a"), s.finish("stop"), s.done), OK, "", 1, 0},
		{"role and empty deltas only", stream(s.open+s.token(""), s.finish("stop"), s.done), Truncated, "before any token", 0, 0},
		{"tokens without text", stream(s.end("length", 5, 7)), OK, "", 0, 7},
		{"clean end without finish or [DONE]", stream(s.token("a"), s.token("b")), Truncated, "without a finish reason", 2, 0},
		{"empty body", stream(), Truncated, "without a finish reason", 0, 0},
		{"cut between chunks", func(p *peer) { p.say(streamHead, chunked(s.token("a"))) }, Truncated, "lost after 1", 1, 0},
		{"cut inside an event", func(p *peer) { p.say(streamHead, chunked(s.token("a")), chunked(`data: {"choices":[{"te`)) }, Truncated, "lost after 1", 1, 0},
		{"cut inside an event, no framing", func(p *peer) { p.say(plainHead, s.token("a"), `data: {"choices":[{"te`) }, Truncated, "without a finish", 1, 0},
		{"close-delimited and whole", func(p *peer) { p.say(plainHead, s.token("a"), s.finish("stop"), s.done) }, OK, "", 1, 0},
		{"reset in the middle", func(p *peer) { p.say(streamHead, chunked(s.token("a"))); time.Sleep(20 * time.Millisecond); p.reset() }, Truncated, "lost after 1", 1, 0},
		{"reset after the head", func(p *peer) { p.say(streamHead); time.Sleep(20 * time.Millisecond); p.reset() }, Truncated, "lost after 0", 0, 0},
		{"closed before any byte", func(p *peer) {}, Connect, "before any byte", 0, 0},
		{"reset before any byte", func(p *peer) { p.reset() }, Connect, "before any byte", 0, 0},
		{"cut in the header", func(p *peer) { p.say("HTTP/1.1 200 OK\r\nContent-Type: x\r\n") }, Truncated, "header", 0, 0},
		{"no HTTP", func(p *peer) { p.say("SSH-2.0-OpenSSH_9.9\r\n\r\n") }, Protocol, "not an HTTP response", 0, 0},
		{"broken chunk", func(p *peer) { p.say(streamHead, chunked(s.token("a")), "zz\r\nhello\r\n") }, Protocol, "broke", 1, 0},
		{"HTML", func(p *peer) { p.say(plainHead, "<html>\n<body>It works!</body>\n</html>") }, Protocol, "It works", 0, 0},
		{"JSON instead of a stream", func(p *peer) { p.say(plainHead, "{\n \"error\": {\"message\": \"no streams here\"}\n}\n") }, Protocol, "no streams here", 0, 0},
		{"garbage event", stream(s.token("a"), "data: {not json}\n\n", doneEvent), Protocol, "{not json}", 1, 0},
		{"binary garbage", stream("\x00\xff\xfe\x01\x02"), Protocol, "", 0, 0},
		{"text after tokens", stream(s.token("a"), "Internal Server Error"), Protocol, "Internal Server Error", 1, 0},
		{"a number", stream("data: 17\n\n", doneEvent), Protocol, "17", 0, 0},
		{"nested past all bounds", stream("data: "+strings.Repeat("[", 20000)+"\n\n", doneEvent), Protocol, "[[[", 0, 0},
		{"error object", stream(s.token("a"), "data: {\"error\":{\"message\":\"boom\",\"code\":500}}\n\n", doneEvent), Protocol, "boom", 1, 0},
		{"error after a comment", stream(": ping\n\n", "data: {\"error\":{\"message\":\"boom\"}}\n\n", doneEvent), Protocol, "boom", 0, 0},
		{"event: error", stream("event: error\ndata: {\"message\":\"boom\"}\n\n", doneEvent), Protocol, "boom", 0, 0},
		{"event: error with text", stream("event:error\ndata:boom\n\n", doneEvent), Protocol, "boom", 0, 0},
		{"error as a string", stream("data: {\"error\":\"boom\"}\n\n", doneEvent), Protocol, "boom", 0, 0},
		{"error with spaces", stream("data: { \"error\" : {\"message\":\"boom\"} }\n\n", doneEvent), Protocol, "boom", 0, 0},
		{"error by its object", stream("data: {\"object\":\"error\",\"message\":\"boom\"}\n\n", doneEvent), Protocol, "boom", 0, 0},
		{"llama.cpp's error field", stream(s.token("a"), "error: {\"code\":500,\"message\":\"boom\"}\n\n"), Protocol, "boom", 1, 0},
		{"null error", stream(strings.Replace(s.token("a"), "data: {", `data: {"error":null,`, 1), s.finish("stop"), s.done), OK, "", 1, 0},
		{"500 with JSON", func(p *peer) {
			p.say("HTTP/1.1 500 Oops\r\nContent-Length: 31\r\n\r\n", `{"error":{"message":"no luck"}}`)
		}, Status, "no luck", 0, 0},
		{"503 with text", func(p *peer) { p.say("HTTP/1.1 503 Busy\r\nContent-Length: 9\r\n\r\n", "try later") }, Status, "503 Busy: try later", 0, 0},
		{"422 of FastAPI, cut", func(p *peer) {
			p.say("HTTP/1.1 422 X\r\nContent-Length: 99\r\n\r\n", `{"detail":[{"loc":["body","n"],"msg":"Field required"}]}`)
		}, Status, "Field required", 0, 0},
		{"429 without a body", func(p *peer) { p.say("HTTP/1.1 429 Slow\r\nContent-Length: 0\r\nRetry-After: 7\r\n\r\n") }, Status, "429 Slow (Retry-After 7)", 0, 0},
		{"429 with its limit", func(p *peer) {
			p.say("HTTP/1.1 429 Slow\r\nContent-Length: 3\r\nRetry-After: 7\r\nx-ratelimit-limit-requests: 60\r\n\r\nno!")
		}, Status, "429 Slow (Retry-After 7, X-Ratelimit-Limit-Requests 60): no!", 0, 0},
		{"redirect", func(p *peer) { p.say("HTTP/1.1 307 Elsewhere\r\nLocation: /v2\r\nContent-Length: 0\r\n\r\n") }, Status, "Location /v2", 0, 0},
		{"unasked gzip", func(p *peer) { p.say(streamHead, chunked("\x1f\x8b\x08\x00\x00\n\x00"), lastChunk) }, Protocol, "", 0, 0},
		{"early hints", func(p *peer) {
			p.say("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
			stream(s.token("a"), s.finish("stop"), s.done)(p)
		}, OK, "", 1, 0},
	}
}

// TestOutcomes runs the client against servers that end a stream in every way, by each API.
func TestOutcomes(t *testing.T) {
	for _, s := range speeches {
		for _, tt := range append(outcomeTests(s), s.outcomes()...) {
			t.Run(s.api+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				c := testClient(t, listen(t, once(tt.server)), func(o *Options) { o.API = s.api })
				call := streamCall
				call.MinTokens = tt.forced
				var r Result
				c.Do(t.Context(), &call, &r)
				if r.Outcome != tt.want || !strings.Contains(r.Error, tt.text) || r.Events != tt.events {
					t.Errorf("got %q, %q, %d events; want %q, %q, %d events", r.Outcome, r.Error, r.Events, tt.want, tt.text, tt.events)
				}
				if (r.Error == "") != !r.Outcome.Failed() {
					t.Errorf("outcome %q with error %q", r.Outcome, r.Error)
				}
				checkTimes(t, &r)
			})
		}
	}
}

// checkTimes checks what is true of every result.
func checkTimes(t *testing.T, r *Result) {
	t.Helper()
	last := time.Duration(0)
	for _, at := range []time.Duration{r.Sent, r.FirstEvent, r.First, r.Last, r.End, r.Free} {
		if at != Never && at < last {
			t.Errorf("times out of order: %v %v %v %v %v %v", r.Sent, r.FirstEvent, r.First, r.Last, r.End, r.Free)
		}
		last = max(last, at)
	}
	if r.End == Never || r.Free == Never || (r.First == Never) != (r.Events == 0) || len(r.Gaps) != max(0, r.Events-1) {
		t.Errorf("end %v, first %v, %d events, %d gaps", r.End, r.First, r.Events, len(r.Gaps))
	}
	sum := r.First
	for _, gap := range r.Gaps {
		sum += gap
	}
	if r.Events > 0 && sum != r.Last {
		t.Errorf("first and gaps make %v, last is %v", sum, r.Last)
	}
	if len(r.Error) > maxError {
		t.Errorf("error of %d bytes", len(r.Error))
	}
}

func TestRefusedConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	c := testClient(t, addr)
	var r Result
	c.Do(t.Context(), &streamCall, &r)
	if r.Outcome != Connect || !strings.Contains(r.Error, "refused") || r.Sent != Never || r.Connect != Never || r.Status != 0 {
		t.Errorf("%+v", r)
	}
	if _, err := c.Prepare(t.Context(), 3); err == nil || !strings.Contains(err.Error(), addr) {
		t.Errorf("Prepare: %v", err)
	}
	if _, err := c.Models(t.Context()); err == nil || !strings.Contains(err.Error(), "http://"+addr+"/v1/models") {
		t.Errorf("Models: %v", err)
	}
}

func TestResult(t *testing.T) {
	seen := make(chan *http.Request, 1)
	body := make(chan string, 1)
	addr := listen(t, func(_ int, p *peer) {
		req, b, _ := p.request()
		seen <- req
		body <- string(b)
		stream(`data: {"id":"chat-1","choices":[{"delta":{"role":"assistant"}}]}`+"\n\n",
			`data: {"choices":[{"delta":{"reasoning":"hm"}}],"usage":{"prompt_tokens":9,"completion_tokens":1}}`+"\n\n",
			`data: {"choices":[{"delta":{"content":"abc"}}],"usage":{"prompt_tokens":9,"completion_tokens":4}}`+"\n\n",
			`data: {"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"{"}}]}}],"usage":{"prompt_tokens":9,"completion_tokens":5}}`+"\n\n",
			`data: {"choices":[{"delta":{},"finish_reason":"length"}]}`+"\n\n", usage(9, 5), doneEvent)(p)
	})
	c := testClient(t, addr, func(o *Options) {
		o.API = target.Chat
		o.Headers = map[string]string{"X-Team": "infra-1", "Host": "model.test"}
	})
	r := Result{Gaps: make([]time.Duration, 0, 64)}
	room := &r.Gaps[:1][0]
	c.Do(t.Context(), &Call{Body: []byte(`{"a":1}`), Stream: true, RequestID: "r-17"}, &r)
	if r.Outcome != OK || r.Events != 3 || fmt.Sprint(r.TokensPerEvent) != "[1 3 1]" || r.PromptTokens != 9 || r.OutputTokens != 5 ||
		!r.HasUsage || !r.HasCached || r.CachedTokens != 3 || r.Estimated || r.Finish != "length" || r.ServerID != "chat-1" || r.Status != 200 {
		t.Errorf("%+v", r)
	}
	if r.FirstEvent == Never || r.FirstEvent > r.First || r.Header.Get("Content-Type") == "" || r.Reused || r.Connect <= 0 {
		t.Errorf("%+v", r)
	}
	if &r.Gaps[0] != room {
		t.Error("the gaps' room was not reused")
	}
	req := <-seen
	if got := <-body; got != `{"a":1}` {
		t.Errorf("body %q", got)
	}
	want := map[string]string{"Authorization": "Bearer " + testKey, "Accept": "text/event-stream", "Content-Type": "application/json",
		"X-Team": "infra-1", "X-Request-Id": "r-17", "Accept-Encoding": ""}
	for name, value := range want {
		if req.Header.Get(name) != value {
			t.Errorf("header %s: %q, want %q", name, req.Header.Get(name), value)
		}
	}
	if req.URL.Path != "/v1/chat/completions" || req.Host != "model.test" || req.ContentLength != 7 {
		t.Errorf("%s %s %d", req.URL.Path, req.Host, req.ContentLength)
	}
}

func TestDocument(t *testing.T) {
	document := func(body string) func(p *peer) {
		return func(p *peer) { p.say(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)) }
	}
	whole := `{"id":"c","choices":[{"message":{"content":"hello"},"finish_reason":"length"}],"usage":{"prompt_tokens":5,"completion_tokens":2}}`
	tests := []struct {
		name   string
		server func(p *peer)
		want   Outcome
		output int
	}{
		{"whole", document(whole), OK, 2},
		{"long", document(strings.Replace(whole, "hello", strings.Repeat("x", 1<<20), 1)), OK, 2},
		{"forced and short", document(strings.Replace(whole, `"completion_tokens":2`, `"completion_tokens":1`, 1)), Short, 1},
		{"no usage", document(`{"choices":[{"text":"hello"}]}`), OK, 1},
		{"empty text, but counted", document(strings.Replace(whole, "hello", "", 1)), OK, 2},
		{"nothing", document(`{"choices":[{"text":""}]}`), Truncated, 0},
		{"error", document(`{"error":{"message":"boom"}}`), Protocol, 0},
		{"other JSON", document(`{"hello":"world"}`), Protocol, 0},
		{"HTML", document(`<html></html>`), Protocol, 0},
		{"empty", document(``), Truncated, 0},
		{"cut", func(p *peer) { p.say("HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n", whole) }, Truncated, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := testClient(t, listen(t, once(tt.server)))
			var r Result
			c.Do(t.Context(), &Call{Body: []byte("{}"), MinTokens: 2}, &r)
			if r.Outcome != tt.want || r.OutputTokens != tt.output || r.First != Never || r.FirstEvent != Never || r.Last == Never && !r.Outcome.Failed() {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestNoRetry: a reused connection dies as the second request is sent; the server must see that request once.
func TestNoRetry(t *testing.T) {
	var requests atomic.Int32
	addr := listen(t, func(_ int, p *peer) {
		for i := range 2 {
			if _, _, err := p.request(); err != nil {
				return
			}
			requests.Add(1)
			if i == 0 {
				stream(token("a"), finish("stop"), doneEvent)(p)
			}
		}
	})
	c := testClient(t, addr, func(o *Options) { o.Headers = map[string]string{"Idempotency-Key": "k-1234"} })
	var r Result
	c.Do(t.Context(), &streamCall, &r)
	if r.Outcome != OK {
		t.Fatalf("%+v", r)
	}
	c.Do(t.Context(), &streamCall, &r)
	if r.Outcome != Connect || !r.Reused || requests.Load() != 2 {
		t.Errorf("outcome %q (%s), reused %v, %d requests seen", r.Outcome, r.Error, r.Reused, requests.Load())
	}
}

// TestReuse: the terminal chunk comes 3 ms after [DONE], as uvicorn sends it; the connection must survive.
func TestReuse(t *testing.T) {
	var conns atomic.Int32
	addr := listen(t, func(n int, p *peer) {
		conns.Add(1)
		answer(func(p *peer) {
			p.say(streamHead, chunked(token("a")), chunked(finish("stop")), chunked(doneEvent))
			time.Sleep(3 * time.Millisecond)
			p.say(lastChunk)
		})(n, p)
	})
	c := testClient(t, addr)
	var r Result
	for range 50 {
		c.Do(t.Context(), &streamCall, &r)
		if r.Outcome != OK {
			t.Fatalf("%+v", r)
		}
	}
	if conns.Load() != 1 {
		t.Errorf("50 requests took %d connections", conns.Load())
	}
	if !r.Reused || r.Connect != 0 {
		t.Errorf("reused %v, connect %v", r.Reused, r.Connect)
	}
}

func TestPrepare(t *testing.T) {
	var conns atomic.Int32
	addr := listen(t, func(n int, p *peer) {
		conns.Add(1)
		answer(stream(token("a"), finish("stop"), doneEvent))(n, p)
	})
	c := testClient(t, addr)
	if n, err := c.Prepare(t.Context(), 100); len(n) != 100 || err != nil {
		t.Fatal(n, err)
	}
	var r Result
	c.Do(t.Context(), &streamCall, &r)
	if r.Outcome != OK || !r.Reused || r.Connect != 0 {
		t.Errorf("%+v", r)
	}
	for deadline := time.Now().Add(time.Minute); conns.Load() < 100 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if conns.Load() != 100 {
		t.Errorf("%d connections", conns.Load())
	}
}

// TestNoReuse: the connection of an earlier request is not used, either: the server may be closing it.
func TestNoReuse(t *testing.T) {
	c := testClient(t, listen(t, answer(stream(token("a"), finish("stop"), doneEvent))))
	var r Result
	c.Do(t.Context(), &streamCall, &r)
	c.NoReuse()
	c.Do(t.Context(), &streamCall, &r)
	if r.Outcome != OK || r.Reused {
		t.Errorf("%s %s, reused %v", r.Outcome, r.Error, r.Reused)
	}
}

// TestPreparedButClosed: the server has closed a prepared connection; the request must not fail because of
// it.
func TestPreparedButClosed(t *testing.T) {
	closed := make(chan bool)
	addr := listen(t, func(n int, p *peer) {
		if n == 0 {
			p.Close()
			close(closed)
			return
		}
		answer(stream(token("a"), finish("stop"), doneEvent))(n, p)
	})
	c := testClient(t, addr)
	if _, err := c.Prepare(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	<-closed
	time.Sleep(10 * time.Millisecond)
	var r Result
	c.Do(t.Context(), &streamCall, &r)
	if r.Outcome != OK || r.Reused {
		t.Errorf("%q %q, reused %v", r.Outcome, r.Error, r.Reused)
	}
}

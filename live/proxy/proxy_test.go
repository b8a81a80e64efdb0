package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	fixture "bench/internal/fixturetest"
	"bench/live/recording"
)

// rig is a proxy between a caller and a server, in a bubble.
type rig struct {
	*Proxy
	server *Server
	caller *http.Client
	end    context.CancelFunc // of Serve
	served chan error

	mu       sync.Mutex
	recorded []*recording.Exchange
	hold     chan struct{} // the recorder waits for its end; nil = it does not
}

// newRig serves answer behind a proxy. A candidate is at the same server, as host b.
func newRig(t *testing.T, c Config, answer http.HandlerFunc) *rig {
	t.Helper()
	return newRigOf(t, c, &Server{Drain: 10 * time.Second}, answer)
}

func newRigOf(t *testing.T, c Config, s *Server, answer http.HandlerFunc) *rig {
	t.Helper()
	r := &rig{served: make(chan error, 1), server: s}
	behind, front := fixture.NewPipes(), fixture.NewPipes()
	upstream := &http.Server{Handler: answer}
	go upstream.Serve(behind)
	c.To, c.Dial = &url.URL{Scheme: "http", Host: "a", Path: "/v1"}, behind.Dial
	c.Done = func(x *recording.Exchange) {
		r.mu.Lock()
		r.recorded = append(r.recorded, x)
		hold := r.hold
		r.mu.Unlock()
		if hold != nil {
			<-hold
		}
	}
	var err error
	if r.Proxy, err = New(c); err != nil {
		t.Fatal(err)
	}
	r.server.Proxy = r.Proxy
	ctx, end := context.WithCancel(t.Context())
	r.end = end
	go func() { r.served <- r.server.Serve(ctx, front) }()
	transport := &http.Transport{DialContext: front.Dial, DisableCompression: true}
	r.caller = &http.Client{Transport: transport}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		r.end()
		if err := <-r.served; err != nil {
			t.Error(err)
		}
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
		upstream.Close()
		if r.copies.left != defaultMaxCopies {
			t.Errorf("%d bytes of bodies are still kept", defaultMaxCopies-r.copies.left)
		}
	})
	return r
}

// post sends a request of the chat API.
func (r *rig) post(ctx context.Context, body string) (*http.Response, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://p/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	return r.caller.Do(q)
}

// all are the exchanges so far.
func (r *rig) all() []*recording.Exchange {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.recorded
}

const question = `{"model":"secret-model","messages":[{"role":"user","content":"a question"}],"stream":true}`

// words answers with a token every 10 ms, the first one after 20 ms.
func words(tokens int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		time.Sleep(10 * time.Millisecond)
		for range tokens {
			select {
			case <-r.Context().Done():
				return
			case <-time.After(10 * time.Millisecond):
			}
			fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":" word"}}]}`+"\n\n")
			_ = http.NewResponseController(w).Flush()
		}
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\n",
			fmt.Sprintf(`data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":%d}}`, tokens)+"\n\ndata: [DONE]\n\n")
	}
}

func TestRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{}, words(3))
		time.Sleep(time.Second)
		a, err := r.post(t.Context(), question)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(a.Body); err != nil || strings.Count(string(body), " word") != 3 {
			t.Fatal(string(body), err)
		}
		x := r.all()[0]
		q := x.Request
		if x.Timestamp != "1000.000" || x.Input != 7 || x.Output != 3 || x.Class != "1" || x.Session != 1 || x.Turn != 1 || len(x.HashIDs) != 1 {
			t.Errorf("%+v", x)
		}
		if q.Outcome != "ok" || q.Sent.Us() != 1_000_000 || q.First.Us() != 1_020_000 || q.Last.Us() != 1_040_000 {
			t.Errorf("%+v", q)
		}
	})
}

func TestCallerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gone time.Duration
		began := time.Now()
		r := newRig(t, Config{}, func(w http.ResponseWriter, q *http.Request) {
			_, _ = io.Copy(io.Discard, q.Body)
			_ = http.NewResponseController(w).Flush()
			<-q.Context().Done()
			gone = time.Since(began)
		})
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		a, err := r.post(ctx, question)
		if err == nil {
			_, err = io.ReadAll(a.Body)
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if x := r.all(); len(x) != 1 || x[0].Request.Outcome != "left" {
			t.Errorf("%+v", x[0].Request)
		}
		if gone != 50*time.Millisecond {
			t.Errorf("the server noticed after %v", gone)
		}
	})
}

func TestSlowCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{}, words(10))
		a, err := r.post(t.Context(), question)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(3*time.Second + time.Microsecond)
		if _, err := io.ReadAll(a.Body); err != nil {
			t.Fatal(err)
		}
		if x := r.all()[0]; x.BlockedUs < 2_900_000 || x.Request.Outcome != "ok" {
			t.Errorf("%+v", x)
		}
	})
}

func TestDrain(t *testing.T) {
	for name, c := range map[string]struct {
		tokens  int
		outcome string
	}{"in time": {100, "ok"}, "cut": {5000, "unfinished"}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, Config{}, words(c.tokens))
				a, err := r.post(t.Context(), question)
				if err != nil {
					t.Fatal(err)
				}
				time.AfterFunc(55*time.Millisecond+time.Microsecond, r.end)
				_, err = io.ReadAll(a.Body)
				if (err == nil) != (c.outcome == "ok") {
					t.Error(err)
				}
				if !r.server.Draining() {
					t.Error("not draining")
				}
				if x := r.all(); len(x) != 1 || x[0].Request.Outcome != c.outcome {
					t.Errorf("%+v", x[0].Request)
				}
			})
		})
	}
}

func TestServerDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{}, nil)
		r.transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
			return nil, errors.New("dialing 10.1.2.3:8000: refused")
		}
		a, err := r.post(t.Context(), question)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(a.Body)
		if a.StatusCode != http.StatusBadGateway || bytes.Contains(body, []byte("10.1.2.3")) || r.Counts().Unreachable != 1 {
			t.Error(a.Status, string(body), r.Counts())
		}
		if x := r.all(); len(x) != 1 || x[0].Request.Outcome != "connect" {
			t.Errorf("%+v", x[0].Request)
		}
	})
}

func TestMaxBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{maxBody: 1 << 20}, words(1))
		for _, length := range []int64{2 << 20, -1} {
			q, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://p/v1/completions", strings.NewReader(strings.Repeat("x", 2<<20)))
			q.ContentLength = length
			a, err := r.caller.Do(q)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(a.Body)
			a.Body.Close()
			if a.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(string(text), "larger than 1 MiB") {
				t.Errorf("%s: %s", a.Status, text)
			}
		}
		if n := r.Counts(); n.Refused != 2 || len(r.all()) != 0 {
			t.Errorf("%+v", n)
		}
	})
}

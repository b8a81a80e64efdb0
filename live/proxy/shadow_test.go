package proxy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bench/experiment/openai"
	"bench/experiment/target"
	fixture "bench/internal/fixturetest"
)

// candidate is a server in memory with a shadow before it.
type candidate struct {
	t       *testing.T
	shadow  *shadow
	pipes   *fixture.Pipes
	server  *http.Server
	started time.Time
	known   *conversations

	mu      sync.Mutex
	results []*openai.Result // of done; nil included
}

// newCandidate starts a server with a handler; end it with end.
func newCandidate(t *testing.T, c ShadowConfig, handle http.HandlerFunc) *candidate {
	x := &candidate{t: t, pipes: fixture.NewPipes(), server: &http.Server{Handler: handle}, started: time.Now(), known: newConversations("")}
	c.To = &url.URL{Scheme: "http", Host: "b", Path: "/v1"}
	if c.Share == 0 {
		c.Share = 1
	}
	transport := &http.Transport{DialContext: x.pipes.Dial, DisableCompression: true, MaxResponseHeaderBytes: maxCandidateHeader}
	x.shadow = newShadow(c, transport, x.started)
	if handle != nil {
		go x.server.Serve(x.pipes)
	}
	return x
}

// end closes everything: the bubble of the test reports goroutines that stay.
func (x *candidate) end() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	x.shadow.close(ctx)
	x.server.Close()
	time.Sleep(time.Minute) // handlers that sleep wake up
	x.pipes.Close()
	if queued, flying := x.shadow.load(); queued+flying > 0 || x.shadow.bytes != 0 {
		x.t.Errorf("after the end %d wait, %d are in flight with %d bytes", queued, flying, x.shadow.bytes)
	}
}

// offer offers a chat request. It must take no time, whatever the candidate does.
func (x *candidate) offer(messages ...string) *copied {
	body := []byte(chat(messages...))
	return x.offerTurn(x.known.find(target.Chat, nil, body), body)
}

func (x *candidate) offerTurn(at turn, body []byte) *copied {
	header := http.Header{"Authorization": {"Bearer caller"}, "Connection": {"X-Hop"}, "X-Hop": {"1"}, "X-Kept": {"2"}, "Accept-Encoding": {"gzip"}}
	before := time.Now()
	defer func() {
		if d := time.Since(before); d > 0 {
			x.t.Errorf("an offer took %s", d)
		}
	}()
	return x.shadow.offer(original{turn: at, api: target.Chat, url: &url.URL{Path: "/v1/chat/completions", RawQuery: "q=1"}, header: header, body: body,
		done: func(r *openai.Result) {
			clear(body) // it may be another request's now: nothing may read it
			x.mu.Lock()
			defer x.mu.Unlock()
			x.results = append(x.results, r)
		}})
}

// outcomes are the results' outcomes in order; none = nil.
func (x *candidate) outcomes() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	var out []string
	for _, r := range x.results {
		if r == nil {
			out = append(out, "none")
			continue
		}
		out = append(out, string(r.Outcome))
	}
	return strings.Join(out, " ")
}

func (x *candidate) check(what string, want string) {
	x.t.Helper()
	c := x.shadow.counts()
	got := fmt.Sprintf("sent %d dropped %d stateful %d stopped %q queue %d", c.Sent, c.Dropped, c.Stateful, c.Stopped, c.Queued)
	if got != want {
		x.t.Errorf("%s: %s, want %s", what, got, want)
	}
}

// stream answers with two tokens, a second apart.
func stream(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	for i := range 2 {
		time.Sleep(time.Second)
		fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":\"token %d\"}}]}\n\n", i)
		w.(http.Flusher).Flush()
	}
	fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: {\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":2},\"choices\":[]}\n\ndata: [DONE]\n\n")
}

func TestShadowCopies(t *testing.T) {
	for _, c := range []struct {
		name   string
		config ShadowConfig
		want   []string // parts of the request as the candidate got it
	}{
		{"as it is", ShadowConfig{}, []string{"Bearer caller", chat("u 1") + "\n"}},
		{"another key", ShadowConfig{Key: "other"}, []string{"Bearer other", chat("u 1") + "\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got string
				x := newCandidate(t, c.config, func(w http.ResponseWriter, r *http.Request) {
					body, err := io.ReadAll(r.Body)
					got = fmt.Sprint(r.Method, " ", r.URL, r.Host, r.Header, "\n", string(body), "\n", err, r.ContentLength == int64(len(body)))
					stream(w, r)
				})
				time.Sleep(3 * time.Second)
				x.offer("u 1")
				time.Sleep(time.Minute)
				synctest.Wait()
				for _, want := range append(c.want, "POST /v1/chat/completions?q=1b", "X-Kept:[2]", "Accept-Encoding:[identity]", "<nil> true") {
					if !strings.Contains(got, want) {
						t.Errorf("the candidate got %s\nwithout %q", got, want)
					}
				}
				if strings.Contains(got, "X-Hop") || strings.Contains(got, "Connection") || strings.Contains(got, "User-Agent") || c.config.Key != "" && strings.Contains(got, "caller") {
					t.Errorf("the candidate got %s", got)
				}
				r := x.results[0]
				if times := []time.Duration{r.Sent, r.First, r.Last}; r.Outcome != openai.OK || r.OutputTokens != 2 || !slices.Equal(times, []time.Duration{3 * time.Second, 4 * time.Second, 5 * time.Second}) {
					t.Errorf("%+v", r)
				}
				if c := x.shadow.counts(); c.FirstUs != 3_000_000 {
					t.Errorf("the first copy at %d us", c.FirstUs)
				}
				x.end()
				x.check("at the end", `sent 1 dropped 0 stateful 0 stopped "" queue 0`)
			})
		})
	}
}

// TestShadowWholeConversations checks which turns are copied.
func TestShadowWholeConversations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newCandidate(t, ShadowConfig{concurrency: 1, queueCopies: 1}, stream)
		x.offer("u late", "a x", "u 2") // its first turn was not seen
		x.check("a late one", `sent 0 dropped 0 stateful 0 stopped "" queue 0`)
		x.offer("u 1")
		x.offer("u 2")
		x.offer("u 3") // the queue is full
		x.check("three at once", `sent 1 dropped 1 stateful 0 stopped "" queue 1`)
		time.Sleep(time.Minute)
		x.offer("u 3", "a x", "u more") // the candidate lacks its first turn
		x.offer("u 1", "a x", "u more")
		time.Sleep(time.Minute)
		x.check("second turns", `sent 3 dropped 2 stateful 0 stopped "" queue 1`)
		first := x.known.find(target.Responses, nil, []byte(`{"input":"a"}`))
		x.known.answered(first, "resp_1")
		second := []byte(`{"input":"b","previous_response_id":"resp_1"}`)
		x.offerTurn(x.known.find(target.Responses, nil, second), second)
		x.offerTurn(x.known.find(target.Chat, nil, []byte(chat("u large"))), nil)
		x.offerTurn(turn{}, []byte("x"))
		x.check("what cannot be copied", `sent 3 dropped 3 stateful 1 stopped "" queue 1`)
		x.end()
		if x.offer("u 9") != nil || x.outcomes() != "ok ok ok" {
			t.Error(x.outcomes())
		}
	})
}

func TestShadowShare(t *testing.T) {
	s := newShadow(ShadowConfig{Share: 0.1, To: &url.URL{}}, nil, time.Now())
	n := 0
	for i := range 20_000 {
		if of := (&conversation{session: i + 1}); s.chosen(of) {
			if n++; !s.chosen(of) {
				t.Fatal("not the same twice")
			}
		}
	}
	if n < 1800 || n > 2200 { // 2000 ± 42
		t.Errorf("%d of 20000 at a share of 0.1", n)
	}
	var none *shadow
	none.stop(stoppedOperator)
	none.ended(nil, nil)
	none.close(t.Context())
	if none.counts() != nil || none.offer(original{turn: turn{conversation: &conversation{}}}) != nil {
		t.Error("a nil shadow copies")
	}
	(*copied)(nil).callerLeft()
}

func TestShadowCallerLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newCandidate(t, ShadowConfig{concurrency: 1}, stream)
		first, second := x.offer("u 1"), x.offer("u 2")
		time.Sleep(1500 * time.Millisecond)
		second.callerLeft()
		first.callerLeft()
		synctest.Wait()
		if got := x.outcomes(); got != "none left" {
			t.Error(got)
		}
		second.callerLeft() // too late, and again
		first.callerLeft()
		x.offer("u 1", "a x", "u more") // an answer that was cut left the candidate's cache as it left the primary's
		x.offer("u 2", "a x", "u more")
		time.Sleep(time.Minute)
		x.check("two callers left", `sent 2 dropped 2 stateful 0 stopped "" queue 1`)
		x.end()
	})
}

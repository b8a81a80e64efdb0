package runner

import (
	"bytes"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bench/experiment/mock"
	"bench/experiment/openai"
	"bench/experiment/selftest"
)

// What happened outside the server is the client's length of time less the server's, whatever clocks they
// have.
func TestOutside(t *testing.T) {
	a := answered("a", 1*milli, 61*milli, 75*milli, 81*milli)
	failed := clientRecord{id: "f", window: true, sent: milli, first: openai.Never, outcome: openai.Status, err: "HTTP 502"}
	byName := answered("b", 0, 50*milli)
	byName.serverID = "cmpl-other"
	early := answered("w", 0, milli)
	early.window = false
	o := &clientLog{start: 0, end: second, samples: []clientRecord{a, failed, byName, early, answered("lost", 0, milli), answered("joined", 0, 30*milli)}}
	renamed := noted(9_000_000_000, 9_049_000_000)
	renamed.ID = "cmpl-other"
	out := outside(o, map[string]*serverRecord{
		"a":      noted(7_000_000_000, 7_050_000_000, 7_060_000_000, 7_070_000_000), // another clock
		"made":   renamed,
		"joined": noted(0, 10_000_000, 20_000_000),
	})
	if out.Requests != 3 || out.Failed != 1 || out.Missing != 1 || out.Regrouped != 1 || out.FirstFailure != "status: HTTP 502" || out.Problem != "" {
		t.Errorf("%+v", out)
	}
	// a: 60 ms, of which the server had 50; its gaps are 4 ms longer and 4 ms shorter. b: 50 of 49; joined:
	// 30 of 10.
	if out.TTFT.N != 3 || out.TTFT.P50Us != 10_000 || out.TTFT.MaxUs != 20_000 || out.Gap.N != 2 || out.Gap.MinUs != -4000 || out.Gap.MaxUs != 4000 {
		t.Errorf("%+v, %+v", out.TTFT, out.Gap)
	}
	if len(out.Each) != 3 || out.Each[0].ID != "a" || out.Each[0].TTFTUs != 10_000 || *out.Each[0].GapUs != 4000 || out.Each[2].GapUs != nil {
		t.Errorf("%+v", out.Each)
	}
	if none := outside(&clientLog{samples: []clientRecord{answered("x", 0, milli)}}, nil); !strings.Contains(none.Problem, "X-Request-Id") {
		t.Errorf("%+v", none)
	}
}

// A gateway that delays each request by 30 ms adds at least that to the first token.
func TestCompare(t *testing.T) {
	server := serving(t, mock.Config{TTFT: 20 * time.Millisecond, ITL: 5 * time.Millisecond})
	var passed atomic.Int32
	for name, prepare := range map[string]func(*http.Request){
		"with the request id": func(*http.Request) {},
		"without":             func(r *http.Request) { r.Header.Del("X-Request-Id") },
	} {
		t.Run(name, func(t *testing.T) {
			gateway := standing(t, server, func(r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/completions") {
					passed.Add(1)
				}
				time.Sleep(30 * time.Millisecond)
				prepare(r)
			})
			l := DefaultLadder()
			l.Streams, l.Rates, l.Tokens, l.Window = []int{4}, nil, 10, 300*time.Millisecond
			c, err := Gateway{URL: gateway, Server: server, Ladder: l}.Compare(t.Context(), selftest.Machine{})
			if err != nil {
				t.Fatal(err)
			}
			p := c.Steps[0]
			if p.Problem != "" || p.Through.Missing+p.Through.Failed+p.Through.Regrouped > 0 || p.Through.Requests < 4 {
				t.Fatalf("%+v", p)
			}
			if n := int(passed.Swap(0)); p.Through.TTFT.P50Us < 30_000 || n < p.Through.Requests {
				t.Errorf("%d requests passed the gateway; %d measured, %+v", n, p.Through.Requests, p.Through.TTFT)
			}
			var text bytes.Buffer
			if err := selftest.GatewayText(&text, c); err != nil || !c.Measured() || !strings.Contains(text.String(), "\nburst 4 ") {
				t.Errorf("%v: %s", err, &text)
			}
		})
	}
}

// What can't be compared says why.
func TestCompareProblems(t *testing.T) {
	l := DefaultLadder()
	l.Streams, l.Rates, l.Tokens, l.Window = []int{1}, nil, 3, 100*time.Millisecond
	exact := serving(t, mock.Config{TTFT: time.Millisecond, ITL: time.Millisecond})
	down := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no upstream", http.StatusBadGateway) }))
	defer down.Close()
	c, err := Gateway{URL: down.URL, Server: exact, Ladder: l}.Compare(t.Context(), selftest.Machine{})
	if err != nil || c.Measured() || !strings.Contains(c.Steps[0].Problem, "through the gateway: status: HTTP 502") {
		t.Errorf("%v, %+v", err, c)
	}
	for server, want := range map[string]string{
		serving(t, mock.Config{}): "no fixed times",
		down.URL:                  "--server must be bench mock",
		"ftp://x":                 "the server: ",
	} {
		if _, err := (Gateway{URL: down.URL, Server: server, Ladder: l}).Compare(t.Context(), selftest.Machine{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", server, err, want)
		}
	}
}

// A gateway that is not there is said once, whatever the number of steps, and not as a matter of open files.
func TestDeadGatewayIsSaidOnce(t *testing.T) {
	l := DefaultLadder()
	l.Streams, l.Rates, l.Tokens, l.Window = []int{1, 2}, nil, 3, 100*time.Millisecond
	exact := serving(t, mock.Config{TTFT: time.Millisecond, ITL: time.Millisecond})
	dead := httptest.NewServer(nil)
	dead.Close()
	c, err := Gateway{URL: dead.URL, Server: exact, Ladder: l}.Compare(t.Context(), selftest.Machine{})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := selftest.GatewayText(&b, c); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); strings.Count(got, " failed: ") != 1 || !strings.Contains(got, "burst 1, burst 2 failed: ") || strings.Contains(got, "ulimit") {
		t.Errorf("it says\n%s", got)
	}
}

// serving runs a simulated server until the test ends.
func serving(t *testing.T, c mock.Config) string {
	t.Helper()
	m, err := mock.New(c)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	return "http://" + l.Addr().String()
}

// standing is a gateway before a server.
func standing(t *testing.T, server string, each func(*http.Request)) string {
	t.Helper()
	destination, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	p := httputil.NewSingleHostReverseProxy(destination)
	p.FlushInterval = -1
	p.ErrorLog = log.New(io.Discard, "", 0) // requests that are cut at a step's end
	g := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		each(r)
		p.ServeHTTP(w, r)
	}))
	t.Cleanup(g.Close)
	return g.URL
}

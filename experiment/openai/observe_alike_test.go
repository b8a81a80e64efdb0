package openai

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// pass reads an answer as a proxy does.
func pass(t *testing.T, addr string) *passed {
	t.Helper()
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr+"/v1/x", strings.NewReader(string(streamCall.Body)))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return &passed{end: err}
	}
	defer resp.Body.Close()
	p := &passed{status: resp.StatusCode, header: resp.Header}
	for b := make([]byte, 4096); p.end == nil; {
		var n int
		if n, p.end = resp.Body.Read(b); n > 0 {
			p.pieces = append(p.pieces, string(b[:n]))
		}
	}
	return p
}

// unlike are the fields in which an observed result differs from a client's: texts, and what only a connection shows.
var unlike = cmpopts.IgnoreFields(Result{}, "Sent", "FirstEvent", "First", "FirstAnswer", "Last", "End", "Free", "Gaps", "Error", "ServerID",
	"Header", "Reused", "Connect", "Setup", "KernelStamps", "UserStamps", "ReadLag", "ReadLagSum")

// own are the fixtures that net/http refuses, in which the client reads on.
var own = map[string]bool{"cut in the header": true, "no HTTP": true}

// TestObserverIsTheClient: of every answer that a test of the client has, observer and client give the same result.
func TestObserverIsTheClient(t *testing.T) {
	for _, s := range speeches {
		for _, tt := range append(outcomeTests(s), s.outcomes()...) {
			t.Run(s.api+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				addr := listen(t, func(n int, p *peer) { once(tt.server)(n, p) })
				c := testClient(t, addr, func(o *Options) { o.API = s.api })
				var want Result
				c.viaTransport = own[tt.name]
				c.Do(t.Context(), &streamCall, &want)
				p := pass(t, addr)
				got, ok := p.observe(NewObserver(s.api), 0, p.pieces...)
				if d := cmp.Diff(want, got, unlike, cmpopts.EquateEmpty()); !ok || d != "" {
					t.Errorf("measured %v: %s", ok, d)
				}
				byBytes(t, s.api, p)
			})
		}
	}
}

// byBytes gives the pieces in other sizes: the result is the same.
func byBytes(t *testing.T, api string, p *passed) {
	o := NewObserver(api)
	body := strings.Join(p.pieces, "")
	want, _ := p.observe(o, 0, body)
	check := func(how string, pieces ...string) {
		t.Helper()
		got, _ := p.observe(o, 0, pieces...)
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.AllowUnexported(Setup{})); d != "" {
			t.Errorf("%s: %s", how, d)
		}
	}
	check("byte by byte", strings.Split(body, "")...)
	cuts := 200
	if testing.Short() {
		cuts = 20
	}
	for i := 0; i < len(body); i += 1 + len(body)/cuts {
		check(fmt.Sprint("cut at ", i), body[:i], body[i:])
	}
}

// TestObservedPieces: however a stream is cut, its result is the same, but for the times.
func TestObservedPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SampledFrom(speeches).Draw(t, "api")
		var b strings.Builder
		b.WriteString(s.open)
		n := rapid.IntRange(1, 20).Draw(t, "tokens")
		for i := range n {
			b.WriteString(s.token(fmt.Sprint("token ", i)))
		}
		b.WriteString(s.end("stop", 50, n))
		p := passed{status: 200, header: sseHeader, end: io.EOF}
		o := NewObserver(s.api)
		want, _ := p.observe(o, 0, b.String())
		var pieces []string
		for rest := b.String(); rest != ""; {
			n := rapid.IntRange(1, min(len(rest), 400)).Draw(t, "piece")
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		got, ok := p.observe(o, time.Millisecond, pieces...)
		if d := cmp.Diff(want, got, unlike, cmpopts.EquateEmpty()); !ok || d != "" || got.Outcome != OK || got.Events != n || len(got.Gaps) != n-1 {
			t.Fatalf("%v %s %s", ok, got.Outcome, d)
		}
	})
}

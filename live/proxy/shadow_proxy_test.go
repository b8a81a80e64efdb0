package proxy

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	fixture "bench/internal/fixturetest"
	"bench/internal/listen"
	"bench/live/recording"
)

// conversationsOf sends n conversations of two turns through a proxy with a candidate, and returns what was recorded.
// candidate nil: it is down. Without a config there is no candidate.
func conversationsOf(t *testing.T, c *ShadowConfig, n int, candidate http.HandlerFunc) (all []*recording.Exchange, counts recording.Counts) {
	synctest.Test(t, func(t *testing.T) {
		b := fixture.NewPipes()
		server := &http.Server{Handler: candidate}
		if candidate == nil {
			b.Close()
		} else {
			go server.Serve(b)
		}
		t.Cleanup(func() { server.Close(); time.Sleep(time.Minute) }) // handlers that sleep wake up
		r := newRig(t, Config{Shadow: c}, words(3))
		if c != nil {
			r.shadow.transport.(*http.Transport).DialContext = b.Dial
		}
		for i := range n {
			for _, messages := range [][]string{{fmt.Sprint("u ", i)}, {fmt.Sprint("u ", i), "a word", "u more"}} {
				resp, err := r.post(t.Context(), chat(messages...))
				if err != nil {
					t.Fatal(err)
				}
				if text, err := io.ReadAll(resp.Body); err != nil || strings.Count(string(text), "word") != 3 {
					t.Errorf("%v: %s", err, text)
				}
				resp.Body.Close()
				time.Sleep(70*time.Millisecond + 3*time.Microsecond)
			}
		}
		time.Sleep(5 * time.Minute)
		all, counts = r.all(), r.Counts()
	})
	return all, counts
}

// timesOf are the times of the primary's answers, in the order of their requests.
func timesOf(all []*recording.Exchange) string {
	lines := make([]string, 1000)
	for _, x := range all {
		q := x.Request
		lines[2*(x.Session-1)+x.Turn-1] = fmt.Sprintf("%d.%d %v %v %v %v %v %s", x.Session, x.Turn, q.Arrival, q.Sent, q.First, q.Last, q.End, q.Outcome)
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// TestShadowLeavesPrimaryAlone compares the primary's times, to the µs of virtual time, with those without a candidate.
func TestShadowLeavesPrimaryAlone(t *testing.T) {
	const n = 40
	alone, _ := conversationsOf(t, nil, n, nil)
	if len(alone) != 2*n || alone[0].Shadow != nil {
		t.Fatalf("%d exchanges without a candidate", len(alone))
	}
	flood := strings.Repeat("data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n", 1000)
	for _, c := range []struct {
		name    string
		handle  http.HandlerFunc
		paired  int // exchanges with a measured copy that succeeded; -1 = some
		stopped string
	}{
		{"a good one", words(3), 2 * n, ""},
		{"down", nil, 0, stoppedErrors},
		{"stalls", func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body); <-r.Context().Done() }, 0, stoppedErrors},
		{"10 times slower", func(w http.ResponseWriter, r *http.Request) { time.Sleep(500 * time.Millisecond); words(3)(w, r) }, -1, ""},
		{"floods", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for {
				if _, err := io.WriteString(w, flood); err != nil {
					return
				}
			}
		}, 0, stoppedErrors},
	} {
		t.Run(c.name, func(t *testing.T) {
			all, counts := conversationsOf(t, &ShadowConfig{To: &url.URL{Scheme: "http", Host: "b"}, Share: 1, timeout: time.Minute}, n, c.handle)
			if got, want := timesOf(all), timesOf(alone); got != want {
				t.Errorf("the primary's times are\n%s\nwant\n%s", got, want)
			}
			paired := 0
			for _, x := range all {
				if x.Shadow == nil {
					continue
				}
				if x.Shadow.OK() {
					paired++
				}
				if x.Shadow.Arrival != x.Request.Sent || x.Shadow.Ready != x.Request.Sent || x.Shadow.Error != "" {
					t.Errorf("a copy is ready at %v, %v, error %q; the primary's request was sent at %v", x.Shadow.Arrival, x.Shadow.Ready, x.Shadow.Error, x.Request.Sent)
				}
			}
			if c.paired >= 0 && paired != c.paired || c.paired < 0 && paired == 0 || counts.Shadow.Stopped != c.stopped {
				t.Errorf("%d pairs, %+v", paired, counts.Shadow)
			}
		})
	}
}

// TestAdminStopsShadow: neither a page of another site nor one under another name ends the copying, or reads.
func TestAdminStopsShadow(t *testing.T) {
	ask := func(p *Proxy, change func(*http.Request), method, path string) int {
		ctx := context.WithValue(t.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
		q := httptest.NewRequestWithContext(ctx, method, "http://127.0.0.1:8081"+path, nil)
		change(q)
		w := httptest.NewRecorder()
		s := &Server{Proxy: p, Page: func() []byte { return []byte("page") }, PagePolicy: "default-src 'none'"}
		listen.Protect(s.Admin()).ServeHTTP(w, q)
		return w.Code
	}
	with := &Proxy{shadow: newShadow(ShadowConfig{To: &url.URL{}}, nil, time.Now())}
	for name, change := range map[string]func(*http.Request){
		"another site": func(q *http.Request) { q.Header.Set("Sec-Fetch-Site", "cross-site") },
		"its origin":   func(q *http.Request) { q.Header.Set("Origin", "http://evil.example") },
		"another name": func(q *http.Request) {
			q.Host = "evil.example:8081"
			q.Header.Set("Origin", "http://evil.example:8081")
		},
	} {
		if code := ask(with, change, "POST", "/shadow/stop"); code != http.StatusForbidden || with.shadow.counts().Stopped != "" {
			t.Errorf("%s: %d, stopped %q", name, code, with.shadow.counts().Stopped)
		}
	}
	foreign := func(q *http.Request) { q.Host = "evil.example:8081" }
	own := func(*http.Request) {}
	for _, path := range []string{"/", "/metrics", "/healthz"} {
		if code := ask(with, foreign, "GET", path); code != http.StatusForbidden {
			t.Errorf("%s: %d under another name", path, code)
		}
		if code := ask(with, own, "GET", path); path != "/metrics" && code != http.StatusOK {
			t.Errorf("%s: %d", path, code)
		}
	}
	if code := ask(with, own, "POST", "/shadow/stop"); code != http.StatusOK || with.shadow.counts().Stopped != stoppedOperator {
		t.Errorf("%d, stopped %q", code, with.shadow.counts().Stopped)
	}
	if code := ask(&Proxy{}, own, "POST", "/shadow/stop"); code != http.StatusNotFound {
		t.Errorf("%d without a candidate", code)
	}
}

package proxy

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestShadowBadCandidates checks that offers take no time, memory is bounded and everything ends, whatever comes back.
func TestShadowBadCandidates(t *testing.T) {
	block := make([]byte, 64<<10)
	for i := range block {
		block[i] = 'x'
	}
	// A flood costs the race detector most of its time: there one answer of four is one. That it is a failure shows, as
	// only twenty in a row end the copying.
	sometimes := func(flood http.HandlerFunc) http.HandlerFunc {
		var n atomic.Int64
		return func(w http.ResponseWriter, r *http.Request) {
			if n.Add(1)%4 != 1 && testing.Short() {
				w.WriteHeader(500)
				return
			}
			flood(w, r)
		}
	}
	for _, c := range []struct {
		name     string
		handle   http.HandlerFunc
		killed   bool
		outcomes string // of the first
		stopped  string
	}{
		{"killed", nil, true, "connect", "errors"},
		{"accepts and never answers", func(_ http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}, false, "timeout", "errors"},
		{"accepts and never reads", nil, false, "timeout", "errors"},
		{"stalls in the answer", func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			io.WriteString(w, "data: {")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, false, "timeout", "errors"},
		{"10 times slower", func(w http.ResponseWriter, r *http.Request) { time.Sleep(20 * time.Second); stream(w, r) }, false, "ok", ""},
		{"endless body", sometimes(func(w http.ResponseWriter, r *http.Request) {
			for {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		}), false, "", "errors"},
		{"endless stream of tokens", sometimes(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for {
				if _, err := io.WriteString(w, strings.Repeat("data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n", 1000)); err != nil {
					return
				}
			}
		}), false, "", "errors"},
		{"huge header", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X", string(slices.Concat(block, block, block, block, block)))
		}, false, "connect", "errors"},
		{"500", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500) }, false, "status", "errors"},
		{"400 to all", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(400) }, false, "status", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newCandidate(t, ShadowConfig{timeout: time.Minute, concurrency: 4, queueCopies: 8, queueBytes: 400_000}, c.handle)
				switch {
				case c.killed:
					x.pipes.Close()
				case c.handle == nil:
					go holdConnections(x.pipes)
				}
				for i := range 200 {
					x.offer(fmt.Sprint("u ", i, strings.Repeat(" large", i%100*100)))
					x.shadow.locked(func() {
						if x.shadow.bytes > 400_000 {
							t.Errorf("%d bytes of bodies are held", x.shadow.bytes)
						}
					})
					if queued, flying := x.shadow.load(); queued > 8 || flying > 4 {
						t.Fatalf("%d wait, %d are in flight", queued, flying)
					}
					time.Sleep(5 * time.Second)
				}
				if x.shadow.counts().Stopped != c.stopped {
					t.Errorf("stopped %q, want %q", x.shadow.counts().Stopped, c.stopped)
				}
				x.end()
				n := x.shadow.counts()
				if first, _, _ := strings.Cut(x.outcomes(), " "); c.outcomes != "" && first != c.outcomes {
					t.Errorf("first outcome %s of %v", first, n)
				}
				if len(x.results) < n.Sent {
					t.Errorf("%d results of %d", len(x.results), n.Sent)
				}
				for _, r := range x.results {
					if r != nil && (r.Error != "" || r.ServerID != "" || r.Header != nil) {
						t.Errorf("a text remains: %+v", r)
					}
				}
			})
		})
	}
}

// holdConnections accepts connections and reads nothing until the listener is closed.
func holdConnections(l net.Listener) {
	var held []net.Conn
	for {
		c, err := l.Accept()
		if err != nil {
			break
		}
		held = append(held, c)
	}
	for _, c := range held {
		c.Close()
	}
}

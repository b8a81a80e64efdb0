package hostile_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bench/experiment/hostile"
	"bench/experiment/mock"
	"bench/internal/listen"
	"bench/live/proxy"
	"bench/live/recording"
	"bench/sweep/workers"
)

// record serves a recorder before a server until the test ends. recorded is what it has recorded.
func record(t *testing.T, to string) (addr string, recorded func() string) {
	t.Helper()
	var mu sync.Mutex
	var text []byte
	p, err := proxy.New(proxy.Config{
		To: &url.URL{Scheme: "http", Host: to, Path: "/v1"},
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if addr != to {
				t.Errorf("the recorder connects to %s", addr)
			}
			return (&net.Dialer{}).DialContext(ctx, network, addr)
		},
		Done: func(x *recording.Exchange) {
			line, err := json.Marshal(x)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			text = append(append(text, line...), '\n')
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- (&proxy.Server{Proxy: p}).Serve(ctx, l) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return l.Addr().String(), func() string {
		stop()
		mu.Lock()
		defer mu.Unlock()
		return string(text)
	}
}

// named writes the first Host field otherwise.
type named struct {
	io.Writer
	fields string // empty: as it is
}

func (w *named) Write(text []byte) (int, error) {
	const host = "Host: gateway\r\n"
	if w.fields == "" || !bytes.Contains(text, []byte(host)) {
		return w.Writer.Write(text)
	}
	_, err := w.Writer.Write(bytes.Replace(text, []byte(host), []byte(w.fields), 1))
	w.fields = ""
	return len(text), err
}

// send sends a request's bytes, with more fields, and returns what comes back until the peer is silent.
func send(t *testing.T, addr, fields string, c *hostile.Case, idle time.Duration) (answer string) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go func() { _ = c.Write(&named{conn, fields}) }() // ends with the connection
	var all strings.Builder
	for b := make([]byte, 64<<10); ; {
		_ = conn.SetReadDeadline(time.Now().Add(idle))
		n, err := conn.Read(b)
		if all.Write(b[:n]); err != nil {
			return all.String()
		}
	}
}

// TestRecorder asks each server through a recorder: the caller has an answer or an end, and no text is recorded.
func TestRecorder(t *testing.T) {
	memory(t, 256<<20)
	log.SetOutput(io.Discard) // of net/http's client, of which bench has none either
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
	for _, c := range ofKind(hostile.Server) {
		addr, recorded := record(t, start(t, &c))
		ask := httptest.NewRequest(http.MethodPost, "http://"+addr+"/v1/completions",
			strings.NewReader(`{"model":"bench-mock","prompt":"a b","max_tokens":4,"stream":true}`))
		ask.RequestURI = ""
		ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
		if answer, err := new(http.Transport).RoundTrip(ask.WithContext(ctx)); err == nil {
			_, _ = io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
		}
		cancel()
		if text := recorded(); strings.Count(text, "\n") != 1 || strings.Contains(text, hostile.Mark) {
			t.Errorf("%s: recorded %s", c.Name, text)
		}
	}
}

// TestGateways sends each request to a recorder, a leader (without and with its token) and a simulated server: each answers
// or closes, no other host is contacted, and the server behind the recorder never sees more requests than its caller gets answers.
func TestGateways(t *testing.T) {
	other(t)
	memory(t, 256<<20)
	var seen atomic.Int32
	behind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Add(1)
		if r.Header.Get("X-B") != "" || r.Trailer.Get("Host") != "" || strings.Contains(r.Host, hostile.Other) {
			t.Errorf("the server behind the recorder gets %s %s of %s: %v", r.Method, r.URL, r.Host, r.Header)
		}
		_, _ = io.Copy(io.Discard, r.Body)
	}))
	t.Cleanup(behind.Close)
	recorder, _ := record(t, behind.Listener.Addr().String())
	simulated, err := mock.New(mock.Config{TTFT: time.Millisecond, ITL: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	var l, lead net.Listener
	for _, l := range []*net.Listener{&l, &lead} {
		if *l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
	door := listen.Door{Handler: workers.NewLeader(1, []string{"token"}, workers.Build{})}
	t.Cleanup(door.Start(lead))
	served := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { served <- simulated.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		<-served
	})
	for name, peer := range map[string]struct{ addr, fields string }{
		"recorder": {recorder, ""}, "mock": {l.Addr().String(), ""},
		"leader":               {lead.Addr().String(), "Host: localhost\r\n"},
		"leader, with a token": {lead.Addr().String(), "Host: localhost\r\nAuthorization: Bearer token\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, c := range ofKind(hostile.Request) {
				answer, unseen := "", 0
				for _, idle := range []time.Duration{200 * time.Millisecond, 3 * time.Second} { // a busy machine answers late
					before := seen.Load()
					answer = send(t, peer.addr, peer.fields, &c, idle)
					unseen = int(seen.Load()-before) - max(1, strings.Count(answer, "HTTP/1."))
					if name != "recorder" || unseen <= 0 {
						break
					}
				}
				if name == "recorder" && unseen > 0 {
					t.Errorf("%s: %d requests more than answers\n%.2000s", c.Name, unseen, answer)
				}
				if strings.HasPrefix(name, "leader") && strings.Contains(answer, " 200 OK") {
					t.Errorf("%s: %.200s", c.Name, answer)
				}
			}
			last, _ := hostile.Find("other-host")
			if answer := send(t, peer.addr, peer.fields, &last, 3*time.Second); !strings.HasPrefix(answer, "HTTP/1.1 ") {
				t.Errorf("a request after them: %q", answer)
			}
		})
	}
}

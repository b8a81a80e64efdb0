package proxy

import (
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
)

// TestUpgrade: a request that asks for another protocol is answered in HTTP, and no answer can leave it.
func TestUpgrade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{}, func(w http.ResponseWriter, q *http.Request) {
			if q.URL.Path == "/v1/switch" {
				w.WriteHeader(http.StatusSwitchingProtocols)
				return
			}
			fmt.Fprint(w, q.Header["Connection"], q.Header["Upgrade"], q.Header["X-Kept"])
		})
		for path, want := range map[string]string{
			"/v1/realtime": "[] [] [1]", "/v1/switch": "bench: the server closed the connection",
		} {
			q, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://p"+path, nil)
			q.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "X-Kept": {"1"}}
			a, err := r.caller.Do(q)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(a.Body)
			if err != nil || !strings.Contains(string(text), want) {
				t.Errorf("%s: %s %s %v", path, a.Status, text, err)
			}
		}
	})
}

// TestStalledBody: a caller whose body does not come gets an error within a minute, and others do not wait for it.
func TestStalledBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{}, words(3))
		body, stalled := io.Pipe()
		began := time.Now()
		go io.WriteString(stalled, question)
		q, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://p/v1/chat/completions", body)
		a, err := r.caller.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(a.Body)
		took := time.Since(began)
		if a.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), "ended early") || took > 61*time.Second {
			t.Error(a.Status, string(text), took)
		}
		stalled.Close()
		if x := r.all(); len(x) != 1 || x[0].Request.Outcome != "left" {
			t.Error(len(x))
		}
	})
}

// TestLoop: requests that come back, over another recorder too, are refused and not recorded.
func TestLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var forward http.Handler
		front := newRig(t, Config{}, func(w http.ResponseWriter, q *http.Request) { forward.ServeHTTP(w, q) })
		second := newRig(t, Config{}, func(w http.ResponseWriter, q *http.Request) { front.Proxy.ServeHTTP(w, q) })
		forward = second.Proxy
		a, err := front.post(t.Context(), question)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(a.Body)
		if err != nil || a.StatusCode != http.StatusLoopDetected || !strings.Contains(string(text), `"code":"loop_detected"`) {
			t.Error(a.Status, string(text), err)
		}
		if n := front.Counts(); n.Refused != 1 || n.Requests != 1 || len(front.all()) != 1 || len(second.all()) != 1 {
			t.Error(n, len(front.all()), len(second.all()))
		}
	})
}

// TestMaxConnections: a connection over the limit waits until one ends, also while it is the end.
func TestMaxConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRigOf(t, Config{}, &Server{Drain: 10 * time.Second, MaxConnections: 2}, words(9)) // 100 ms
		r.caller.Transport.(*http.Transport).DisableKeepAlives = true
		began := time.Now()
		var callers sync.WaitGroup
		for i := range 5 {
			earliest := time.Duration(i/2*100+100) * time.Millisecond
			callers.Go(func() {
				a, err := r.post(t.Context(), question)
				if err != nil {
					t.Error(err)
					return
				}
				_, err = io.ReadAll(a.Body)
				if d := time.Since(began); err != nil || d < earliest || d > earliest+3*time.Millisecond {
					t.Errorf("%d: %v after %v, want %v", i, err, d, earliest)
				}
			})
			synctest.Wait()
			time.Sleep(time.Millisecond / 2)
		}
		callers.Wait()
		if n := r.server.door.Waited(); n == 0 || len(r.all()) != 5 {
			t.Error(n, len(r.all()))
		}
		for range 2 { // the end comes when the limit is reached
			go func() {
				if a, err := r.post(t.Context(), question); err == nil {
					_, _ = io.ReadAll(a.Body)
				}
			}()
		}
		synctest.Wait()
		r.end()
		time.Sleep(time.Second)
	})
}

// TestMixed: of 200 exchanges of all kinds nothing stays: no goroutine (a bubble reports them), no copy of a body.
func TestMixed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream := words(10)
		to, _ := url.Parse("http://b/v1")
		r := newRig(t, Config{maxBody: 10_000, Shadow: &ShadowConfig{To: to, Share: 0.5}}, func(w http.ResponseWriter, q *http.Request) {
			switch q.URL.RawQuery {
			case "down":
				panic(http.ErrAbortHandler)
			default:
				stream(w, q)
			}
		})
		var callers sync.WaitGroup
		for i := range 200 {
			time.Sleep(time.Millisecond + time.Duration(i)*time.Microsecond)
			callers.Go(func() { r.mix(t, i) })
		}
		callers.Wait()
		got := map[string]int{}
		for _, x := range r.all() {
			got[string(x.Request.Outcome)]++
		}
		if got["ok"] != 100 || got["left"] != 50 || got["connect"] != 25 || r.Counts().Refused != 25 {
			t.Error(got, r.Counts())
		}
		r.transport.CloseIdleConnections()
		r.transport.DialContext = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("refused") }
		for i := range 8 {
			r.mix(t, 8*i)
		}
		if x := r.all(); len(x) != 183 || x[182].Request.Outcome != "connect" {
			t.Error(len(x), r.Counts())
		}
	})
}

// mix sends the i-th request of the kinds of TestMixed.
func (r *rig) mix(t *testing.T, i int) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	query, body := "", question
	switch i % 8 {
	case 2:
		query = "down"
	case 3:
		body += strings.Repeat(" ", 10_000)
	case 4:
		time.AfterFunc(5*time.Millisecond, cancel) // before the answer
	case 5:
		time.AfterFunc(55*time.Millisecond, cancel)
	}
	q, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://p/v1/chat/completions?"+query, strings.NewReader(body))
	a, err := r.caller.Do(q)
	if err != nil {
		if ctx.Err() == nil {
			t.Error(err)
		}
		return
	}
	defer a.Body.Close()
	if i%8 == 6 {
		time.Sleep(time.Second) // a slow caller
	}
	_, _ = io.ReadAll(a.Body)
}

// TestUnreadBody: after an answer to a request that was not read, the caller can send the next one.
func TestUnreadBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{}, nil)
		r.transport.DialContext = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("refused") }
		for range 50 {
			a, err := r.post(t.Context(), question)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(a.Body); err != nil || a.StatusCode != http.StatusBadGateway {
				t.Fatal(a.Status, err)
			}
			a.Body.Close()
		}
		if len(r.all()) != 50 {
			t.Error(len(r.all()))
		}
	})
}

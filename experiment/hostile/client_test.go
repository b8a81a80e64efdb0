package hostile_test

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"time"

	"bench/experiment/hostile"
	"bench/experiment/openai"
)

// ofKind are the cases of a kind.
func ofKind(kind hostile.Kind) (all []hostile.Case) {
	for _, c := range hostile.Cases() {
		if c.Kind == kind {
			all = append(all, c)
		}
	}
	return all
}

// start serves a case until the test ends.
func start(t *testing.T, c *hostile.Case) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- c.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// other fails the test if anything connects to the address that no case may make a peer connect to. It is skipped where
// the address is in use.
func other(t *testing.T) {
	l, err := net.Listen("tcp", hostile.Other)
	if err != nil {
		t.Logf("not watched: %v", err)
		return
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		if c, err := l.Accept(); err == nil {
			c.Close()
			t.Errorf("%s was contacted", hostile.Other)
		}
	}()
}

// memory fails the test if its heap grows much at any time.
func memory(t *testing.T, most uint64) {
	heap := func() uint64 {
		all := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(all)
		return all[0].Value.Uint64()
	}
	// garbage that make test lets lie longer would count as memory that is held
	rare := debug.SetGCPercent(50)
	t.Cleanup(func() { debug.SetGCPercent(rare) })
	runtime.GC()
	before, peak := heap(), uint64(0)
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			peak = max(peak, heap())
			select {
			case <-tick.C:
			case <-end:
				return
			}
		}
	}()
	t.Cleanup(func() {
		close(end)
		if <-ended; peak > before+most {
			t.Errorf("it took %d MiB", (peak-before)>>20)
		}
	})
}

// TestNames: names are unique and typed easily, and every case has a line.
func TestNames(t *testing.T) {
	seen := map[string]bool{"list": true}
	for _, c := range hostile.Cases() {
		typed := strings.Trim(c.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
		if seen[c.Name] || !typed || c.Text == "" || len(c.Text) > 80 {
			t.Errorf("%+v", c)
		}
		seen[c.Name] = true
	}
}

// whole are the servers whose streams are right answers, to a client. It is package verdict that finds
// their impossible figures.
var whole = strings.Fields(`folded-header cl-and-te long-length unsolicited behind-done bad-utf8 doubled-keys huge-number
	usage-negative usage-huge cached-huge finish-text model-name model-flood metrics-flood metrics-nan`)

// TestClient sends a request to each server: it ends soon, in bounded memory, and fails but where the answer is whole.
func TestClient(t *testing.T) {
	const key = "sk-hostile"
	other(t)
	memory(t, 256<<20)
	for _, c := range ofKind(hostile.Server) {
		client, err := openai.New(openai.Options{
			BaseURL: "http://" + start(t, &c) + "/v1", APIKey: key, Timeout: 400 * time.Millisecond,
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, stream := range []bool{true, false} {
			body := fmt.Sprintf(`{"model":"bench-mock","prompt":"a b","max_tokens":4,"stream":%v}`, stream)
			var r openai.Result
			began := time.Now()
			client.Do(t.Context(), &openai.Call{Body: []byte(body), Stream: stream}, &r)
			if took := time.Since(began); took > 10*time.Second || strings.Contains(r.Error, key) {
				t.Errorf("%s, stream %v: %s %.1000q after %v", c.Name, stream, r.Outcome, r.Error, took)
			}
			if stream && (r.Outcome == openai.OK) != slices.Contains(whole, c.Name) {
				t.Errorf("%s: %s %.1000q", c.Name, r.Outcome, r.Error)
			}
		}
		client.Close()
	}
}

// TestCancel cancels requests to servers whose answers do not end: the client leaves them at once.
func TestCancel(t *testing.T) {
	for _, name := range []string{"comments", "line-feeds", "event-flood", "drip", "silence", "stall"} {
		c, _ := hostile.Find(name)
		client, err := openai.New(openai.Options{BaseURL: "http://" + start(t, &c) + "/v1"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, cancel)
		var r openai.Result
		client.Do(ctx, &openai.Call{Body: []byte(`{"prompt":"a","stream":true}`), Stream: true}, &r)
		if r.Outcome != openai.Cancelled {
			t.Errorf("%s: %s %.1000q", name, r.Outcome, r.Error)
		}
		client.Close()
	}
}

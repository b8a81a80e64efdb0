package mock

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	fixture "bench/internal/fixturetest"
)

// virtual runs test in a bubble with a server of c and a client of it.
func virtual(t *testing.T, c Config, test func(t *testing.T, s *Server, h *http.Client)) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		s.clock = func() (waiter, func()) { return timerWait, func() {} }
		l := fixture.NewPipes()
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error)
		go func() { served <- s.Serve(ctx, l) }()
		transport := &http.Transport{DialContext: l.Dial, MaxIdleConnsPerHost: 100}
		defer func() {
			transport.CloseIdleConnections()
			cancel()
			if err := <-served; err != nil {
				t.Errorf("Serve: %v", err)
			}
		}()
		test(t, s, &http.Client{Transport: transport})
	})
}

// real runs a server of c on loopback until the test ends, and returns its URL.
func real(t testing.TB, c Config) string {
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error)
	go func() { served <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return "http://" + l.Addr().String()
}

// post sends a JSON body and returns the open response; head is pairs of header names and values.
func post(t testing.TB, h *http.Client, url, body string, head ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(head); i += 2 {
		req.Header.Add(head[i], head[i+1])
	}
	resp, err := h.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// fetch sends a JSON body and reads the whole answer. It may be called on any goroutine.
func fetch(t testing.TB, h *http.Client, url, body string, head ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(body))
	if err != nil {
		t.Errorf("%s: %v", url, err)
		return 0, ""
	}
	for i := 0; i < len(head); i += 2 {
		req.Header.Add(head[i], head[i+1])
	}
	return read(t, h, req)
}

func get(t testing.TB, h *http.Client, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, text := read(t, h, req)
	return text
}

func read(t testing.TB, h *http.Client, req *http.Request) (int, string) {
	t.Helper()
	resp, err := h.Do(req)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("reading the answer: %v after %q", err, text)
	}
	return resp.StatusCode, string(text)
}

func truths(t testing.TB, h *http.Client, url string) []Record { return truthsSince(t, h, url, 0) }

// truthsSince are the records behind the first n.
func truthsSince(t testing.TB, h *http.Client, url string, n int) []Record {
	t.Helper()
	var all []Record
	for lines := json.NewDecoder(strings.NewReader(get(t, h, fmt.Sprintf("%s/debug/requests?since=%d", url, n)))); lines.More(); {
		var r Record
		if err := lines.Decode(&r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// idBody is a completion request with a prompt of n token ids.
func idBody(number, n, output int) string {
	ids, _ := json.Marshal(fresh(number, n))
	return fmt.Sprintf(`{"prompt":%s,"max_tokens":%d,"ignore_eos":true,"stream":true}`, ids, output)
}

// In virtual time every token is written when it is due, and read then.
func TestFixedTimesOverHTTP(t *testing.T) {
	c := Config{TTFT: 50 * time.Millisecond, ITL: 10 * time.Millisecond}
	virtual(t, c, func(t *testing.T, s *Server, h *http.Client) {
		start := time.Now()
		resp := post(t, h, "http://mock/v1/completions", idBody(1, 8, 5), "X-Request-Id", "mine")
		var read []time.Duration
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			if bytes.HasPrefix(lines.Bytes(), []byte(`data: {`)) {
				read = append(read, time.Since(start))
			}
		}
		r := truths(t, h, "http://mock")[0]
		for i := range 5 {
			want := c.TTFT + time.Duration(i)*c.ITL
			if i >= len(read) || read[i] != want || r.DueNS[i] != r.ArrivalNS+int64(want) || r.WrittenNS[i] != r.DueNS[i] {
				t.Fatalf("token %d: want %v; read at %v; record %+v", i, want, read, r)
			}
		}
		if r.ArrivalUnixNS != start.UnixNano() || r.ID != "cmpl-mine" || r.RequestID != "mine" || r.Finish != "length" || r.PromptTokens != 8 || r.OutputTokens != 5 {
			t.Errorf("record %+v", r)
		}
	})
}

// Many at once over HTTP: never more than the slots, all served, the records whole.
func TestSlotsOverHTTP(t *testing.T) {
	c := stepped()
	c.MaxNumSeqs = 4
	virtual(t, c, func(t *testing.T, s *Server, h *http.Client) {
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() { fetch(t, h, "http://mock/v1/completions", idBody(i, 64, 10)) })
		}
		wg.Wait()
		all := truths(t, h, "http://mock")
		if len(all) != 20 {
			t.Fatalf("%d records", len(all))
		}
		for _, r := range all {
			inside := 0
			for _, o := range all {
				if o.AdmittedNS <= r.AdmittedNS && r.AdmittedNS < o.DueNS[9] {
					inside++
				}
			}
			if inside > 4 {
				t.Errorf("%d run at %d ns", inside, r.AdmittedNS)
			}
		}
	})
}

func TestQueueBound(t *testing.T) {
	c := Config{TTFT: time.Second, MaxNumSeqs: 1, Queue: 1}
	virtual(t, c, func(t *testing.T, s *Server, h *http.Client) {
		var wg sync.WaitGroup
		for i := range 2 {
			wg.Go(func() { fetch(t, h, "http://mock/v1/completions", idBody(i, 4, 1)) })
			synctest.Wait()
		}
		resp := post(t, h, "http://mock/v1/completions", idBody(3, 4, 1))
		if resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
			t.Errorf("status %d, headers %v", resp.StatusCode, resp.Header)
		}
		if m := get(t, h, "http://mock/metrics"); !strings.Contains(m, `vllm:num_requests_waiting{engine="0",model_name="bench-mock"} 1`) {
			t.Errorf("metrics:\n%s", m)
		}
		resp.Body.Close()
		wg.Wait()
	})
}

// A client that leaves in the middle frees its slot for the next one.
func TestClientLeavingOverHTTP(t *testing.T) {
	for _, c := range []Config{{TTFT: 10 * time.Millisecond, ITL: 10 * time.Millisecond, MaxNumSeqs: 1}, {MaxNumSeqs: 1}} {
		virtual(t, c, func(t *testing.T, s *Server, h *http.Client) {
			first := post(t, h, "http://mock/v1/completions", idBody(1, 8, 100000))
			time.Sleep(100 * time.Millisecond)
			first.Body.Close()
			start := time.Now()
			fetch(t, h, "http://mock/v1/completions", idBody(2, 8, 2))
			if took := time.Since(start); took > 50*time.Millisecond {
				t.Errorf("the next request took %v", took)
			}
			all := truths(t, h, "http://mock")
			if len(all) != 2 || all[0].Finish != "abort" || all[1].Finish != "length" {
				t.Errorf("records %+v", all)
			}
		})
	}
}

// On the real clock the due times are exact, and no token is written before its own. BenchmarkLag reports how
// late they are.
func TestFixedTimesReal(t *testing.T) { realLag(t) }

// BenchmarkLag reports the median time from due to written, in µs.
func BenchmarkLag(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(float64(realLag(b).Microseconds()), "µs-late")
	}
}

// realLag is the median time from due to written of the tokens of eight streams.
func realLag(t testing.TB) time.Duration {
	c := Config{TTFT: 30 * time.Millisecond, ITL: 5 * time.Millisecond}
	url := real(t, c)
	h := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 10}}
	defer h.CloseIdleConnections()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() { fetch(t, h, url+"/v1/completions", idBody(i, 16, 40)) })
	}
	wg.Wait()
	var lags []time.Duration
	for _, r := range truths(t, h, url) {
		for i, due := range r.DueNS {
			if want := r.ArrivalNS + int64(c.TTFT) + int64(i)*int64(c.ITL); due != want || r.WrittenNS[i] < due {
				t.Fatalf("token %d is due at %d and written at %d, want %d", i, due, r.WrittenNS[i], want)
			}
			lags = append(lags, time.Duration(r.WrittenNS[i]-due))
		}
	}
	if len(lags) != 8*40 {
		t.Fatalf("%d tokens", len(lags))
	}
	slices.Sort(lags)
	return lags[len(lags)/2]
}

// After Serve returns nothing is left, whatever was going on.
func TestNoGoroutineLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("serve", func(t *testing.T) {
		url := real(t, Config{TTFT: time.Minute})
		h := &http.Client{Transport: &http.Transport{}}
		for range 3 {
			post(t, h, url+"/v1/completions", idBody(1, 4, 4))
		}
		get(t, h, url+"/health")
		h.CloseIdleConnections()
	})
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond) // the client's own connections end on their own time
	}
	buf := make([]byte, 1<<16)
	t.Errorf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
}

// The cost of an event, from engine to socket: 100 streams as fast as they go, where many events share a
// write.
func BenchmarkEvents(b *testing.B) {
	const streams = 100
	url := real(b, Config{TTFT: 1, ITL: time.Microsecond, MaxModelLen: 1 << 30})
	h := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: streams}}
	defer h.CloseIdleConnections()
	var wg sync.WaitGroup
	for i := range streams {
		wg.Go(func() {
			resp := post(b, h, url+"/v1/completions", idBody(i, 4, b.N/streams+1))
			io.Copy(io.Discard, resp.Body)
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// TestIdleConnections: a connection that sends half a request, or nothing after one, is closed.
func TestIdleConnections(t *testing.T) {
	for name, sent := range map[string]string{
		"half a request": "GET /health HTTP/1.1\r\nHost: x\r\n",
		"none":           "",
		"one":            "GET /health HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		virtual(t, Config{TTFT: time.Millisecond}, func(t *testing.T, _ *Server, h *http.Client) {
			c, err := h.Transport.(*http.Transport).DialContext(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			began := time.Now()
			go io.WriteString(c, sent)
			if _, err := io.Copy(io.Discard, c); err != nil { // hangs if it stays open
				t.Error(err)
			}
			if open := time.Since(began); open < 10*time.Second || open > 3*time.Minute {
				t.Errorf("%s: closed after %v", name, open)
			}
		})
	}
}

// TestLoadTime: requests are refused while the model loads.
func TestLoadTime(t *testing.T) {
	virtual(t, Config{TTFT: time.Millisecond, LoadTime: time.Minute}, func(t *testing.T, _ *Server, h *http.Client) {
		for _, want := range []int{503, 200} {
			for _, path := range []string{"/health", "/v1/models"} {
				resp, err := h.Get("http://mock" + path)
				if err != nil {
					t.Fatal(err)
				}
				body, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				if resp.StatusCode != want || (want == 503) != strings.Contains(string(body), "Loading model") {
					t.Errorf("%s: %d %s", path, resp.StatusCode, body)
				}
			}
			time.Sleep(time.Minute)
		}
	})
}

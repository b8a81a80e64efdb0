package openai

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// forward is a plain HTTP proxy that counts its requests.
func forward(t *testing.T, seen *atomic.Int32) (addr string) {
	t.Helper()
	pass := &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			seen.Add(1)
			r.Out.URL = r.In.URL
		},
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Otherwise an answer that begins before the request was read completely closes the request's body,
		// and with it the connection to the server.
		_ = http.NewResponseController(w).EnableFullDuplex()
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// TestProxy: measured and unmeasured requests use the given proxy, with the times of the reads.
func TestProxy(t *testing.T) {
	var passed atomic.Int32
	proxy := forward(t, &passed)
	s := httptest.NewServer(http.HandlerFunc(ticking))
	defer s.Close()
	c := testClient(t, s.Listener.Addr().String(), func(o *Options) { o.Proxy = "http://alice:pr0xy-secret@" + proxy })
	var r Result
	for i := range 2 {
		c.Do(t.Context(), &streamCall, &r)
		if r.Outcome != OK || r.Events != 20 || r.KernelStamps != 0 || r.UserStamps != 20 || r.Reused != (i > 0) || (r.Connect > 0) != (i == 0) {
			t.Fatalf("%+v", r)
		}
		checkTimes(t, &r)
		if r.Sent == Never || r.Sent > r.First {
			t.Errorf("sent at %v, first token at %v", r.Sent, r.First)
		}
	}
	if _, _, _, err := c.Get(t.Context(), "/version"); err != nil || passed.Load() != 3 {
		t.Errorf("%v; %d passed the proxy", err, passed.Load())
	}
	if v, err := c.Vantage(t.Context(), 3); err != nil || v.Place != placeProxied {
		t.Errorf("%+v, %v", v, err)
	}
	if n, err := c.Prepare(t.Context(), 3); len(n) != 0 || err != nil {
		t.Error(n, err)
	}
	if text := c.Hide("to pr0xy-secret"); text != "to ***" {
		t.Error(text)
	}
	for _, bad := range []string{"proxy:3128", "ftp://proxy", "http://"} {
		if _, err := New(Options{BaseURL: "http://h/v1", Proxy: bad}); err == nil || !strings.Contains(err.Error(), "write http://host:port") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// TestProxyOutcomes: requests over net/http's transport have the same outcomes as over the client's own
// connections.
func TestProxyOutcomes(t *testing.T) {
	var passed atomic.Int32
	proxy := forward(t, &passed)
	tests := []struct {
		name   string
		server func(p *peer)
		want   Outcome
	}{
		{"whole", stream(token("a"), finish("stop"), doneEvent), OK},
		{"500", func(p *peer) { p.say("HTTP/1.1 500 Oops\r\nContent-Length: 5\r\n\r\n", "no luck") }, Status},
		{"cut", func(p *peer) { p.say(streamHead, chunked(token("a"))) }, Truncated},
		{"error object", stream("data: {\"error\":\"boom\"}\n\n"), Protocol},
		{"stall", func(p *peer) { p.say(streamHead, chunked(token("a"))); _, _, _ = p.request() }, Timeout},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := testClient(t, listen(t, once(tt.server)), func(o *Options) {
				o.Proxy = "http://" + proxy
				o.Timeout = time.Second
			})
			var r Result
			c.Do(t.Context(), &streamCall, &r)
			if r.Outcome != tt.want {
				t.Errorf("%q: %s", r.Outcome, r.Error)
			}
			checkTimes(t, &r)
		})
	}
	refused := testClient(t, "127.0.0.1:9", func(o *Options) { o.Proxy = "http://127.0.0.1:9" })
	var r Result
	if refused.Do(t.Context(), &streamCall, &r); r.Outcome != Connect || r.Sent != Never {
		t.Errorf("%+v", r)
	}
}

// ticking streams 20 events, 2 ms apart.
func ticking(w http.ResponseWriter, _ *http.Request) {
	for i := range 20 {
		if i > 0 {
			time.Sleep(2 * time.Millisecond)
		}
		_, _ = io.WriteString(w, token("x"))
		w.(http.Flusher).Flush()
	}
	_, _ = io.WriteString(w, finish("stop")+doneEvent)
}

// TestHTTP2: requests share one connection, in plain text and over TLS.
func TestHTTP2(t *testing.T) {
	for _, secure := range []bool{false, true} {
		protocols := make(chan int, 8)
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			protocols <- r.ProtoMajor
			ticking(w, r)
		}))
		s.Config.Protocols = new(http.Protocols)
		s.Config.Protocols.SetUnencryptedHTTP2(true)
		s.Config.Protocols.SetHTTP2(true)
		s.EnableHTTP2 = true
		if secure {
			s.StartTLS()
		} else {
			s.Start()
		}
		defer s.Close()
		c := testClient(t, "", func(o *Options) {
			o.BaseURL, o.HTTP2 = s.URL+"/v1", true
		})
		if secure {
			c.tls.RootCAs, c.tls.ServerName = s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs, "example.com"
		}
		for range 2 {
			var r Result
			c.Do(t.Context(), &streamCall, &r)
			if r.Outcome != OK || r.Events != 20 || r.KernelStamps != 0 {
				t.Fatalf("%+v", r)
			}
			if got := <-protocols; got != 2 {
				t.Errorf("HTTP/%d", got)
			}
		}
	}
}

// TestFresh: a call with Fresh has its own connection, even if one is idle.
func TestFresh(t *testing.T) {
	var conns atomic.Int32
	closing := make(chan bool, 8)
	c := testClient(t, listen(t, func(_ int, p *peer) {
		conns.Add(1)
		for {
			req, _, err := p.request()
			if err != nil {
				return
			}
			closing <- req.Close
			stream(token("a"), finish("stop"), doneEvent)(p)
		}
	}))
	if _, err := c.Prepare(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	call := streamCall
	call.Fresh = true
	var r Result
	for range 3 {
		c.Do(t.Context(), &call, &r)
		if r.Outcome != OK || r.Reused || r.Connect <= 0 || r.Setup.TCP <= 0 || r.Setup.total() != r.Connect || !<-closing {
			t.Errorf("%+v", r)
		}
	}
	if c.Do(t.Context(), &streamCall, &r); !r.Reused || <-closing {
		t.Errorf("the prepared connection was not left for another: %+v", r)
	}
	if conns.Load() != 4 {
		t.Errorf("%d connections", conns.Load())
	}
}

func TestVantage(t *testing.T) {
	c := testClient(t, listen(t, answer(stream(doneEvent))))
	v, err := c.Vantage(t.Context(), 5)
	if err != nil || v.Place != placeSameHost || len(v.RTT) != 5 || v.RTT[0] <= 0 || v.RTT[4] > time.Second {
		t.Errorf("%+v, %v", v, err)
	}
	tcp := func(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 1} }
	for _, tt := range []struct {
		local, remote string
		rtt           time.Duration
		want          string
	}{
		{"127.0.0.1", "127.0.0.1", time.Microsecond, placeSameHost},
		{"192.168.1.7", "192.168.1.7", time.Microsecond, placeSameHost},
		{"::1", "::1", time.Microsecond, placeSameHost},
		{"192.168.1.7", "192.168.1.8", 200 * time.Microsecond, placeLAN},
		{"fd00::1", "fd00::2", 200 * time.Microsecond, placeLAN},
		{"10.0.0.1", "10.9.0.1", 30 * time.Millisecond, placeRemote},
		{"10.0.0.1", "8.8.8.8", time.Millisecond, placeRemote},
	} {
		if got := classify(tcp(tt.local), tcp(tt.remote), tt.rtt); got != tt.want {
			t.Errorf("%+v: %s", tt, got)
		}
	}
	c = testClient(t, "127.0.0.1:9")
	if _, err := c.Vantage(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "127.0.0.1:9") {
		t.Error(err)
	}
}

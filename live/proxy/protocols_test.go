package proxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// TestProtocols sends requests over each protocol in and out.
func TestProtocols(t *testing.T) {
	certificates := httptest.NewUnstartedServer(nil)
	certificates.StartTLS()
	certificates.Close()
	for name, c := range map[string]struct {
		tls, h2 bool
		want    string
	}{
		"HTTP/1.1": {want: "HTTP/1.1"}, "h2c": {h2: true, want: "HTTP/2.0"},
		"TLS": {tls: true, want: "HTTP/1.1"}, "h2": {tls: true, h2: true, want: "HTTP/2.0"},
	} {
		t.Run(name, func(t *testing.T) {
			var served string
			a := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				served = r.Proto
				w.Header().Set("Trailer", "X-End")
				all, _ := io.ReadAll(r.Body)
				_, _ = w.Write(all)
				w.Header().Set("X-End", r.Trailer.Get("X-Ask"))
			}))
			a.Config.Protocols = protocols(false)
			a.Start()
			defer a.Close()
			to, _ := url.Parse(a.URL)
			p, err := New(Config{To: to})
			if err != nil {
				t.Fatal(err)
			}
			s := &Server{Proxy: p, MaxConnections: 2, Drain: time.Minute}
			transport := &http.Transport{Protocols: protocols(c.h2), TLSClientConfig: certificates.Client().Transport.(*http.Transport).TLSClientConfig}
			scheme := "http"
			if c.tls {
				s.TLS, scheme = &tls.Config{Certificates: certificates.TLS.Certificates}, "https"
				transport.Protocols.SetHTTP2(c.h2)
				transport.Protocols.SetUnencryptedHTTP2(false)
			}
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			ctx, end := context.WithCancel(t.Context())
			go func() { ended <- s.Serve(ctx, l) }()
			body := strings.Repeat("body ", 50_000)
			ask, err := http.NewRequest(http.MethodPost, scheme+"://"+l.Addr().String()+"/v1/chat/completions", io.MultiReader(strings.NewReader(body)))
			if err != nil {
				t.Fatal(err)
			}
			ask.Trailer = http.Header{"X-Ask": {"1"}}
			q, err := (&http.Client{Transport: transport}).Do(ask)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(q.Body)
			if err != nil || string(got) != body || q.Proto != c.want || q.Trailer.Get("X-End") != "1" {
				t.Error(err, len(got), q.Proto, q.Trailer)
			}
			if served != "HTTP/1.1" {
				t.Error("the server got", served)
			}
			transport.CloseIdleConnections()
			end()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if err := p.Close(t.Context()); err != nil || p.Counts().Requests != 1 {
				t.Error(err, p.Counts())
			}
		})
	}
}

// protocols are HTTP/1.1, or HTTP/2 without TLS.
func protocols(two bool) *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(!two)
	p.SetUnencryptedHTTP2(two)
	return p
}

// FuzzBytes checks that bodies pass as they are, in any pieces, with their header fields.
func FuzzBytes(f *testing.F) {
	f.Add([]byte("hello"), uint64(1), "v")
	f.Add(bytes.Repeat([]byte("data: x\n\n"), 10_000), uint64(2), "")
	f.Fuzz(func(t *testing.T, body []byte, seed uint64, value string) {
		if !printable(value) {
			t.Skip()
		}
		a := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if got, err := io.ReadAll(r.Body); err != nil || !bytes.Equal(got, body) || r.Header.Get("X-Forwarded-For") != value || r.URL.RawQuery != "a;b&%zz" {
				t.Error("the request changed", err, len(got), r.Header, r.URL)
			}
			w.Header().Set("X-Early", "1")
			w.WriteHeader(http.StatusEarlyHints)
			rng := rand.New(rand.NewPCG(seed, 0))
			for rest := body; len(rest) > 0; {
				n := 1 + rng.IntN(len(rest))
				_, _ = w.Write(rest[:n])
				if rest = rest[n:]; rng.IntN(2) == 0 {
					_ = http.NewResponseController(w).Flush()
				}
			}
		}))
		defer a.Close()
		to, _ := url.Parse(a.URL)
		p, err := New(Config{To: to})
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewServer(p)
		q, _ := http.NewRequest(http.MethodPost, s.URL+"/v1/responses?a;b&%zz", bytes.NewReader(body))
		q.Header.Set("X-Forwarded-For", value)
		r, err := s.Client().Do(q)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r.Body)
		if err != nil || !bytes.Equal(got, body) || r.Header.Get("X-Early") != "1" {
			t.Error("the answer changed", err, len(got), r.Header)
		}
		s.Close()
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// printable reports whether a text can be a header's value as it is.
func printable(s string) bool {
	return strings.TrimSpace(s) == s && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

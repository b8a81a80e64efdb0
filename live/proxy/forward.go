package proxy

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"time"

	"bench/experiment/target"
)

// calls are the paths of the API below its base, with the API that is recorded; empty = passed on only.
var calls = []struct{ path, api string }{
	{"/chat/completions", target.Chat}, {"/completions", target.Completions}, {"/responses", target.Responses},
	{"/messages", target.Messages},
	{"/models", ""}, {"/embeddings", ""}, {"/rerank", ""},
}

// Servers close idle connections when they please: uvicorn, vLLM's server, after 5 s. A request that meets such an end
// fails, since it must not be sent twice; so connections end here first.
const idleTimeout = 4 * time.Second

const dialTimeout = 10 * time.Second

func newTransport(c Config) *http.Transport {
	dial := c.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext
	}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	return &http.Transport{
		DialContext: dial, TLSClientConfig: c.TLS, TLSHandshakeTimeout: dialTimeout, Protocols: &protocols,
		DisableCompression: true, MaxIdleConnsPerHost: math.MaxInt32, IdleConnTimeout: idleTimeout,
		ExpectContinueTimeout: time.Second,
	}
}

// rewrite addresses a request to the server. Its header passes as it came but for Host, which names the server, and
// the fields of one connection (RFC 9110, section 7.6.1), Upgrade among them: a server may ignore it, and answers in
// HTTP. Nothing about the caller is added, and of the proxy Via, by which it knows its own requests. A recorded request
// asks for an answer that is not compressed.
func (p *Proxy) rewrite(r *httputil.ProxyRequest) {
	b, _ := r.In.Context().Value(passing{}).(*body)
	own := *b.url
	r.Out.URL, r.Out.Host = &own, ""
	r.Out.Trailer = r.In.Trailer // the server that reads the body fills it at the body's end
	if r.Out.Header.Get("Upgrade") != "" {
		r.Out.Header.Del("Upgrade")
		r.Out.Header.Del("Connection")
	}
	r.Out.Header.Add("Via", p.via)
	if b.x != nil {
		r.Out.Header.Set("Accept-Encoding", "identity") // what is compressed cannot be measured
	}
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if v, ok := r.In.Header[name]; ok {
			r.Out.Header[name] = v
		}
	}
}

// api is the API of a call that is recorded, by its address at the server; empty: it is passed on only.
func api(method string, to, u *url.URL) string {
	if method != http.MethodPost {
		return ""
	}
	path := strings.TrimPrefix(u.Path, strings.TrimRight(to.Path, "/"))
	if rest, ok := strings.CutPrefix(path, "/v1/"); ok {
		path = "/" + rest
	}
	for _, c := range calls {
		if path == c.path {
			return c.api
		}
	}
	return ""
}

func isCall(path string) bool {
	for _, c := range calls {
		if rest, ok := strings.CutPrefix(path, c.path); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

func (p *Proxy) failed(w http.ResponseWriter, r *http.Request, err error) {
	b, _ := r.Context().Value(passing{}).(*body)
	b.closeAfter(w.Header())
	x := b.x
	switch {
	case errors.Is(err, errTooLarge):
		if x != nil {
			x.refused = true
		}
		p.refuse(w)
		return
	case b.broken.Load(): // the caller's request broke off: it is gone, or its body came no further in time
		if x != nil {
			x.left.Store(true)
		}
		problem(w, http.StatusBadRequest, "invalid_request_error", "bad_request", "the request's body ended early")
		return
	case r.Context().Err() != nil:
		if x != nil {
			x.left.Store(true)
		}
		panic(http.ErrAbortHandler) // to whom? A caller that only stopped sending must not get an empty 200
	}
	if x != nil {
		x.err = err
	}
	p.counts.unreachable.Add(1)
	text := "bench: the server closed the connection without an answer"
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" || errors.Is(err, context.DeadlineExceeded) {
		text = "bench: the server could not be reached"
	}
	problem(w, http.StatusBadGateway, "api_error", "bad_gateway", text)
}

func (p *Proxy) refuse(w http.ResponseWriter) {
	p.counts.refused.Add(1)
	w.Header().Set("Connection", "close") // the rest of the body is not read
	problem(w, http.StatusRequestEntityTooLarge, "invalid_request_error", "request_too_large",
		fmt.Sprintf("bench: the request's body is larger than %g MiB", float64(p.config.maxBody)/(1<<20)))
}

// loops reports whether a request has passed here before (RFC 9110, section 7.6.3).
func (p *Proxy) loops(r *http.Request) bool {
	return slices.ContainsFunc(r.Header["Via"], func(v string) bool { return strings.Contains(v, p.via) })
}

func (p *Proxy) refuseLoop(w http.ResponseWriter) {
	p.counts.refused.Add(1)
	w.Header().Set("Connection", "close") // the body is not read
	problem(w, http.StatusLoopDetected, "api_error", "loop_detected",
		"bench: the request came back to the recorder that sent it")
}

// problem answers with an error, in a form that both OpenAI's and Anthropic's clients read. The texts need no escaping.
func problem(w http.ResponseWriter, status int, kind, code, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(`{"type":"error","error":{"message":"` + text + `","type":"` + kind +
		`","param":null,"code":"` + code + `"}}` + "\n"))
}

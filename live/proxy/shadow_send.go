package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"bench/experiment/openai"
	"bench/experiment/target"
)

type measurement struct {
	result *openai.Result // nil = not measured
	end    error          // why the exchange ended; io.EOF = in order
}

func (m measurement) failed() bool {
	return errors.Is(m.end, errFlood) || m.result != nil && m.result.Outcome.Failed()
}

func (s *shadow) measure(ctx context.Context, c *copied) measurement {
	ctx, cancel := context.WithTimeout(ctx, s.config.timeout)
	defer cancel()
	r := &openai.Result{}
	x := s.observers[c.api].Begin(s.started, r)
	var sent sentTime
	request, body := s.request(httptrace.WithClientTrace(ctx, sent.trace()), c)
	err := s.exchange(request, x, &sent)
	body.end()
	if cause := context.Cause(ctx); err != io.EOF && cause != nil {
		err = cause
	}
	sent.note(x)
	measured := x.End(err, time.Now())
	switch {
	case err == errFlood:
		r.Outcome = openai.Protocol // also if what was read would do
	case !measured || err == errStopped:
		r = nil
	}
	return measurement{r, err}
}

func (s *shadow) exchange(request *http.Request, x *openai.Observation, sent *sentTime) error {
	resp, err := s.transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	began := time.Now()
	sent.note(x)
	x.Response(resp.StatusCode, resp.Header, began)
	buf := piecePool.Get().(*[pieceBytes]byte)
	defer piecePool.Put(buf)
	burst, rate := floodOf(resp.Header)
	for total := 0; ; {
		n, err := resp.Body.Read(buf[:])
		at := time.Now()
		x.Piece(buf[:n], at)
		if err != nil {
			return err
		}
		if total += n; total > burst+int(rate*at.Sub(began).Seconds()) {
			return errFlood
		}
	}
}

// floodOf is how many bytes of an answer are read at once, and in each second after them: more would cost CPU time that
// the primary's bytes need. The answer is cut and counts as a failure. A token takes a few hundred bytes of a stream,
// with 20 logprobs 2 kB: 1,000 tokens of them a second pass. Reading a stream costs 10 ns a byte, a document nearly
// nothing.
func floodOf(header http.Header) (burst int, rate float64) {
	if strings.HasPrefix(header.Get("Content-Type"), "text/event-stream") {
		return 2 << 20, 2 << 20
	}
	return 16 << 20, 4 << 20
}

var errFlood = errors.New("the answer is a flood")

type sentTime struct {
	at    atomic.Pointer[time.Time]
	noted bool
}

func (t *sentTime) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{WroteRequest: func(info httptrace.WroteRequestInfo) {
		if now := time.Now(); info.Err == nil {
			t.at.CompareAndSwap(nil, &now)
		}
	}}
}

func (t *sentTime) note(x *openai.Observation) {
	if at := t.at.Load(); at != nil && !t.noted {
		x.Sent(*at)
		t.noted = true
	}
}

// request is the copy as the candidate gets it. As with the primary, nothing is sent twice: it has no GetBody.
func (s *shadow) request(ctx context.Context, c *copied) (*http.Request, *copyBody) {
	body := &copyBody{from: bytes.NewReader(c.body)}
	asked := c.url
	if s.config.Key != "" {
		asked = withoutKeys(asked)
	}
	r := &http.Request{Method: http.MethodPost, URL: upstream(s.config.To, asked),
		Header: copyHeader(c.header, c.api, s.config.Key, s.sessionHeader),
		Body:   body, ContentLength: int64(len(c.body)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	r.Header.Add("Via", s.via)
	return r.WithContext(ctx), body
}

// copyBody is not read once its exchange has ended: a transport may read on behind RoundTrip.
type copyBody struct {
	mu   sync.Mutex
	from io.Reader // in memory: Read never waits; nil = ended
}

func (b *copyBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.from == nil {
		return 0, errStopped
	}
	return b.from.Read(p)
}

// Close implements io.Closer. The transport's end is not the exchange's.
func (b *copyBody) Close() error { return nil }

func (b *copyBody) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.from = nil
}

// ofConnection are fields of the caller's connection alone (RFC 9110, section 7.6.1), or set anew.
var ofConnection = []string{"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization",
	"Te",
	"Trailer", "Transfer-Encoding", "Upgrade", "Expect", "Content-Length", "Host"}

// copyHeader is the caller's header for the candidate, without a compression of the answer, which nothing here would
// decode. With another key no secret of the caller goes along. The header that names conversations does, by which
// routers send, unless more than "session" in its name says that it is a secret.
func copyHeader(caller http.Header, api, key, sessionHeader string) http.Header {
	h := caller.Clone()
	if h == nil {
		h = http.Header{}
	}
	for _, list := range caller["Connection"] {
		for name := range strings.SplitSeq(list, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range ofConnection {
		h.Del(name)
	}
	h.Set("Accept-Encoding", "identity")
	if len(h["User-Agent"]) == 0 {
		h["User-Agent"] = []string{""} // none, instead of Go's
	}
	if key == "" {
		return h
	}
	for name := range h {
		if !target.IsSecretHeader(name) {
			continue
		}
		rest := strings.ReplaceAll(strings.ToLower(name), "session", "")
		if !strings.EqualFold(name, sessionHeader) || target.IsSecretHeader(rest) {
			delete(h, name)
		}
	}
	h.Set("Authorization", "Bearer "+key)
	if api == target.Messages {
		h.Set("X-Api-Key", key)
	}
	return h
}

// withoutKeys is a URL without the fields of its query that have the name of a secret, such as key or access_token.
func withoutKeys(u *url.URL) *url.URL {
	var kept []string
	for field := range strings.SplitSeq(u.RawQuery, "&") {
		name, _, _ := strings.Cut(field, "=")
		if plain, err := url.QueryUnescape(name); err == nil && !target.IsSecretHeader(plain) {
			kept = append(kept, field)
		}
	}
	out := *u
	out.RawQuery = strings.Join(kept, "&")
	return &out
}

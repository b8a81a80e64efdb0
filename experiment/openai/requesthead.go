package openai

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"

	"bench/experiment/target"
)

const (
	acceptStream   = "text/event-stream"
	acceptDocument = "application/json"
)

// requestTemplate is a completion request without its body: method, URL and headers. It is made once; each
// call adds its own headers and body. The hot path encodes it by hand, since it hands head and body to the
// kernel in one write.
type requestTemplate struct {
	request *http.Request
	stream  []byte // request line and shared headers of a streamed request
	whole   []byte // the same for an answer in one piece
	session string // name of the header of Call.SessionID; empty: none
}

func (c *Client) newTemplate() (requestTemplate, error) {
	path := cmp.Or(map[string]string{target.Chat: "chat/completions"}[c.api], c.api, target.Completions)
	req, err := http.NewRequest(http.MethodPost, c.base+"/"+path, nil)
	if err != nil {
		return requestTemplate{}, fmt.Errorf("making the client: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Cache-Control", "no-cache")
	req.Header.Set("Accept", acceptStream)
	c.setHeaders(req)
	t := requestTemplate{request: req, stream: encodeHead(req), session: c.sessionHeader}
	req.Header.Set("Accept", acceptDocument)
	t.whole = encodeHead(req)
	return t, nil
}

func encodeHead(req *http.Request) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: %s\r\n", req.URL.RequestURI(), cmp.Or(req.Host, req.URL.Host))
	_ = req.Header.Write(&b) // a buffer's Write never fails
	return b.Bytes()
}

func (t *requestTemplate) head(b []byte, call *Call, keep bool) []byte {
	if call.Stream {
		b = append(b, t.stream...)
	} else {
		b = append(b, t.whole...)
	}
	if call.RequestID != "" {
		b = append(append(append(b, "X-Request-Id: "...), call.RequestID...), "\r\n"...)
	}
	if call.SessionID != "" && t.session != "" {
		b = append(append(append(append(b, t.session...), ": "...), call.SessionID...), "\r\n"...)
	}
	if call.Traceparent != "" {
		b = append(append(append(b, "traceparent: "...), call.Traceparent...), "\r\n"...)
	}
	if !keep {
		b = append(b, "Connection: close\r\n"...)
	}
	b = strconv.AppendInt(append(b, "Content-Length: "...), int64(len(call.Body)), 10)
	return append(b, "\r\n\r\n"...)
}

func (t *requestTemplate) http(ctx context.Context, call *Call) *http.Request {
	req := t.request.Clone(ctx)
	req.Header.Set("Accept", acceptStream)
	if !call.Stream {
		req.Header.Set("Accept", acceptDocument)
	}
	if call.RequestID != "" {
		req.Header.Set("X-Request-Id", call.RequestID)
	}
	if call.SessionID != "" && t.session != "" {
		req.Header.Set(t.session, call.SessionID)
	}
	if call.Traceparent != "" {
		req.Header.Set("Traceparent", call.Traceparent)
	}
	req.Body, req.ContentLength, req.GetBody = io.NopCloser(bytes.NewReader(call.Body)), int64(len(call.Body)), nil
	return req
}

func (c *Client) setHeaders(req *http.Request) {
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	} else if c.user != nil {
		password, _ := c.user.Password()
		req.SetBasicAuth(c.user.Username(), password)
	}
	req.Header.Set("User-Agent", "bench")
	if c.api == target.Messages { // Anthropic's own server wants these; others look where the other APIs have the key
		req.Header.Set("Anthropic-Version", anthropicVersion)
		if c.key != "" {
			req.Header.Set("X-Api-Key", c.key)
		}
	}
	for name, value := range c.headers {
		if http.CanonicalHeaderKey(name) == "Host" {
			req.Host = value
			continue
		}
		req.Header.Set(name, value)
	}
}

// unsent is what the kernel has not taken yet of a request: one piece, and a long body that is not copied.
type unsent struct {
	buf  *[]byte // of first, from requestBuffers; nil: all is taken
	more []byte  // a long body
	from int     // bytes of the first piece that are taken
}

// requestBuffers are in use only until a request is written: thousands can be in flight.
var requestBuffers = sync.Pool{New: func() any { return new([]byte) }}

func (u *unsent) fill(t *requestTemplate, call *Call, keep bool) {
	u.buf, u.from = requestBuffers.Get().(*[]byte), 0
	*u.buf = t.head((*u.buf)[:0], call, keep)
	if u.more = call.Body; len(u.more) <= maxKeptBuffer {
		*u.buf = append(*u.buf, u.more...)
		u.more = nil
	}
}

// piece is what to hand over next, empty at the end. more: another piece follows.
func (u *unsent) piece() (b []byte, more bool) {
	if u.buf != nil {
		return (*u.buf)[u.from:], len(u.more) > 0
	}
	return u.more, false
}

func (u *unsent) take(n int) {
	if u.buf == nil {
		u.more = u.more[n:]
	} else if u.from += n; u.from == len(*u.buf) {
		requestBuffers.Put(u.buf)
		u.buf = nil
	}
}

func (u *unsent) drop() {
	if u.buf != nil {
		requestBuffers.Put(u.buf)
	}
	*u = unsent{}
}

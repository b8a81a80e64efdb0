package listen

import (
	"cmp"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	bodyTimeout = time.Minute     // without a byte of a body that is read
	restTimeout = 5 * time.Second // of a body that no handler reads, around its answer
	// lingerTimeout is that of a body which is not read at all, by an answer that ends the connection. What is on its
	// way is read: data that comes after a close resets the connection, and a reset can take the answer back.
	lingerTimeout = 50 * time.Millisecond
)

// timed serves a request with a bounded time for its body: each read has a timeout, and so has the rest that a handler
// did not read, which net/http reads to keep the connection.
func (d *Door) timed(h http.Handler, w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 {
		h.ServeHTTP(w, r)
		return
	}
	b := &body{ReadCloser: r.Body, control: *http.NewResponseController(w), timeout: cmp.Or(d.BodyTimeout, bodyTimeout)}
	if r.ProtoMajor == 1 { // before the answer of a handler that reads nothing, net/http does
		_ = b.control.SetReadDeadline(time.Now().Add(restTimeout))
	}
	defer func() {
		if !b.leave(w.Header()) && r.ProtoMajor == 1 { // HTTP/2 ends the one stream
			d.gate.release(r.Context())
		}
	}()
	own := *r // net/http looks at the Body of its own
	own.Body = b
	h.ServeHTTP(w, &own)
}

// body is a request's body, each Read of which must make progress. A transport may read it while its handler returns;
// from then on the connection's deadlines belong to net/http.
type body struct {
	io.ReadCloser
	control http.ResponseController
	timeout time.Duration

	mu       sync.Mutex
	extended time.Time // when the deadline was set
	begun    bool      // the handler has read
	err      error     // of the last read
	left     bool      // the handler has returned
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if err := b.begin(); err != nil {
		return 0, err
	}
	n, err := b.ReadCloser.Read(p)
	if err == nil {
		return n, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err // at the end net/http clears the deadline; behind another one it must not wait for the rest
	return n, err
}

func (b *body) begin() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.err != nil:
		return b.err
	case b.left:
		return http.ErrBodyReadAfterClose
	}
	b.begun = true
	b.extend()
	return nil
}

// extend sets the deadline of a read, of several that come at once only once.
func (b *body) extend() {
	if now := time.Now(); now.Sub(b.extended) > b.timeout/100 {
		b.extended = now
		_ = b.control.SetReadDeadline(now.Add(b.timeout)) // a writer of tests has none
	}
}

// leave reports whether the body's end was read. If not, it bounds the time of the rest.
func (b *body) leave(answer http.Header) (ended bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = true
	if b.err == io.EOF {
		return true
	}
	rest := restTimeout
	if b.err != nil || !b.begun && answer.Get("Connection") == "close" { // a refusal
		rest = lingerTimeout
	}
	_ = b.control.SetReadDeadline(time.Now().Add(rest))
	return false
}

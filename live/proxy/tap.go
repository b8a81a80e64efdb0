package proxy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"bench/experiment/openai"
	"bench/experiment/target"
)

type exchange struct {
	p       *Proxy
	api     string
	arrived time.Time
	header  http.Header // of the request
	url     *url.URL    // as the caller wrote it
	body    bodyCopy
	result  openai.Result
	seen    *openai.Observation

	sent atomic.Int64 // when the request was sent, ns since the recording's start; 0 = it was not
	left atomic.Bool  // the caller is gone
	tap  *tap         // nil = no answer

	answerID string // of the Responses API, which a later request can name

	blocked time.Duration // in writes to the caller
	refused bool          // by a limit: not measured
	err     error         // without an answer
	ended   time.Time

	mu      sync.Mutex
	queued  bool // the request, to be read by the recorder
	dropped bool // the recorder was behind

	known // what the recorder finds
}

func (p *Proxy) begin(api string, r *http.Request) *exchange {
	x := &exchange{p: p, api: api, arrived: time.Now(), header: r.Header, url: r.URL}
	x.body.budget, x.body.size = &p.copies, r.ContentLength
	x.seen = p.observers[api].Begin(p.config.Started, &x.result)
	return x
}

func (x *exchange) trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(info httptrace.WroteRequestInfo) {
		if info.Err != nil {
			return
		}
		x.sent.Store(int64(max(1, time.Since(x.p.config.Started))))
		x.p.recorder.requestSent(x)
	}})
}

// errSwitched is an answer with status 101, which no request asked for.
var errSwitched = errors.New("the server left HTTP")

func (p *Proxy) answered(r *http.Response) error {
	if r.StatusCode == http.StatusSwitchingProtocols {
		return errSwitched
	}
	b, _ := r.Request.Context().Value(passing{}).(*body)
	b.closeAfter(r.Header)
	if b.x == nil {
		return nil
	}
	x := b.x
	x.tap = &tap{ReadCloser: r.Body, x: x, status: r.StatusCode, header: r.Header, head: time.Now()}
	r.Body = x.tap
	return nil
}

// end hands an exchange over when nothing more can be read or written. What the caller still waits for, the end of a
// chunked body, is written after it: it only puts the exchange into the queue.
func (p *Proxy) end(x *exchange, r *http.Request) {
	x.ended = time.Now()
	if r.Context().Err() != nil {
		x.left.Store(true)
	}
	p.recorder.requestEnded(x)
}

// finish scans what remains and ends the observation: in the recorder's goroutine.
func (x *exchange) finish() (measured bool) {
	t := x.tap
	if t == nil {
		x.markSent()
		return x.seen.End(x.cause(x.err), x.ended)
	}
	t.scan()
	t.release()
	x.markSent()      // the transport notes it after an answer that comes at once
	if t.err == nil { // the answer was not read to its end: a write to the caller failed
		x.left.Store(true)
		return x.seen.End(x.cause(nil), x.ended)
	}
	err := t.err
	if !errors.Is(err, io.EOF) {
		err = x.cause(err)
	}
	return x.seen.End(err, t.at)
}

func (x *exchange) cause(err error) error {
	switch {
	case x.p.cut.Load() && x.left.Load():
		return openai.ErrUnfinished
	case x.left.Load() || err == nil:
		return openai.ErrCallerLeft
	}
	return err
}

func (x *exchange) markSent() {
	if sent := x.sent.Load(); sent != 0 {
		x.seen.Sent(x.p.config.Started.Add(time.Duration(sent)))
	}
}

// tap is the body of an answer. A piece that was read is scanned at the next Read, when it is on its way to the caller.
type tap struct {
	io.ReadCloser
	x      *exchange
	status int
	header http.Header
	head   time.Time

	begun bool
	named bool   // the beginning was searched for an id
	piece []byte // read and not scanned
	at    time.Time
	err   error // of the last read
}

func (t *tap) Read(p []byte) (int, error) {
	t.scan()
	n, err := t.ReadCloser.Read(p)
	t.at = time.Now()
	if n > 0 {
		if t.piece == nil {
			t.piece = (*piecePool.Get().(*[pieceBytes]byte))[:0]
		}
		t.piece = append(t.piece, p[:n]...)
	}
	t.err = err
	return n, err
}

func (t *tap) scan() {
	if !t.begun {
		t.begun = true
		t.x.markSent()
		t.x.seen.Response(t.status, t.header, t.head)
	}
	if len(t.piece) == 0 {
		return
	}
	if t.x.api == target.Responses && !t.named {
		t.x.answerID, t.named = answerID(t.piece), true
	}
	t.x.seen.Piece(t.piece, t.at)
	t.piece = t.piece[:0]
}

func (t *tap) release() {
	if cap(t.piece) == pieceBytes {
		piecePool.Put((*[pieceBytes]byte)(t.piece[:pieceBytes]))
		t.piece = nil
	}
}

// Writes that take longer than this wait for the caller, not for the kernel.
const blockedFrom = time.Millisecond

type writer struct {
	http.ResponseWriter
	x *exchange
}

func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *writer) Write(p []byte) (int, error) {
	began := time.Now()
	n, err := w.ResponseWriter.Write(p)
	w.wrote(began, err)
	return n, err
}

func (w *writer) FlushError() error {
	began := time.Now()
	err := http.NewResponseController(w.ResponseWriter).Flush()
	w.wrote(began, err)
	return err
}

func (w *writer) wrote(began time.Time, err error) {
	if d := time.Since(began); d >= blockedFrom {
		w.x.blocked += d
	}
	if err != nil {
		w.x.left.Store(true)
	}
}

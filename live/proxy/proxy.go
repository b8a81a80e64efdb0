// Package proxy is a reverse proxy before an LLM server. Bytes pass untouched; a copy of them is measured and handed
// over without text, and whole conversations can be copied to a candidate server.
//
// Nothing that measures lies between a read from the server and the write to the caller: a piece of an answer is
// scanned when the next one is asked for, and what remains is done by one goroutine behind a bounded queue, which
// drops and counts. Requests are never sent twice, errors of the server pass as they are, and no text of a prompt or
// an answer, no key, header value or address leaves the package.
package proxy

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"bench/experiment/openai"
	"bench/experiment/target"
	"bench/live/recording"
)

type Config struct {
	// base of the server's API, such as http://host:8000/v1; without user info
	To            *url.URL
	TLS           *tls.Config                 // for an https server; nil = the system's roots
	Dial          Dial                        // nil = TCP
	Shadow        *ShadowConfig               // a candidate that gets copies; nil = none
	SessionHeader string                      // request header that names a conversation; empty = none
	maxBody       int64                       // largest body of a request, bytes; 0 = 64 MiB
	maxCopies     int64                       // memory for copies of bodies, bytes; 0 = 256 MiB
	KeepModels    bool                        // record the names of models, not numbers
	Started       time.Time                   // origin of the recorded times; zero = the call of New
	Done          func(x *recording.Exchange) // takes each exchange, from one goroutine; nil = not recorded
}

type Dial func(ctx context.Context, network, address string) (net.Conn, error)

const (
	defaultMaxBody   = 64 << 20
	defaultMaxCopies = 256 << 20
	maxCopy          = 16 << 20 // bytes of one body that is copied; a larger one is recorded without hashes
	pieceBytes       = 32 << 10 // largest piece of an answer, as io.Copy reads
)

type Proxy struct {
	config    Config
	via       string // its mark on what it forwards
	reverse   *httputil.ReverseProxy
	transport *http.Transport
	observers map[string]*openai.Observer // by API
	recorder  *recorder
	shadow    *shadow // nil = no candidate
	figures   figures
	copies    budget
	counts    counters
	open      atomic.Int64 // requests that are being served
	cut       atomic.Bool  // the answers that are still open are cut
}

type counters struct {
	requests, other, unrecorded, unhashed, unreadable, refused, unreachable atomic.Int64
}

// New returns a proxy. Close ends what it started.
func New(c Config) (*Proxy, error) {
	switch {
	case c.To == nil || c.To.Host == "":
		return nil, errors.New("the server's address is missing")
	case c.To.User != nil:
		return nil, errors.New("the server's address has user info: callers send their own keys, which pass")
	}
	c.maxBody = cmp.Or(c.maxBody, defaultMaxBody)
	c.maxCopies = cmp.Or(c.maxCopies, defaultMaxCopies)
	c.Started = cmp.Or(c.Started, time.Now())
	p := &Proxy{config: c, transport: newTransport(c), observers: newObservers(), copies: budget{left: c.maxCopies}}
	p.via = "1.1 bench-" + rand.Text()
	p.reverse = &httputil.ReverseProxy{
		Rewrite:        p.rewrite,
		Transport:      p.transport,
		FlushInterval:  -1, // as read
		BufferPool:     pieces{},
		ModifyResponse: p.answered,
		ErrorHandler:   p.failed,
		ErrorLog:       log.New(io.Discard, "", 0), // its lines have addresses
	}
	if c.Shadow != nil {
		candidate := newTransport(Config{To: c.Shadow.To, TLS: c.TLS, Dial: c.Dial})
		candidate.MaxResponseHeaderBytes = maxCandidateHeader
		p.shadow = newShadow(*c.Shadow, candidate, c.Started)
		p.shadow.via = p.via
		p.shadow.sessionHeader = c.SessionHeader
	}
	p.recorder = newRecorder(p)
	return p, nil
}

func newObservers() map[string]*openai.Observer {
	observers := map[string]*openai.Observer{}
	for _, api := range target.APIs {
		observers[api] = openai.NewObserver(api)
	}
	return observers
}

// Close waits until ctx is done for the copies, cuts the others, and records the ended exchanges. Call it when idle.
func (p *Proxy) Close(ctx context.Context) error {
	p.shadow.close(ctx)
	p.transport.CloseIdleConnections()
	return p.recorder.close(context.WithoutCancel(ctx))
}

func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.open.Add(1)
	defer p.open.Add(-1)
	if p.loops(r) {
		p.refuseLoop(w)
		return
	}
	u := upstream(p.config.To, r.URL)
	api := api(r.Method, p.config.To, u)
	if api == "" {
		p.counts.other.Add(1)
		p.pass(w, r, u, nil)
		return
	}
	p.counts.requests.Add(1)
	x := p.begin(api, r)
	defer p.end(x, r) // also if the reverse proxy aborts the answer by a panic
	p.pass(&writer{ResponseWriter: w, x: x}, r, u, x)
}

func (p *Proxy) pass(w http.ResponseWriter, r *http.Request, u *url.URL, x *exchange) {
	if r.ContentLength > p.config.maxBody {
		p.refuse(w)
		if x != nil {
			x.refused = true
		}
		return
	}
	body := &body{ReadCloser: r.Body, url: u, left: p.config.maxBody, length: r.ContentLength, x: x}
	ctx := context.WithValue(r.Context(), passing{}, body)
	if x != nil {
		ctx = x.trace(ctx)
	}
	out := r.WithContext(ctx)
	if r.ContentLength != 0 {
		out.Body = body
		body.rest.Store(r.ProtoMajor == 1)
		_ = http.NewResponseController(w).EnableFullDuplex() // an answer may begin before the body has ended
	}
	p.reverse.ServeHTTP(w, out)
}

type passing struct{}

func (p *Proxy) Counts() recording.Counts {
	c := &p.counts
	return recording.Counts{
		Requests: int(c.requests.Load()), Other: int(c.other.Load()), Unrecorded: int(c.unrecorded.Load()),
		Unhashed:   int(c.unhashed.Load()),
		Unreadable: int(c.unreadable.Load()), Refused: int(c.refused.Load()), Unreachable: int(c.unreachable.Load()),
		Shadow: p.shadow.counts(),
	}
}

func (p *Proxy) Open() int { return int(p.open.Load()) }

// Cut marks the open answers as ended by the proxy.
func (p *Proxy) Cut() { p.cut.Store(true) }

type pieces struct{}

var piecePool = sync.Pool{New: func() any { return new([pieceBytes]byte) }}

func (pieces) Get() []byte { return piecePool.Get().(*[pieceBytes]byte)[:] }

func (pieces) Put(b []byte) { piecePool.Put((*[pieceBytes]byte)(b)) }

// Package openai sends one request to an OpenAI-compatible server and measures its answer event by event.
//
// The way of a measured request: Encoder makes its body ahead of time. exchange writes head and body at once
// to an HTTP/1.1 connection of its own, and reads the answer piece by piece, each with the kernel's receive
// stamp if the system has one. net/http parses the header, framing removes the chunked encoding, scanner cuts
// the body into server-sent events, walker reads them, and the Result gets its Outcome. One goroutine does
// all of that: the caller of Do, or of the function that Start returned.
//
// Unmeasured requests (the model list, token counts) go through go-openai: see sdk.go.
//
// The client never retries and follows no redirect. It uses a proxy or HTTP/2 only if Options say so; both go
// through net/http's transport and have no kernel stamps. It parses nothing between a read and its stamp.
// Secrets leave it in request headers only: no error, header or body that it returns contains one.
//
// The stages stay in one package: they hand over the same buffers and stamps without allocation, and an
// interface between them would cost time on the path that is measured.
package openai

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/sashabaranov/go-openai"

	"bench/experiment/target"
)

const defaultTimeout = 10 * time.Minute

const (
	idleTimeout  = 4 * time.Second        // below the 5 s after which uvicorn closes idle connections
	drainTimeout = 250 * time.Millisecond // for the end of a body after [DONE]
	drainBytes   = 256 << 10
	maxErrorBody = 64 << 10 // bytes that are read of an error's body
)

type Options struct {
	BaseURL       string            // as returned by BaseURL; without a key, user info becomes basic authentication
	API           string            // one of target.APIs; empty: Completions
	APIKey        string            // sent as bearer token; empty: none
	Headers       map[string]string // of every request; they replace bench's own
	Timeout       time.Duration     // of a whole request; 0: 10 minutes
	Proxy         string            // URL of an HTTP or SOCKS5 proxy; empty: none, and the environment is ignored
	SessionHeader string            // name of the header of Call.SessionID; empty: none
	HTTP2         bool              // requests share connections, and arrivals have no kernel stamps
}

// Client sends requests, any number at once. Make it with New, and close it.
type Client struct {
	api           string
	key           string
	base          string // without user info
	root          string // of the server: base without /v1
	user          *url.Userinfo
	headers       map[string]string
	sessionHeader string // empty: none
	timeout       time.Duration
	secrets       secrets
	sdk           *sdk.Client
	template      requestTemplate
	transport     *http.Transport // for unmeasured requests and, with viaTransport, measured ones
	viaTransport  bool
	proxied       bool
	clock         *clock
	exchanges     sync.Pool
	buffers       budget        // of all requests in flight
	decoding      chan struct{} // has an element while large JSON is decoded
	noReuse       atomic.Bool   // each request has its own connection

	addr string      // host:port
	tls  *tls.Config // nil: plain
	// dialTCP is a seam for tests, which dial in-memory pipes.
	dialTCP   func(ctx context.Context, network, addr string) (net.Conn, error)
	lastHead  atomic.Pointer[parsedHead]
	idle      idleConns
	dialSlots chan struct{} // has an element for each connection that is being opened for a request
	dials     sync.WaitGroup
	sockets   openSockets
}

// NoReuse makes every further request open its own connection, except on prepared ones. Some servers close a
// connection after an answer without announcing it (llama.cpp after a stream): the next request on it would
// be lost.
func (c *Client) NoReuse() {
	c.noReuse.Store(true)
	c.idle.dropUsed()
}

func New(o Options) (*Client, error) {
	u, user, err := target.SplitUser(o.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("making the client: %w", err)
	}
	if o.API != "" && !slices.Contains(target.APIs, o.API) {
		return nil, fmt.Errorf("making the client: unknown API %q", o.API)
	}
	if o.SessionHeader != "" {
		if problem := target.HeaderProblem(o.SessionHeader, ""); problem != "" {
			return nil, fmt.Errorf("making the client: header %q %s", o.SessionHeader, problem)
		}
	}
	for name, value := range o.Headers {
		if problem := target.HeaderProblem(name, value); problem != "" {
			return nil, fmt.Errorf("making the client: header %q %s", name, problem)
		}
	}
	if problem := target.HeaderProblem("Authorization", o.APIKey); problem != "" {
		return nil, fmt.Errorf("making the client: the API key %s", problem)
	}
	c := &Client{
		api: o.API, key: o.APIKey, user: user, headers: maps.Clone(o.Headers), timeout: o.Timeout,
		sessionHeader: o.SessionHeader,
		base:          strings.TrimRight(u.String(), "/"),
		clock:         newClock(),
		dialTCP:       (&net.Dialer{}).DialContext,
	}
	c.root = strings.TrimSuffix(c.base, "/v1")
	c.buffers.limit, c.decoding = maxBuffered, make(chan struct{}, 1)
	c.exchanges.New = func() any { return new(exchange) }
	c.dialSlots = make(chan struct{}, dialAtOnce)
	if c.timeout <= 0 {
		c.timeout = defaultTimeout
	}
	proxy, err := target.ParseProxy(o.Proxy)
	if err != nil {
		return nil, fmt.Errorf("making the client: %w", err)
	}
	c.secrets = newSecrets(o.APIKey, o.Headers, user, proxy.User)
	c.configureTransport(u, proxy, o.HTTP2)
	c.sdk = c.newSDK()
	c.template, err = c.newTemplate()
	return c, err
}

func (c *Client) configureTransport(u, proxy *url.URL, http2 bool) {
	if u.Scheme == "https" {
		c.tls = &tls.Config{ServerName: u.Hostname(),
			NextProtos: []string{map[bool]string{false: "http/1.1", true: "h2"}[http2]}}
	}
	c.addr = net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme]))
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!http2)
	protocols.SetHTTP2(http2)
	protocols.SetUnencryptedHTTP2(http2)
	const conns = 1 << 20 // no limit: as many as are in use at once
	c.transport = &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return c.dialTCP(ctx, network, addr)
		},
		TLSClientConfig: c.tls, Protocols: protocols, DisableCompression: true,
		MaxIdleConns: conns, MaxIdleConnsPerHost: conns, IdleConnTimeout: idleTimeout,
		MaxResponseHeaderBytes: maxHeader,
	}
	if c.proxied = proxy.Host != ""; c.proxied {
		c.transport.Proxy = http.ProxyURL(proxy)
	}
	c.viaTransport = http2 || c.proxied
}

func (c *Client) Close() {
	c.idle.mu.Lock()
	c.idle.stopDialing()
	c.idle.mu.Unlock()
	c.dials.Wait()
	c.transport.CloseIdleConnections()
	c.closeIdle()
}

// Package openai sends one request to an OpenAI-compatible server and says what became of it, piece by piece in time.
//
// A request's way: its body is encoded ahead of time (Params, Encoder); the head comes from a request that go-openai
// made once, with address, key and headers; both go out in one write over an HTTP/1.1 connection of our own; what comes
// back is read piece by piece, each with the kernel's receive stamp where there is one; net/http reads the header; the
// framing takes the body out of the pieces, the scanner cuts it into events, the walker reads what each says; and the
// Result is judged by how it ended. All of that is done by the goroutine that called Do; or the writing by the one that called
// Start, and the rest by the one that calls what it returned.
//
// It never retries, follows no redirect, uses a proxy or HTTP/2 only where it is told to (over net/http's transport, and
// without kernel stamps), and parses nothing between a read and its stamp. A secret that
// it was given leaves it in request headers only: no error, header or body that it returns holds one.
package openai

import (
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
)

// DefaultTimeout is how long a request may take where nothing else is said.
const defaultTimeout = 10 * time.Minute

const (
	idleTimeout  = 4 * time.Second        // below the 5 s after which uvicorn closes idle connections
	drainTimeout = 250 * time.Millisecond // how long the end of a body may keep Do after [DONE]
	drainBytes   = 256 << 10
	maxErrorBody = 64 << 10 // what is read of an error's body
)

// Options say what a client talks to.
type Options struct {
	BaseURL string            // as BaseURL returns it; user info becomes basic authentication where there is no key
	API     string            // Completions (also when empty) or Chat
	APIKey  string            // sent as a bearer token; empty: none
	Headers map[string]string // for every request; they replace those of the same name
	Timeout time.Duration     // of one request, all in all; 0: DefaultTimeout
	Proxy   string            // URL of an HTTP or SOCKS5 proxy; empty: none, whatever the environment says
	HTTP2   bool              // speak HTTP/2: requests share connections, and arrivals have no kernel stamps
}

// Client sends requests; any number at once. Make it with New and close it.
type Client struct {
	api          string
	key          string
	base         string // without user info
	root         string // the server's own: base without /v1
	user         *url.Userinfo
	headers      map[string]string
	timeout      time.Duration
	secrets      secrets
	sdk          *sdk.Client
	template     requestTemplate
	transport    *http.Transport // for questions beside the load, and for relayed requests
	viaTransport bool
	proxied      bool
	clock        *clock
	exchanges    sync.Pool
	noReuse      atomic.Bool // every request has a connection of its own

	addr string      // host:port
	tls  *tls.Config // nil: plain
	// dialTCP is a seam for tests, which dial in-memory pipes.
	dialTCP   func(ctx context.Context, network, addr string) (net.Conn, error)
	mu        sync.Mutex
	idleConns []*conn // that wait for a request, the longest first
}

// NoReuse makes every further request open a connection of its own, but for prepared ones. It is for servers that close a
// connection after an answer without saying so (llama.cpp's, after a stream): the next request on it would be lost.
func (c *Client) NoReuse() { c.noReuse.Store(true) }

// New returns a client. It sends nothing.
func New(o Options) (*Client, error) {
	u, user, err := splitUser(o.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("making the client: %w", err)
	}
	if o.API != "" && o.API != Completions && o.API != Chat {
		return nil, fmt.Errorf("making the client: %q is no API", o.API)
	}
	for name, value := range o.Headers {
		if problem := headerProblem(name, value); problem != "" {
			return nil, fmt.Errorf("making the client: header %q %s", name, problem)
		}
	}
	if problem := headerProblem("Authorization", o.APIKey); problem != "" {
		return nil, fmt.Errorf("making the client: the API key %s", problem)
	}
	c := &Client{
		api: o.API, key: o.APIKey, user: user, headers: maps.Clone(o.Headers), timeout: o.Timeout,
		base:    strings.TrimRight(u.String(), "/"),
		clock:   newClock(),
		dialTCP: (&net.Dialer{}).DialContext,
	}
	c.root = strings.TrimSuffix(c.base, "/v1")
	c.exchanges.New = func() any { return new(exchange) }
	if c.timeout <= 0 {
		c.timeout = defaultTimeout
	}
	proxy, err := parseProxy(o.Proxy)
	if err != nil {
		return nil, fmt.Errorf("making the client: %w", err)
	}
	c.secrets = newSecrets(o.APIKey, o.Headers, user, proxy.User)
	c.configureTransport(u, proxy, o.HTTP2)
	c.sdk = c.newSDK()
	c.template, err = c.newTemplate()
	return c, err
}

// proxyURL reads the URL of a proxy; the empty one is none.
func parseProxy(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || text != "" && (u.Host == "" || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme)) {
		return nil, fmt.Errorf("%s is no proxy's URL: write http://host:port or socks5://host:port", Redact(text))
	}
	return u, nil
}

// connectTo sets up the ways to the server at u.
func (c *Client) configureTransport(u, proxy *url.URL, http2 bool) {
	port := u.Port()
	if u.Scheme == "https" {
		c.tls = &tls.Config{ServerName: u.Hostname(), NextProtos: []string{map[bool]string{false: "http/1.1", true: "h2"}[http2]}}
	}
	if port == "" {
		port = map[bool]string{true: "443", false: "80"}[c.tls != nil]
	}
	c.addr = net.JoinHostPort(u.Hostname(), port)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!http2)
	protocols.SetHTTP2(http2)
	protocols.SetUnencryptedHTTP2(http2)
	const conns = 1 << 20 // as many as were needed at once
	c.transport = &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return c.dialTCP(ctx, network, addr)
		},
		TLSClientConfig: c.tls, Protocols: protocols, DisableCompression: true,
		MaxIdleConns: conns, MaxIdleConnsPerHost: conns, IdleConnTimeout: idleTimeout, MaxResponseHeaderBytes: maxHeader,
	}
	if c.proxied = proxy.Host != ""; c.proxied {
		c.transport.Proxy = http.ProxyURL(proxy)
	}
	c.viaTransport = http2 || c.proxied
}

// connect returns a connection for one request.
func (c *Client) getConn(ctx context.Context, fresh bool) (*conn, error) {
	if !fresh {
		if conn := c.getIdle(); conn != nil {
			return conn, nil
		}
	}
	return c.dial(ctx)
}

// Close closes the connections that are idle.
func (c *Client) Close() {
	c.transport.CloseIdleConnections()
	c.closeIdle()
}

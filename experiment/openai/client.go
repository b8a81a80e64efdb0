// Package openai sends one request to an OpenAI-compatible server and says what became of it, piece by piece in time.
//
// A request's way: its body is encoded ahead of time (Params, Encoder); go-openai makes the HTTP request around a stub
// and decodes HTTP errors; our doer puts in the exact body and sends it over one HTTP/1.1 transport; the connection
// notes when which bytes arrived, by the kernel's receive stamp where there is one; the scanner cuts the body into
// events; the walker reads what each says; and the Result is judged by how it ended.
//
// It never retries, follows no redirect, uses no proxy, and parses nothing between a read and its stamp. A secret that
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
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/sashabaranov/go-openai"
)

// DefaultTimeout is how long a request may take where nothing else is said.
const DefaultTimeout = 10 * time.Minute

const (
	idleFor    = 4 * time.Second        // below the 5 s after which uvicorn closes idle connections
	drainFor   = 250 * time.Millisecond // how long the end of a body may keep Do after [DONE]
	drainBytes = 256 << 10
	readBuffer = 32 << 10
)

// Options say what a client talks to.
type Options struct {
	BaseURL  string            // as BaseURL returns it; user info becomes basic authentication where there is no key
	API      string            // Completions (also when empty) or Chat
	Model    string            // for Tokenize; the bodies of calls name theirs
	APIKey   string            // sent as a bearer token; empty: none
	Headers  map[string]string // for every request; they replace those of the same name
	Timeout  time.Duration     // of one request, all in all; 0: DefaultTimeout
	MaxConns int               // idle connections that are kept; 0: as many as were needed at once
}

// Client sends requests; any number at once. Make it with New and close it.
type Client struct {
	api       string
	model     string
	key       string
	base      string // without user info
	root      string // the server's own: base without /v1
	user      *url.Userinfo
	headers   map[string]string
	timeout   time.Duration
	secrets   secrets
	sdk       *sdk.Client
	transport *http.Transport
	clock     *clock
	exchanges sync.Pool
	fresh     atomic.Bool // every request has a connection of its own

	addr string      // host:port
	tls  *tls.Config // nil: plain
	// dialTCP is a seam for tests, which dial in-memory pipes.
	dialTCP func(ctx context.Context, network, addr string) (net.Conn, error)
	mu      sync.Mutex
	ready   []*conn // prepared, oldest first
}

// NoReuse makes every further request open a connection of its own, but for prepared ones. It is for servers that close a
// connection after an answer without saying so (llama.cpp's, after a stream): the next request on it would be lost.
func (c *Client) NoReuse() { c.fresh.Store(true) }

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
		api: o.API, model: o.Model, key: o.APIKey, user: user, headers: maps.Clone(o.Headers), timeout: o.Timeout,
		base:    strings.TrimRight(u.String(), "/"),
		secrets: newSecrets(o.APIKey, user, o.Headers),
		clock:   newClock(),
		dialTCP: (&net.Dialer{}).DialContext,
	}
	c.root = strings.TrimSuffix(c.base, "/v1")
	c.exchanges.New = func() any { return new(exchange) }
	if c.timeout <= 0 {
		c.timeout = DefaultTimeout
	}
	c.connectTo(u, o.MaxConns)
	config := sdk.DefaultConfig(o.APIKey)
	config.BaseURL, config.HTTPClient = c.base, doer{c}
	c.sdk = sdk.NewClientWithConfig(config)
	return c, nil
}

// connectTo sets up the transport for the server at u.
func (c *Client) connectTo(u *url.URL, conns int) {
	port := u.Port()
	if u.Scheme == "https" {
		c.tls = &tls.Config{ServerName: u.Hostname(), NextProtos: []string{"http/1.1"}}
	}
	if port == "" {
		port = map[bool]string{true: "443", false: "80"}[c.tls != nil]
	}
	c.addr = net.JoinHostPort(u.Hostname(), port)
	if conns <= 0 {
		conns = 1 << 20
	}
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) { return c.take(ctx) }
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true) // HTTP/2 shares a connection, so that stamps could belong to any stream
	c.transport = &http.Transport{
		DialContext: dial, DialTLSContext: dial, Protocols: protocols, DisableCompression: true,
		MaxIdleConns: conns, MaxIdleConnsPerHost: conns, IdleConnTimeout: idleFor,
		ReadBufferSize: readBuffer, MaxResponseHeaderBytes: 1 << 20,
	}
}

// Close closes the connections that are idle or prepared.
func (c *Client) Close() {
	c.transport.CloseIdleConnections()
	c.discard()
}

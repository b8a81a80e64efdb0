package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/mock"
	"bench/experiment/openai"
	"bench/experiment/record"
	"bench/experiment/target"
	"bench/sweep"
	"bench/sweep/matrix"
)

// connect reaches a server and finds its roofline. simulator describes a simulated server; empty: it is none.
func (in *sweepInput) connect(ctx context.Context, c *cli, base,
	simulator string) (*endpoint.Server, record.RooflineSource, error) {
	server, err := in.reach(ctx, c, base)
	if err != nil {
		return nil, record.RooflineSource{}, err
	}
	sizing, err := sizeTiles(in.m.Points, experiment.Machine{
		Models: in.models, Model: server.Info.Model, CacheTokens: server.CacheTokens(),
	})
	if err != nil {
		server.Close()
		return nil, record.RooflineSource{}, err
	}
	server.MarkSimulated(simulator)
	in.describeTiling(c.stdout, server, sizing)
	if in.quick != nil {
		if err := in.quick.begin(in, server, c.stderr); err != nil {
			server.Close()
			return nil, record.RooflineSource{}, err
		}
	}
	server.Selftest = savedSelftest(c.stderr)
	source := record.NewRooflineSource(in.models, in.hardware, server.Info.Model, in.m.Target)
	if in.m.Target.Hardware != "" && source.Missing() != "" {
		fmt.Fprintln(c.stderr, safe("note: rows have no roofline: "+source.Missing()))
	}
	return server, source, nil
}

// servers sets o.Server, or for variants o.Reach. stop closes the server.
func (in *sweepInput) servers(ctx context.Context, c *cli, o *sweep.Options) (stop func(), err error) {
	if m := in.m; m.Varies() {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("finding the bench program, which also guards servers: %w", err)
		}
		o.Guard = []string{self, "guard"}
		o.Reach = func(ctx context.Context, v *matrix.Variant) (*endpoint.Server, record.RooflineSource, error) {
			base, err := target.BaseURL(cmp.Or(v.Endpoint, m.Target.Endpoint))
			if err != nil {
				return nil, record.RooflineSource{}, usage("the endpoint: %w", err)
			}
			return in.connect(ctx, c, base, "")
		}
		return func() {}, nil
	}
	base, simulator, end, err := in.target(ctx)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if o.Server, o.Roofline, err = in.connect(ctx, c, base, simulator); err != nil {
		end()
		return nil, err
	}
	o.Reached = time.Since(began)
	return func() {
		o.Server.Close()
		end()
	}, nil
}

// target returns the base URL of the endpoint. For "mock" it starts the simulated server; simulator
// describes it.
func (in *sweepInput) target(ctx context.Context) (base, simulator string, stop func(), err error) {
	m, config := in.m, in.simulated
	if !isMock(m.Target.Endpoint) {
		base, err = target.BaseURL(m.Target.Endpoint)
		if err != nil {
			return "", "", nil, usage("the endpoint: %w", err)
		}
		return base, "", func() {}, nil
	}
	if config.Model == "" && m.Target.Model != "" {
		config.Model = m.Target.Model
	}
	server, err := mock.New(config)
	if err != nil {
		return "", "", nil, usage("[mock]: %w", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", "", nil, fmt.Errorf("starting the simulated server: %w", err)
	}
	// The server outlives ctx: after an interruption the requests in flight are drained.
	mockCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(mockCtx, l) // the client sees its end
	}()
	stop = func() {
		cancel()
		<-done
	}
	return "http://" + l.Addr().String() + "/v1", server.Describe(), stop, nil
}

func (in *sweepInput) reach(ctx context.Context, c *cli, base string) (*endpoint.Server, error) {
	m, f, key := in.m, in.sweepFlags, in.key
	picked, err := m.Pick(f.only)
	if err != nil {
		return nil, err
	}
	server, err := c.reachFor(ctx, picked, m.Target, base, key, in.classKeys, cmp.Or(m.Server.StartTimeout, maxLoading))
	if err != nil {
		if ctx.Err() != nil {
			return nil, errInterruptedEarly
		}
		return nil, unreachable(base, key, m.Target.HTTP2, &f.key, err)
	}
	var refused []string
	for i := range picked {
		if err := cmp.Or(server.CheckContext(&picked[i]), server.CheckStream(&picked[i])); err != nil {
			refused = append(refused, err.Error())
		}
	}
	if len(refused) > 0 {
		server.Close()
		return nil, usage("%s", strings.Join(refused, "\nerror: "))
	}
	return server, nil
}

func (c *cli) reachFor(ctx context.Context, points []experiment.Spec, t experiment.Target, base, key string,
	classKeys map[string]string, loading time.Duration) (*endpoint.Server, error) {
	learning := c.learning()
	return endpoint.AwaitLoaded(ctx, loading, c.loading, func() (*endpoint.Server, error) {
		server, err := endpoint.Reach(ctx, t, base, key, experiment.APIs(points, t), learning)
		if err != nil {
			return nil, err
		}
		server.Keys = classKeys
		if err := server.ReachOthers(ctx, points); err != nil {
			server.Close()
			return nil, err
		}
		return server, nil
	})
}

// learning keeps what is learnt of a tokenizer in the user's cache directory. A file that cannot be read or written
// costs the requests that it would have saved, no more.
func (c *cli) learning() *endpoint.Learning {
	l := &endpoint.Learning{Progress: func(requests int) {
		fmt.Fprintf(c.stderr, "learning the tokenizer: %d of ~100 requests\n", requests)
	}}
	dir, err := os.UserCacheDir()
	if err != nil {
		return l
	}
	file := func(identity string) string {
		sum := sha256.Sum256([]byte(identity))
		return filepath.Join(dir, "bench", "words-"+hex.EncodeToString(sum[:8])+".json")
	}
	l.Words = func(identity string) (words []string) {
		text, err := os.ReadFile(file(identity))
		if err != nil || json.Unmarshal(text, &words) != nil {
			return nil
		}
		return words
	}
	l.Keep = func(identity string, words []string) {
		name := file(identity)
		if os.MkdirAll(filepath.Dir(name), 0o755) == nil {
			_ = writeWhole(name, func(w io.Writer) error { return json.NewEncoder(w).Encode(words) })
		}
	}
	return l
}

// maxLoading is how long a server that loads its model is waited for, without [server] start_timeout.
const maxLoading = 10 * time.Minute

func (c *cli) loading(waited time.Duration, answer string) {
	fmt.Fprintf(c.stderr, "the server is loading, waited %s: %s\n", waited.Round(time.Second), safe(answer))
}

type unreachableError struct {
	error        // the cause
	text  string // with a hint, and without secrets
}

func (e *unreachableError) Error() string { return e.text }

func (e *unreachableError) Unwrap() error { return e.error }

func unreachable(base, key string, http2 bool, k *keyFlags, err error) error {
	shown := target.Redact(base)
	text := fmt.Sprintf("the endpoint %s: %v", shown, err)
	if other := new(endpoint.OtherError); errors.As(err, &other) {
		if own, baseErr := target.BaseURL(other.Endpoint); baseErr == nil {
			base, shown, text = own, target.Redact(own), err.Error()
		}
	}
	if strings.Contains(text, "\nhint:") { // it has its own
		return &unreachableError{err, text}
	}
	if hint := connectionHint(base, http2, err); hint != "" {
		return fmt.Errorf("%s\nhint: %s", text, hint)
	}
	auth := ""
	if key != "" {
		auth = k.curl()
	}
	curl := fmt.Sprintf("try: curl -sS%s %s/models", auth, shown)
	if r := endpoint.Failed(err); r != nil && r.Outcome == openai.Status {
		return &unreachableError{err, fmt.Sprintf("%s\nhint: %s; %s", text, statusHint(r), curl)}
	}
	return &unreachableError{err, fmt.Sprintf("%s\nhint: is the server up? %s", text, curl)}
}

// connectionHint is what to do about a fault below HTTP; empty: no hint is known.
func connectionHint(base string, http2 bool, err error) string {
	text := err.Error()
	switch {
	case strings.Contains(text, "does not look like a TLS handshake"):
		plain := strings.Replace(strings.TrimSuffix(target.Redact(base), "/v1"), "https://", "http://", 1)
		return "the port serves http, not https: --endpoint " + plain
	case http2 && strings.HasPrefix(base, "http://") && strings.Contains(text, "http2: "):
		return "http2 = true without TLS needs h2c, which this server does not support: remove http2 from [target], or use its https:// address"
	}
	if errors.As(err, new(*tls.CertificateVerificationError)) {
		return "name a host of the server's certificate in --endpoint, or the file of its authority: SSL_CERT_FILE=ca.pem"
	}
	return ""
}

func statusHint(r *openai.Result) string {
	switch {
	case r.Status == 401 || r.Status == 403:
		return "the server requires an API key: --api-key-env VAR"
	case r.Status/100 == 3:
		return "the server redirects: use the address that it redirects to"
	case r.Status == 429 || r.Status >= 500:
		return "the server answers, but is not ready: check its log"
	}
	return "the server answers, but not as the API: check the address"
}

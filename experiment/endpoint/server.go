// Package endpoint connects to a server, learns what it takes, and measures points on it.
//
// The order of its steps: Reach connects each API (server.go), asks the server for its identity
// (identity.go), probes which request fields and prompt forms it takes (probe.go), finds words of one token
// each if it takes no token IDs (vocabulary.go), and, when the first row needs it, how it takes conversations
// (conversation.go). CheckContext and CheckLimits compare a point with the server's context length and this
// machine's limits (limits.go). Run (run.go) then encodes the requests of a point (encoder.go), drives the
// load, keeps each request as a record (measurement.go), samples client, server and GPUs meanwhile
// (telemetry.go), shows progress (progress.go), and has package verdict judge the row.
//
// It writes no file, prints nothing, and starts no server. Probes ask one at a time and are never part of a
// measurement.
package endpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"bench/experiment"
	"bench/experiment/collect"
	"bench/experiment/openai"
	"bench/experiment/record"
	"bench/experiment/selftest"
	"bench/experiment/stats"
	"bench/experiment/target"
	"bench/experiment/telemetry"
	"bench/experiment/unit"
)

// Server is a target that was reached and probed.
type Server struct {
	Target        experiment.Target
	Info          record.TargetInfo // its identity, as reported
	contextLength int               // context length in tokens; 0: not reported

	accuracy *record.Accuracy // of its answers to questions with known ones; nil: not asked
	Selftest *selftest.Result // calibration of this client on this machine; nil: not known

	// Abandoned are requests of earlier rows that this client gave up: since the server was last seen idle, or those
	// of the last row if it does not report its requests.
	Abandoned int

	FirstAnswer time.Time  // of the first probe
	LogLines    func() int // lines in the server's log so far; nil: bench did not start the server

	Keys map[string]string // API keys of classes, by their variables; in no result

	options     openai.Options
	apis        map[string]*apiClient // by API; of another model than the target's by API and model
	replicas    []*Server             // beside this one: they share its load
	elsewhere   map[string]*Server    // by the endpoint that classes name
	sources     *collect.Sources      // nil: no telemetry
	counted     countedPrompts        // real prompts; nil: none yet
	limits      *telemetry.Limits     // of this process before the first share; nil: none yet
	blockProbed bool                  // of the prefix cache
	probedBlock int                   // its size in tokens; 0: not known

	learning *Learning
	identity string // as it was before the first probe

	simulator func(*experiment.Spec) (Simulator, error) // of one row; nil: the server is reached over HTTP

	listed []string // quoted names of the models that the server lists; nil: it lists none
	served []string // the same, if the target's is none of them
}

// Reach connects to the target and probes the rows' APIs. key, the bearer token, is kept in the header only. l may be
// nil.
func Reach(ctx context.Context, t experiment.Target, baseURL, key string, apis []string, l *Learning) (*Server, error) {
	s := &Server{Target: t, learning: cmp.Or(l, new(Learning)), apis: map[string]*apiClient{}, options: openai.Options{
		BaseURL: baseURL, APIKey: key, Headers: t.Headers, SessionHeader: t.Session(), Timeout: t.Timeout,
		Proxy: t.Proxy, HTTP2: t.HTTP2,
	}}
	for _, api := range apis {
		if err := s.connect(ctx, api); err != nil {
			s.Close()
			return nil, err
		}
	}
	return s, nil
}

func (s *Server) Close() {
	if s.sources != nil {
		s.sources.Close()
	}
	for _, o := range s.others() {
		o.Close()
	}
	for _, c := range s.apis {
		c.client.Close()
	}
}

// Hide masks every secret in text: the API key, user info, header values.
func (s *Server) Hide(text string) string {
	for _, c := range s.apis {
		text = c.client.Hide(text)
	}
	for _, o := range s.others() {
		text = o.Hide(text)
	}
	return text
}

// connect probes one API. The first one also identifies the server.
func (s *Server) connect(ctx context.Context, api string) error {
	first := len(s.apis) == 0
	o := s.options
	o.API = api
	client, err := openai.New(o)
	if err != nil {
		return err
	}
	c := &apiClient{api: api, client: client, omit: map[string]bool{}, extra: s.Target.ExtraBody, learning: s.learning}
	s.apis[api] = c
	if first {
		if err := s.identify(ctx, client); err != nil {
			return err
		}
		s.identity = s.Info.Hash()
	}
	c.identity = s.identity
	c.model, c.ids = s.Info.Model, idsWithin(s.listedVocabulary(s.Info.Model))
	if err := s.probeAPI(ctx, c); err != nil {
		return err
	}
	if !first {
		return nil
	}
	s.FirstAnswer = c.answered
	s.Info.PromptAPI = api
	s.Info.PromptForm, s.Info.Tokenizer, s.Info.Connections = formOf(&c.vocab), c.lengthSource, c.connections
	s.Info.Identity = s.Info.Hash()
	s.Info.HTTP2, s.Info.Proxy = s.Target.HTTP2, target.Redact(s.Target.Proxy)
	return s.measureRTT(ctx, client)
}

func (s *Server) probeAPI(ctx context.Context, c *apiClient) error {
	err := c.probe(ctx)
	if err == nil {
		return nil
	}
	if refused := new(ProbeError); errors.As(err, &refused) {
		if refused.Served = s.served; c.model != s.Info.Model && !slices.Contains(s.listed, strconv.Quote(c.model)) {
			refused.Served = s.listed
		}
	}
	return fmt.Errorf("trying %s of %s: %w", c.api, s.Info.Endpoint, err)
}

func (s *Server) measureRTT(ctx context.Context, c *openai.Client) error {
	const handshakes = 20
	v, err := c.Vantage(ctx, handshakes)
	if err != nil {
		return err
	}
	var rtt []float64
	for _, d := range v.RTT {
		rtt = append(rtt, unit.Ms(d))
	}
	s.Info.Vantage = record.Vantage{Place: v.Place, RTT: stats.Summarize(rtt)}
	return nil
}

// MarkSimulated marks the target as the mock in this process, which simulates what; empty: it is not.
func (s *Server) MarkSimulated(what string) {
	if what == "" {
		return
	}
	s.Info.Simulated, s.Info.Simulator = true, what
	s.Info.Identity = s.Info.Hash()
	s.Info.Endpoint = "mock" // its port changes from run to run
}

// inProcess reports whether the server is the mock of this process; bench mock at a URL is simulated, too.
func (s *Server) inProcess() bool { return s.Info.Endpoint == "mock" }

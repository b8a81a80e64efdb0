package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"bench/experiment/selftest"
	"bench/experiment/target"
)

// Gateway is a gateway to measure, by the time that it adds to a server with fixed times.
type Gateway struct {
	URL    string // of the gateway
	Server string // of the `bench mock` behind it
	API    string // target.Completions (also when empty) or target.Chat
	Model  string // model name in the gateway; empty: the server's
	Key    string // API key for the gateway; empty: none
	Ladder Ladder // steps; TTFT and ITL are taken from the server
	Begun  func(index, total int, s selftest.Step)
}

// Compare makes every step directly and through the gateway. A failed step has its Problem.
func (g Gateway) Compare(ctx context.Context, m selftest.Machine) (*selftest.Comparison, error) {
	direct, through, err := g.targets()
	if err != nil {
		return nil, err
	}
	info, err := fetchServerInfo(ctx, direct.truth)
	if err != nil {
		return nil, err
	}
	c := &selftest.Comparison{
		Schema: selftest.SchemaGateway, StartedAt: time.Now().UTC(), Machine: m, Simulates: info.Simulates,
		Gateway: target.Redact(through.url), Server: target.Redact(direct.url), Steps: []selftest.Pair{},
	}
	if direct.model = info.Config.Model; through.model == "" {
		through.model = direct.model
	}
	l := g.Ladder
	l.TTFT, l.ITL = time.Duration(info.Config.TTFT), time.Duration(info.Config.ITL)
	steps := l.Steps()
	for i, s := range steps {
		if g.Begun != nil {
			g.Begun(i+1, len(steps), s)
		}
		c.Steps = append(c.Steps, l.pair(ctx, s, i, direct, through))
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return c, nil
}

func (g Gateway) targets() (direct, through destination, err error) {
	server, err := target.BaseURL(g.Server)
	if err != nil {
		return direct, through, fmt.Errorf("the server: %w", err)
	}
	gateway, err := target.BaseURL(g.URL)
	if err != nil {
		return direct, through, fmt.Errorf("the gateway: %w", err)
	}
	direct = destination{url: server, truth: strings.TrimSuffix(server, "/v1"), api: g.API, textPrompts: true}
	through = direct
	through.url, through.model, through.key = gateway, g.Model, g.Key
	return direct, through, nil
}

// pair makes one step both ways.
func (l Ladder) pair(ctx context.Context, s selftest.Step, i int, direct, through destination) selftest.Pair {
	p := selftest.Pair{Step: s, Direct: selftest.Outside{Each: []selftest.Request{}}, Through: selftest.Outside{Each: []selftest.Request{}}}
	for w, way := range []struct {
		name string
		destination
		into *selftest.Outside
	}{{"directly to the server", direct, &p.Direct}, {"through the gateway", through, &p.Through}} {
		seen, truth, err := l.runStep(ctx, way.destination, s, 2*i+w+1)
		if err != nil {
			p.Problem = way.name + ": " + err.Error()
			return p
		}
		*way.into = outside(seen, truth)
		if way.into.Problem != "" {
			p.Problem = way.name + ": " + way.into.Problem
			return p
		}
	}
	return p
}

// serverInfo is the answer of the server's /debug.
type serverInfo struct {
	Simulates string `json:"simulates"`
	Config    struct {
		Model string `json:"model"`
		TTFT  int64  `json:"ttft_ns"`
		ITL   int64  `json:"itl_ns"`
	} `json:"config"`
}

// fetchServerInfo gets the configuration of the server.
func fetchServerInfo(ctx context.Context, url string) (serverInfo, error) {
	var info serverInfo
	body, err := request(ctx, http.MethodGet, url+"/debug")
	if err != nil {
		return info, fmt.Errorf("the server: %w\nhint: --server must be bench mock --ttft 50ms --itl 10ms", err)
	}
	defer body.Close()
	if err := json.NewDecoder(body).Decode(&info); err != nil {
		return info, fmt.Errorf("the server: %w\nhint: --server must be bench mock --ttft 50ms --itl 10ms", err)
	}
	if info.Config.TTFT <= 0 || info.Config.ITL <= 0 {
		return info, errors.New("the server has no fixed times\nhint: start it with bench mock --ttft 50ms --itl 10ms")
	}
	return info, nil
}

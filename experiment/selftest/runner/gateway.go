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

// Gateway says which gateway is judged, by what it adds to an exactly timed server behind it.
type Gateway struct {
	URL    string // of the gateway, as a user types it
	Server string // of the `bench mock` that it passes requests on to
	API    string // openai.Completions (also when empty) or openai.Chat
	Model  string // what the gateway calls the model; empty: as the server does
	Key    string // API key for the gateway; empty: none
	Ladder Ladder // which steps; the server's times are taken from the server
	Begun  func(index, total int, s selftest.Step)
}

// Compare makes every step straight and through the gateway. A step that could not be made says why.
func (g Gateway) Compare(ctx context.Context, m selftest.Machine) (*selftest.Comparison, error) {
	direct, through, err := g.routes()
	if err != nil {
		return nil, err
	}
	said, err := introduction(ctx, direct.truth)
	if err != nil {
		return nil, err
	}
	c := &selftest.Comparison{
		Schema: selftest.SchemaGateway, StartedAt: time.Now().UTC(), Machine: m, Simulates: said.Simulates,
		Gateway: target.Redact(through.url), Server: target.Redact(direct.url), Steps: []selftest.Pair{},
	}
	if direct.model = said.Config.Model; through.model == "" {
		through.model = direct.model
	}
	l := g.Ladder
	l.TTFT, l.ITL = time.Duration(said.Config.TTFT), time.Duration(said.Config.ITL)
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

func (g Gateway) routes() (direct, through route, err error) {
	server, err := target.BaseURL(g.Server)
	if err != nil {
		return direct, through, fmt.Errorf("the server: %w", err)
	}
	gateway, err := target.BaseURL(g.URL)
	if err != nil {
		return direct, through, fmt.Errorf("the gateway: %w", err)
	}
	direct = route{url: server, truth: strings.TrimSuffix(server, "/v1"), api: g.API, words: true}
	through = direct
	through.url, through.model, through.key = gateway, g.Model, g.Key
	return direct, through, nil
}

// pair makes one step on both ways.
func (l Ladder) pair(ctx context.Context, s selftest.Step, i int, direct, through route) selftest.Pair {
	p := selftest.Pair{Step: s, Direct: selftest.Outside{Each: []selftest.Request{}}, Through: selftest.Outside{Each: []selftest.Request{}}}
	for w, way := range []struct {
		name string
		route
		into *selftest.Outside
	}{{"straight to the server", direct, &p.Direct}, {"through the gateway", through, &p.Through}} {
		seen, truth, err := l.drive(ctx, way.route, s, 2*i+w+1)
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

// introduced is what the server says at /debug.
type introduced struct {
	Simulates string `json:"simulates"`
	Config    struct {
		Model string `json:"model"`
		TTFT  int64  `json:"ttft_ns"`
		ITL   int64  `json:"itl_ns"`
	} `json:"config"`
}

// introduction asks the server what it simulates.
func introduction(ctx context.Context, url string) (introduced, error) {
	var said introduced
	body, err := ask(ctx, http.MethodGet, url+"/debug")
	if err != nil {
		return said, fmt.Errorf("the server: %w\nhint: it has to be bench mock --ttft 50ms --itl 10ms", err)
	}
	defer body.Close()
	if err := json.NewDecoder(body).Decode(&said); err != nil {
		return said, fmt.Errorf("the server: %w\nhint: it has to be bench mock --ttft 50ms --itl 10ms", err)
	}
	if said.Config.TTFT <= 0 || said.Config.ITL <= 0 {
		return said, errors.New("the server has no exact times\nhint: start it with bench mock --ttft 50ms --itl 10ms")
	}
	return said, nil
}

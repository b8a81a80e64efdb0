package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"bench/experiment/selftest"
	"bench/experiment/selftest/gateway"
	"bench/experiment/server"
)

// GatewayConfig is the input of RunGateways.
type GatewayConfig struct {
	Ladder   Ladder // burst steps are left out: all gateways queue them
	Rounds   int
	Machine  selftest.Machine
	Command  []string  // starts the server, as in Config
	Gateways []Gateway // measured beside the server itself
	// Begun is called for each load that is sent, Skipped for a gateway that does not start; nil: not called.
	Begun   func(index, total, round int, s selftest.Step, path string)
	Skipped func(name string, err error)
}

// Gateway is a gateway to measure.
type Gateway struct {
	Name string
	URL  string // of one that runs already; empty: Start
	// Start makes the command that starts it before the server. It must pass on /health.
	Start func(serverURL string) (server.Config, error)
}

// GatewayLadder takes about nine minutes with four paths and nine rounds. A thousand streams are 10,000 tokens/s: less
// than two cores can send, pass on and receive.
func GatewayLadder() Ladder {
	return Ladder{Streams: []int{100, 1000}, Rates: []float64{1000}, Tokens: 20,
		TTFT: 50 * time.Millisecond, ITL: 100 * time.Millisecond, Window: 2 * time.Second}
}

// QuickGatewayLadder takes under a minute with four paths and six rounds.
func QuickGatewayLadder() Ladder {
	l := GatewayLadder()
	l.Streams, l.Window = nil, time.Second
	return l
}

// GatewaySteps are the steps of the ladder: rates first, as they decide.
func (l Ladder) GatewaySteps() []selftest.Step {
	var rates, streams []selftest.Step
	for _, s := range l.Steps() {
		if s.Kind == selftest.Rate {
			rates = append(rates, s)
		}
	}
	for _, n := range l.Streams {
		streams = append(streams, selftest.Step{Kind: selftest.Spread, Size: float64(n), Tokens: l.Tokens, WindowS: l.Window.Seconds()})
	}
	return append(rates, streams...)
}

// ExpectedGateways is the approximate duration of that many rounds on that many paths.
func (l Ladder) ExpectedGateways(rounds, paths int) time.Duration {
	total := time.Duration(0)
	for _, s := range l.GatewaySteps() {
		total += 2*l.responseTime(s) + l.Window + 600*time.Millisecond
	}
	return total * time.Duration(rounds*paths)
}

// path is a way to the server that is ready.
type path struct {
	name    string
	to      destination
	problem string // why its gateway did not start; empty: it did
}

// RunGateways sends each step of the ladder on every path, in rounds: forward in one round and backward in the next,
// so that what changes on the machine meets all paths alike. The arrivals of a round are the same on all paths. The
// error is ctx's, or of a process that exited.
func RunGateways(ctx context.Context, c GatewayConfig) (*gateway.Result, error) {
	r := &gateway.Result{
		Schema: gateway.Schema, StartedAt: time.Now().UTC(), Machine: c.Machine,
		TTFTMs: ms(c.Ladder.TTFT), ITLMs: ms(c.Ladder.ITL), LimitUs: gateway.LimitUs, Steps: []gateway.Step{},
	}
	err := server.Run(ctx, server.Config{Command: c.Command, Announce: "listening on "}, func(ctx context.Context, s server.Running) error {
		direct := path{name: "direct", to: destination{url: s.URL, server: s.PID}}
		return c.start(ctx, s, c.Gateways, []path{direct}, func(ctx context.Context, paths []path) error {
			return c.runSteps(ctx, s, paths, r)
		})
	})
	if err != nil {
		return nil, err
	}
	r.EndedAt = time.Now().UTC()
	return r, nil
}

// start starts the gateways one after the other, and then calls use.
func (c GatewayConfig) start(ctx context.Context, srv server.Running, left []Gateway, paths []path, use func(context.Context, []path) error) error {
	if len(left) == 0 {
		return use(ctx, paths)
	}
	g := left[0]
	with := func(ctx context.Context, p path) error {
		return c.start(ctx, srv, left[1:], append(slices.Clip(paths), p), use)
	}
	if g.URL != "" {
		return with(ctx, path{name: g.Name, to: destination{url: g.URL, server: srv.PID}})
	}
	began := false
	config, err := g.Start(srv.URL)
	if err == nil {
		err = server.Run(ctx, config, func(ctx context.Context, s server.Running) error {
			began = true
			return with(ctx, path{name: g.Name, to: destination{url: s.URL, server: srv.PID, gateway: s.PID}})
		})
	}
	if err == nil || began || ctx.Err() != nil {
		if died := new(server.DiedError); errors.As(err, &died) {
			return fmt.Errorf("the gateway %s: %w", g.Name, err)
		}
		return err
	}
	if c.Skipped != nil {
		c.Skipped(g.Name, err)
	}
	return with(ctx, path{name: g.Name, problem: "did not start"})
}

func (c GatewayConfig) runSteps(ctx context.Context, srv server.Running, paths []path, r *gateway.Result) error {
	steps := c.Ladder.GatewaySteps()
	done, total := 0, len(steps)*c.Rounds*len(paths)
	for _, s := range steps {
		step := gateway.Step{Step: s}
		for _, p := range paths {
			step.Paths = append(step.Paths, gateway.Path{Name: p.name, Problem: p.problem, Rounds: []gateway.Round{}})
		}
		for round := range c.Rounds {
			for _, k := range order(len(paths), round) {
				if done++; paths[k].problem != "" {
					continue
				}
				if c.Begun != nil {
					c.Begun(done, total, round+1, s, paths[k].name)
				}
				p := paths[k]
				p.to.seed = uint64(round) + 1
				measured := c.Ladder.runRound(ctx, srv, p.to, s, done)
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				step.Paths[k].Rounds = append(step.Paths[k].Rounds, measured)
			}
		}
		step.Measure()
		r.Steps = append(r.Steps, step)
	}
	return nil
}

// order is the order of n paths in a round: forward in even ones, backward in odd ones.
func order(n, round int) []int {
	out := make([]int, n)
	for i := range out {
		if out[i] = i; round%2 == 1 {
			out[i] = n - 1 - i
		}
	}
	return out
}

// runRound sends the step's load on one path; n numbers all rounds of all paths.
func (l Ladder) runRound(ctx context.Context, srv server.Running, to destination, s selftest.Step, n int) gateway.Round {
	seen, truth, err := l.runStep(ctx, srv, to, s, n)
	if err != nil {
		return gateway.Round{Problem: err.Error()}
	}
	return roundOf(seen, truth)
}

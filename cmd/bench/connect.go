package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/mock"
	"bench/experiment/record"
	"bench/experiment/target"
	"bench/sweep"
)

// connect reaches a server and finds its roofline. simulator describes a simulated server; empty: it is none.
func (c *cli) connect(ctx context.Context, to *sweepInput, base,
	simulator string) (*endpoint.Server, record.RooflineSource, error) {
	server, err := c.reach(ctx, to, base)
	if err != nil {
		return nil, record.RooflineSource{}, err
	}
	sizing, err := sizeTiles(to.m.Points, experiment.Machine{
		Models: to.models, Model: server.Info.Model, CacheTokens: server.CacheTokens(),
	})
	if err != nil {
		server.Close()
		return nil, record.RooflineSource{}, err
	}
	server.MarkSimulated(simulator)
	c.describeTiling(to, server, sizing)
	if err := c.beginQuick(to, server); err != nil {
		server.Close()
		return nil, record.RooflineSource{}, err
	}
	server.Selftest = savedSelftest(c.stderr)
	source := record.NewRooflineSource(to.models, to.hardware, server.Info.Model, to.m.Target)
	if to.m.Target.Hardware != "" && source.Missing() != "" {
		fmt.Fprintln(c.stderr, safe("note: rows have no roofline: "+source.Missing()))
	}
	return server, source, nil
}

// servers sets o.Server, or for variants o.Reach. stop closes the server.
func (f *sweepFlags) servers(ctx context.Context, m *sweep.Matrix, simulated mock.Config, o *sweep.Options,
	meet func(ctx context.Context, base, simulator string) (*endpoint.Server, record.RooflineSource,
		error)) (stop func(), err error) {
	if m.Varies() {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("finding the bench program, which also guards servers: %w", err)
		}
		o.Guard = []string{self, "guard"}
		o.Reach = func(ctx context.Context, v *sweep.Variant) (*endpoint.Server, record.RooflineSource, error) {
			base, err := target.BaseURL(cmp.Or(v.Endpoint, m.Target.Endpoint))
			if err != nil {
				return nil, record.RooflineSource{}, usage("the endpoint: %w", err)
			}
			return meet(ctx, base, "")
		}
		return func() {}, nil
	}
	base, simulator, end, err := f.target(ctx, m, simulated)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if o.Server, o.Roofline, err = meet(ctx, base, simulator); err != nil {
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
func (f *sweepFlags) target(ctx context.Context, m *sweep.Matrix,
	config mock.Config) (base, simulator string, stop func(), err error) {
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

func (c *cli) reach(ctx context.Context, to *sweepInput, base string) (*endpoint.Server, error) {
	m, f, key := to.m, to.sweepFlags, to.key
	picked, err := pickRows(m, f.only)
	if err != nil {
		return nil, err
	}
	server, err := c.reachFor(ctx, picked, m.Target, base, key, to.classKeys, cmp.Or(m.Server.StartTimeout, maxLoading))
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

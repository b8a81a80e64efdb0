package endpoint

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"bench/experiment/load"
	"bench/experiment/record"
	"bench/experiment/telemetry"
	"bench/experiment/workload"
)

type ShareConfig struct {
	Share
	// Ready is called once, when everything is prepared. It returns the common start, or an error that ends the share.
	Ready func(ctx context.Context) (start time.Time, err error)
	// Each gets every record as its request ends, from one goroutine, and must not keep it. Its error ends the share.
	Each func(*record.Record) error
	// Sample gets the samples of this machine after the start, one at a time; At is not set.
	Sample func(telemetry.Sample)
	// Drained is called, perhaps more than once, when the requests of the worker's own window have ended. The worker
	// goes on sending until Release ends, so that the load of all workers stays whole.
	Drained func()
	Release context.Context
	// Ends and Decided are as in DriveConfig.
	Ends, Decided context.Context
	Progress      *Progress // nil: no display
}

type ShareResult struct {
	Worker record.Worker  `json:"worker"` // without what the leader knows better: Host, RTTUs, StartSkewUs
	Window *load.Measured `json:"window"` // absent: the share is empty
	Procs  int            `json:"gomaxprocs"`

	connectionTotals
	Lost bool `json:"lost,omitempty"` // the last requests did not reach the server
}

func (c *ShareConfig) share() workload.Share {
	return c.Spec.Share(c.Worker, c.Of)
}

// RunShare sends a worker's share of a row. When ctx ends it drains briefly and returns ctx's error.
func (s *Server) RunShare(ctx context.Context, c ShareConfig) (*ShareResult, error) {
	if c.Progress == nil {
		c.Progress = new(Progress)
	}
	out := &ShareResult{Worker: record.Worker{Worker: c.Worker, Selftest: s.Selftest}, Procs: runtime.GOMAXPROCS(0)}
	if plan := planOf(c.Spec, c.Salt); plan != c.Plan {
		return nil, fmt.Errorf("the plan of %s is not the leader's: %s here, %s there\nhint: run the same build of bench on all machines, with the same files", c.ID, plan, c.Plan)
	}
	m, err := s.newMeasurement(ctx, RunConfig{Spec: c.Spec, ID: c.ID, Salt: c.Salt, Progress: c.Progress, Each: c.Each},
		nil)
	if err != nil {
		return nil, err
	}
	defer m.plan.Close()
	if err := m.prepareShare(ctx, s, &c); err != nil {
		return nil, err
	}
	if c.share().Idle() {
		return out, c.sitOut(ctx)
	}
	measured, err := m.driveShare(ctx, s, &c, out)
	if err != nil {
		return nil, err
	}
	out.Window = &measured
	m.report(out)
	return out, nil
}

func (m *measurement) prepareShare(ctx context.Context, s *Server, c *ShareConfig) error {
	counted := s.countedPrompts()
	counted.take(c.Counts, c.Spec, m.encoders)
	m.encoders.saltCaches(c.Spec, c.Salt)
	if err := m.selectPrompts(ctx, counted); err != nil && !errors.Is(err, errNothingToSend) {
		return err
	}
	if m.bodiesOf() != c.Bodies {
		return fmt.Errorf("%s: this worker encodes other requests than the leader: the server that it reaches at %s serves %s, and takes prompts as %s with %d tokens around each\nhint: let all machines reach the same server: bench work --endpoint",
			c.ID, s.Info.Endpoint, s.Info.Model, m.encoders.promptForm(), m.encoders.overhead())
	}
	n, ahead := c.part(c.Spec.MinConnections()), c.part(c.Spec.ConnectionsToOpen())
	if err := s.checkLimits(c.Spec.Label(), n, ahead, s.ownLimits()); err != nil {
		return err
	}
	return m.openConnections(ctx, ahead)
}

func (c *ShareConfig) part(n int) int {
	if share := c.share(); share.RowConcurrency > 0 && n == share.RowConcurrency {
		return share.Concurrency()
	}
	return (n + c.Of - 1) / c.Of
}

// ownLimits are the limits of the worker's process, with the files that were open before its first row: connections of
// an earlier row are closed when the next one opens its own.
func (s *Server) ownLimits() telemetry.Limits {
	if s.limits == nil {
		s.limits = new(Limits())
	}
	return *s.limits
}

func (c *ShareConfig) sitOut(ctx context.Context) error {
	if _, err := c.Ready(ctx); err != nil {
		return err
	}
	c.Drained()
	select {
	case <-c.Release.Done():
	case <-ctx.Done():
	}
	return ctx.Err()
}

func (m *measurement) driveShare(ctx context.Context, s *Server, c *ShareConfig,
	out *ShareResult) (load.Measured, error) {
	l := m.loadConfig()
	l.Share, l.Release, l.Drained = c.share(), c.Release, c.Drained
	l.Ends, l.Decided, l.DecidedDrain = c.Ends, c.Decided, c.Drain
	relay := &sampleRelay{to: c.Sample}
	l.Start = func(ctx context.Context) (time.Time, error) {
		start, err := c.Ready(ctx)
		out.Worker.StartLateUs = max(0, record.RoundMicros(time.Since(start)))
		relay.start(start)
		return start, err
	}
	watching, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	hostAfter := sampleHost(s, &out.Worker.Load)
	m.watchClient(watching, s, &running, relay.add)
	measured, err := load.Run(ctx, l)
	m.ended.Store(true)
	cancel()
	running.Wait()
	hostAfter()
	if err == nil {
		err = m.plan.Err()
	}
	return measured, err
}

func (m *measurement) report(out *ShareResult) {
	out.Worker.Clock = m.sent.clock()
	fillConnections(&out.Worker.Connections, m.sent.Setups, m.sent.ahead)
	out.connectionTotals, out.Lost = m.sent.connectionTotals, m.sent.serverLost()
}

type sampleRelay struct {
	to func(telemetry.Sample)

	mu      sync.Mutex
	epoch   time.Time // zero: not known
	waiting []telemetry.Sample
}

func (r *sampleRelay) start(epoch time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.epoch = epoch
	for _, s := range r.waiting {
		r.pass(s)
	}
	r.waiting = nil
}

func (r *sampleRelay) add(s telemetry.Sample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.epoch.IsZero() {
		r.waiting = append(r.waiting, s)
		return
	}
	r.pass(s)
}

func (r *sampleRelay) pass(s telemetry.Sample) {
	s.TUs = record.RoundMicros(s.At.Sub(r.epoch))
	r.to(s)
}

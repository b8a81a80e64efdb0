package endpoint

import (
	"cmp"
	"context"
	"errors"
	"io"
	"runtime/debug"
	"time"

	"bench/experiment"
	"bench/experiment/check"
	"bench/experiment/load"
	"bench/experiment/record"
	"bench/experiment/telemetry"
	"bench/experiment/verdict"
	"bench/experiment/workload"
)

type RunConfig struct {
	Spec     *experiment.Spec
	ID       string // of the row
	Salt     string // makes the prompts differ from every other attempt
	Roofline record.RooflineSource
	Progress *Progress // nil: no display
	// Each gets every record as its request ends, and must not keep it; an error ends the row.
	Each func(*record.Record) error
	// Sample gets the telemetry samples when the load is over; nil: they are summarized only.
	Sample func(*telemetry.Sample) error
	// when it ends, so does a row that has until = "stopped", or any closed loop; nil: the row ends itself
	Stop context.Context
	// Reread passes on all records that Each got, in that order, when the load is over, so that they are not
	// in memory meanwhile; nil: they are kept in memory.
	Reread     func(each func(*record.Record) error) error
	SampleFile io.ReadWriteSeeker // an empty file that holds the samples during the row; nil: they are kept in memory
	Workers    Workers            // that send the load; nil: this process sends it
	// ServerStart counts the servers of the run, for workers, which reach each anew.
	ServerStart int
}

const drainAfterInterrupt = 5 * time.Second

// Run measures one point. When ctx ends it drains briefly and returns ctx's error and no result.
func (s *Server) Run(ctx context.Context, t RunConfig) (*record.Row, error) {
	if t.Progress == nil {
		t.Progress = new(Progress)
	}
	if s.simulator != nil {
		return s.predict(ctx, t)
	}
	began := time.Now()
	stop := cmp.Or(t.Stop, context.Background())
	settled, err := s.settle(ctx, t.Spec.SettleTime(), stop.Done(), t.Progress)
	if err != nil {
		return nil, err
	}
	took := record.RowTimes{Settled: time.Since(began)}
	m, err := s.newMeasurement(ctx, t, settled)
	if err != nil {
		return nil, err
	}
	defer m.plan.Close()
	switch err := m.prepare(ctx, s); {
	case errors.Is(err, errNothingToSend):
		return m.unsent(s.Target, took, began), nil
	case err != nil:
		return nil, err
	}
	unwatch, err := m.watch(ctx, s)
	if err != nil {
		return nil, err
	}
	t.Progress.loadStarted()
	measured, err := m.drive(ctx, s)
	t.Progress.loadEnded()
	took.LoadBegan, took.LoadEnded = measured.Epoch.Sub(began), time.Since(began)
	if s.Abandoned += m.sent.Abandoned; settled == nil { // it is never seen idle
		s.Abandoned = m.sent.Abandoned
	}
	samples, sampleErr := unwatch()
	if t.Reread != nil { // nothing is timed any more, and all records are in memory
		defer debug.SetGCPercent(debug.SetGCPercent(summaryGCPercent))
	}
	if err == nil {
		err = cmp.Or(m.plan.Err(), sampleErr, m.reread())
	}
	if err != nil {
		return nil, err
	}
	row := m.e.Row
	row.EndedAt = time.Now().UTC()
	if err := m.summarize(&measured, samples, s); err != nil {
		return nil, err
	}
	took.Window, took.Ended = row.Window, time.Since(began)
	row.Time = took.Split()
	return row, nil
}

func (s *Server) newMeasurement(ctx context.Context, t RunConfig, settled *record.Settle) (*measurement, error) {
	encoders, err := s.classEncoders(ctx, t.Spec)
	if err := cmp.Or(ctx.Err(), err); err != nil {
		return nil, err
	}
	answers, err := newAnswerChecks(encoders)
	if err != nil {
		return nil, err
	}
	m := &measurement{
		t: t, e: &verdict.Measured{Row: s.newRow(&t, settled, encoders)}, encoders: encoders, answers: answers,
		severalModels: encoders.severalModels(), target: s.Target, namesSessions: s.Target.Session() != "",
	}
	m.plan = m.newPlan()
	return m, nil
}

func (m *measurement) newPlan() *workload.Plan {
	plan := m.t.Spec.Plan(m.t.Salt).Over(m.target.Spread())
	for class, e := range m.encoders {
		plan.CountImages(class, e.imageTokens)
	}
	return plan
}

func (m *measurement) prepare(ctx context.Context, s *Server) error {
	spec, salt := m.t.Spec, m.t.Salt
	m.e.Row.Server.Block = s.cacheBlock(ctx, spec, m.encoders.first().api)
	m.encoders.saltCaches(spec, salt+"-count") // or a count that computes would warm the row's prompts
	if err := m.selectPrompts(ctx, s.countedPrompts()); err != nil {
		return err
	}
	m.encoders.saltCaches(spec, salt)
	if err := m.primePrefixes(ctx); err != nil || m.t.Workers != nil {
		return err
	}
	return m.openConnections(ctx, spec.ConnectionsToOpen())
}

func (m *measurement) drive(ctx context.Context, s *Server) (load.Measured, error) {
	spec := m.t.Spec
	var decided context.Context
	if decided, m.early = newEarlyEnd(m); m.early != nil {
		defer m.early.end()
	}
	drain := time.Duration(0)
	if m.e.Row.Server.Settle == nil { // the next row can't see when the server has dropped cancelled requests
		drain = spec.GraceTime()
	}
	c := m.loadConfig()
	c.Ends, c.Decided, c.DecidedDrain = m.t.Stop, decided, drain
	var measured load.Measured
	var err error
	if m.t.Workers == nil {
		measured, err = load.Run(ctx, c)
	} else {
		measured, err = m.driveWorkers(ctx, s, c)
	}
	if m.early != nil {
		err = cmp.Or(err, m.early.finish())
	}
	return measured, err
}

func (m *measurement) loadConfig() load.Config {
	return load.Config{
		Load: m.t.Spec.EffectiveLoad(), Rate: m.t.Spec.Rate, Plan: m.plan, Drain: drainAfterInterrupt,
		Encode: m.encoders.encode(),
		Send:   m.send,
		Follow: m.laterTurn(),
		Each:   m.each, Overloaded: m.overloaded(),
	}
}

// overloaded is load.Config's.
func (m *measurement) overloaded() func() bool {
	if m.overload = verdict.NewOverloadTest(m.t.Spec); m.overload == nil {
		return nil
	}
	return m.overload.Found
}

func (m *measurement) summarize(measured *load.Measured, samples []telemetry.Sample, s *Server) error {
	row := m.e.Row
	row.Epoch, row.Window = measured.Epoch.UTC(), m.windowOf(measured)
	if m.t.Spec.IsColdStart() {
		row.ColdStart = &record.ColdStart{IdleS: m.t.Spec.EffectiveLoad().Idle}
	}
	if m.t.Workers == nil {
		row.ServerLost = m.sent.serverLost()
	}
	row.Server.Headers, row.Server.Gateway = m.sent.Headers, m.sent.Gateway.summary()
	row.Clock = m.sent.clock()
	fillConnections(&row.Connections, m.sent.Setups, m.sent.ahead)
	if err := m.fillSamples(samples, measured.Epoch, s.sources); err != nil {
		return err
	}
	m.e.Reuse = check.CompareReuse(m.e.Row, m.e.Records)
	m.e.Conclude(s.Target, m.t.Roofline)
	return nil
}

func (m *measurement) unsent(t experiment.Target, took record.RowTimes, began time.Time) *record.Row {
	row := m.e.Row
	row.EndedAt, row.Epoch = time.Now().UTC(), time.Now().UTC()
	m.e.Conclude(t, m.t.Roofline)
	took.Ended = time.Since(began)
	took.LoadBegan, took.LoadEnded = took.Ended, took.Ended
	row.Time = took.Split()
	return row
}

func (s *Server) newRow(t *RunConfig, settled *record.Settle, encoders classEncoders) *record.Row {
	row := &record.Row{
		Schema: record.SchemaRow, ID: t.ID, Spec: *t.Spec, Simulated: s.Info.Simulated, StartedAt: time.Now().UTC(),
		Salt: t.Salt, PromptForm: encoders.promptForm(), Omitted: encoders.omitted(),
		PromptOverhead: new(encoders.overhead()), Selftest: s.Selftest, Accuracy: s.accuracy,
	}
	if t.Workers != nil {
		row.Selftest = nil // theirs count
	}
	row.Server.Settle, row.Server.Abandoned = settled, s.Abandoned
	if row.Server.Replicas = s.Info.Replicas; len(s.Info.Replicas) > 0 {
		row.Server.Routing = cmp.Or(s.Target.Routing, experiment.RoundRobin)
	}
	row.Sampling, row.ClassSampling = encoders.sampling()
	for _, e := range encoders {
		row.ImageTokens = max(row.ImageTokens, e.imageTokens)
	}
	return row
}

// Interrupted reports whether an error of Run means that the user ended the row.
func Interrupted(err error) bool { return errors.Is(err, context.Canceled) }

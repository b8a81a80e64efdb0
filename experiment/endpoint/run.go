package endpoint

import (
	"cmp"
	"context"
	"errors"
	"io"
	"runtime/debug"
	"time"

	"bench/experiment"
	"bench/experiment/load"
	"bench/experiment/record"
	"bench/experiment/telemetry"
	"bench/experiment/verdict"
)

// RunConfig is one attempt at a point.
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
	Stop   context.Context // when it ends, so does a row that has until = "stopped", or any closed loop; nil: the row ends itself
	// Reread passes on all records that Each got, in that order, when the load is over, so that they are not
	// in memory meanwhile; nil: they are kept in memory.
	Reread     func(each func(*record.Record) error) error
	SampleFile io.ReadWriteSeeker // an empty file that holds the samples during the row; nil: they are kept in memory
	Startup    *record.Startup    // of a cold start whose server bench started; nil: the server ran already
}

// drainAfterInterrupt is how long requests in flight may go on after Ctrl-C.
const drainAfterInterrupt = 5 * time.Second

// Run measures one point. When ctx ends it drains briefly and returns ctx's error: the row has no result
// then.
func (s *Server) Run(ctx context.Context, t RunConfig) (*record.Row, error) {
	if t.Progress == nil {
		t.Progress = new(Progress)
	}
	if s.simulator != nil {
		return s.predict(ctx, t)
	}
	began := time.Now()
	settled, err := s.settle(ctx, t.Spec.SettleTime(), t.stopped(), t.Progress)
	if err != nil {
		return nil, err
	}
	took := record.RowTimes{Settled: time.Since(began)}
	encoders, err := s.classEncoders(ctx, t.Spec)
	if err := cmp.Or(ctx.Err(), err); err != nil {
		return nil, err
	}
	row := s.newRow(&t, settled, encoders)
	plan := t.Spec.Plan(t.Salt).Over(s.Target.Spread())
	defer plan.Close()
	for class, e := range encoders {
		plan.CountImages(class, e.imageTokens)
	}
	e := &verdict.Measured{Row: row}
	m := &measurement{t: t, e: e, encoders: encoders, plan: plan, severalModels: encoders.severalModels(), target: s.Target, namesSessions: s.Target.Session() != ""}
	if m.answers, err = newAnswerChecks(encoders); err != nil {
		return nil, err
	}
	row.Server.Block = s.cacheBlock(ctx, t.Spec, encoders.first().api)
	encoders.saltCaches(t.Spec, t.Salt+"-count") // or a count that computes would warm the row's prompts
	if err := m.selectPrompts(ctx, s.countedPrompts()); err != nil {
		return nil, err
	}
	encoders.saltCaches(t.Spec, t.Salt)
	if err := m.primePrefixes(ctx); err != nil {
		return nil, err
	}
	if err := m.openConnections(ctx); err != nil {
		return nil, err
	}
	stop, err := m.watch(ctx, s)
	if err != nil {
		return nil, err
	}
	var decided context.Context
	if decided, m.early = newEarlyEnd(m); m.early != nil {
		defer m.early.end()
	}
	drain := time.Duration(0)
	if settled == nil { // the next row can't see when the server has dropped cancelled requests
		drain = t.Spec.GraceTime()
	}
	t.Progress.loadStarted()
	measured, err := load.Run(ctx, load.Config{
		Load: t.Spec.EffectiveLoad(), Rate: t.Spec.Rate, Plan: plan, Drain: drainAfterInterrupt,
		Encode:  encoders.encode(),
		Send:    m.send,
		Follow:  m.laterTurn(),
		Each:    m.each,
		Ends:    t.Stop,
		Decided: decided, DecidedDrain: drain,
	})
	t.Progress.loadEnded()
	took.LoadBegan, took.LoadEnded = measured.Epoch.Sub(began), time.Since(began)
	if m.early != nil {
		err = cmp.Or(err, m.early.finish())
	}
	if s.Abandoned += m.abandoned; settled == nil { // it is never seen idle
		s.Abandoned = m.abandoned
	}
	samples, sampleErr := stop()
	if t.Reread != nil { // nothing is timed any more, and all records are in memory
		defer debug.SetGCPercent(debug.SetGCPercent(summaryGCPercent))
	}
	if err == nil {
		err = cmp.Or(plan.Err(), sampleErr, m.reread())
	}
	if err != nil {
		return nil, err
	}
	row.EndedAt, row.Epoch = time.Now().UTC(), measured.Epoch.UTC()
	row.Window = m.windowOf(&measured)
	if t.Spec.IsColdStart() {
		row.ColdStart = &record.ColdStart{IdleS: t.Spec.EffectiveLoad().Idle, Server: t.Startup}
	}
	row.ServerLost = m.serverLost()
	row.Server.Gateway = m.gateway.summary()
	m.fillClock()
	fillConnections(&row.Connections, m.setups)
	if err := fillSamples(e, samples, measured.Epoch, t, s.sources); err != nil {
		return nil, err
	}
	e.Reuse = e.CompareReuse()
	e.Conclude(s.Target, t.Roofline)
	took.Window, took.Ended = row.Window, time.Since(began)
	row.Time = took.Split()
	return row, nil
}

// newRow is the row before its load.
func (s *Server) newRow(t *RunConfig, settled *record.Settle, encoders classEncoders) *record.Row {
	row := &record.Row{
		Schema: record.SchemaRow, ID: t.ID, Spec: *t.Spec, Simulated: s.Info.Simulated, StartedAt: time.Now().UTC(),
		Salt: t.Salt, PromptForm: encoders.promptForm(), Omitted: encoders.omitted(),
		PromptOverhead: new(encoders.overhead()), Selftest: s.Selftest, Accuracy: s.Accuracy,
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

// stopped is closed when the user ends the row; nil: nothing but Run's ctx does.
func (t *RunConfig) stopped() <-chan struct{} {
	if t.Stop == nil {
		return nil
	}
	return t.Stop.Done()
}

// Interrupted reports whether an error of Run means that the user ended the row.
func Interrupted(err error) bool { return errors.Is(err, context.Canceled) }

package endpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"bench/experiment"
	"bench/experiment/load"
	"bench/experiment/openai"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/telemetry"
	"bench/experiment/unit"
	"bench/experiment/verdict"
	"bench/experiment/workload"
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
	settled, err := s.settle(ctx, t.Spec.SettleTime(), t.stopped(), t.Progress)
	if err != nil {
		return nil, err
	}
	encoders, err := s.classEncoders(ctx, t.Spec)
	if err := cmp.Or(ctx.Err(), err); err != nil {
		return nil, err
	}
	row := &record.Row{
		Schema: record.SchemaRow, ID: t.ID, Spec: *t.Spec, Simulated: s.Info.Simulated, StartedAt: time.Now().UTC(),
		Salt: t.Salt, PromptForm: encoders.promptForm(), Omitted: encoders.omitted(),
		PromptOverhead: new(encoders.overhead()), Selftest: s.Selftest,
	}
	row.Server.Settle, row.Server.Abandoned = settled, s.Abandoned
	row.Sampling, row.ClassSampling = encoders.sampling()
	plan := t.Spec.Plan(t.Salt)
	defer plan.Close()
	e := &verdict.Measured{Row: row}
	m := &measurement{t: t, e: e, encoders: encoders, plan: plan}
	row.Server.Block = s.cacheBlock(ctx, t.Spec, encoders.apiClients()[0])
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
	t.Progress.loadStarted()
	measured, err := load.Run(ctx, load.Config{
		Load: t.Spec.EffectiveLoad(), Rate: t.Spec.Rate, Plan: plan, Drain: drainAfterInterrupt,
		Encode: encoders.encode(),
		Send:   m.send,
		Follow: m.nextTurn(),
		Each:   m.each,
		Enough: m.enough(),
		Ends:   t.Stop,
	})
	t.Progress.loadEnded()
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
	row.Window = record.Window{StartUs: record.RoundMicros(measured.Start), EndUs: record.RoundMicros(measured.End), Cut: measured.Cut}
	if t.Spec.IsColdStart() {
		row.ColdStart = &record.ColdStart{IdleS: t.Spec.EffectiveLoad().Idle, Server: t.Startup}
	}
	row.ServerLost = m.lost >= fewestLost
	row.Server.Gateway = m.gateway.summary()
	m.fillClock()
	fillConnections(&row.Connections, m.setups)
	if err := fillSamples(e, samples, measured.Epoch, t, s.sources); err != nil {
		return nil, err
	}
	e.Reuse = e.CompareReuse()
	e.Conclude(s.Target, t.Roofline)
	return row, nil
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

// measurement is what a running row collects.
type measurement struct {
	t        RunConfig
	e        *verdict.Measured
	encoders classEncoders
	plan     *workload.Plan

	setups         []openai.Setup
	kernel, user   int // timestamps by the kernel, by this process
	lagSum, lagMax time.Duration
	header         sync.Once
	gateway        gatewayHeaders
	maxLag         atomic.Int64 // since the last sample of the client, ns; noLag: none
	ended          atomic.Bool  // the load is over
	abandoned      int          // requests that were sent and given up
	lost           int          // failed connections since the last request that reached the server

	sequential *verdict.SequentialTest // nil: the row runs to its end
	decided    atomic.Bool             // its SLO is
}

// primePrefixes sends the prefixes of a warm row, so that the server caches them.
func (m *measurement) primePrefixes(ctx context.Context) error {
	encode := m.encoders.encode()
	for q := range m.plan.Priming {
		e := m.encoders[q.Class]
		q.Input += e.first.Overhead // a text is shortened by it at the end, where the suffix is; the prefix must be whole
		var r openai.Result
		e.api.client.Do(ctx, &openai.Call{Body: encode(&q), Stream: m.t.Spec.Streams(), Epoch: time.Now()}, &r)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if r.Outcome.Failed() {
			m.e.FailedPriming++
		}
	}
	return nil
}

// openConnections opens connections ahead of the row: for each API as many as if all requests were its own.
func (m *measurement) openConnections(ctx context.Context) error {
	for _, c := range m.encoders.apiClients() {
		setups, err := c.client.Prepare(ctx, m.t.Spec.ConnectionsToOpen())
		if err != nil && ctx.Err() != nil {
			return ctx.Err() // another error shows in the records
		}
		m.setups = append(m.setups, setups...)
	}
	m.e.Connections.Ahead = len(m.setups)
	return nil
}

func (m *measurement) send(ctx context.Context, job *load.Job, body []byte, epoch time.Time) (finish func()) {
	m.t.Progress.requestSent(job)
	e := m.encoders[job.Request.Class]
	call := openai.Call{
		Body: body, Stream: m.t.Spec.Streams(), Epoch: epoch,
		Fresh:      m.t.Spec.ConnectsPerRequest(),
		RequestID:  requestID(m.t.Salt, job.Request.Index),
		KeepAnswer: job.Request.Turn+1 < job.Request.Turns,
		MaxTokens:  job.Request.Output,
		Counter:    m.t.Progress.Counter,
		Prompt:     cmp.Or(job.Input, job.Request.Input),
	}
	if e.ignoreEOS {
		call.MinTokens = job.Request.Output
	}
	return e.api.client.Start(ctx, &call, &job.Result)
}

// requestID has the form of a UUID (version 4), since some servers refuse anything else with HTTP 400. It
// contains the row's salt and the request's index.
func requestID(salt string, index int) string {
	salt = (salt + "000000000000")[:12]
	return fmt.Sprintf("%s-%s-4000-8000-%012x", salt[:8], salt[8:], uint64(index)&(1<<48-1))
}

// nextTurn makes the next turns of conversations; nil: the row has none.
func (m *measurement) nextTurn() func(*load.Job, []byte) (*load.Job, []byte) {
	if !m.t.Spec.HasConversations() {
		return nil
	}
	return func(job *load.Job, body []byte) (*load.Job, []byte) { return m.encoders.nextTurn(m.plan, job, body) }
}

// enough reports whether a row with until = "decided" is decided, or a probe of a search for the SLO fails; nil:
// any other row.
func (m *measurement) enough() func() bool {
	if !verdict.EndsEarly(m.t.Spec) {
		return nil
	}
	m.sequential = verdict.NewSequentialTest(m.t.Spec)
	return m.decided.Load
}

// fewestLost connections at the end of a row, with no request between them that reached the server, mean that
// the server is gone.
const fewestLost = 3

// each collects a request that has ended.
func (m *measurement) each(job *load.Job) error {
	r := requestRecord(job)
	if m.sequential != nil && !m.decided.Load() && m.sequential.Add(r) {
		m.decided.Store(true)
	}
	m.t.Progress.requestEnded(job, r, m.t.Spec.Streams())
	if job.Result.Outcome == openai.Connect {
		m.lost++
	} else if job.Result.Sent != openai.Never { // also one that the row's end interrupted
		m.lost = 0
	}
	if job.Result.Sent != openai.Never && slices.Contains([]openai.Outcome{openai.Unfinished, openai.Cancelled, openai.Timeout}, job.Result.Outcome) {
		m.abandoned++
	}
	m.kernel += job.Result.KernelStamps
	m.user += job.Result.UserStamps
	m.addLag(job.Ready, job.Result.Sent)
	m.lagSum += job.Result.ReadLagSum
	m.lagMax = max(m.lagMax, job.Result.ReadLag)
	if job.Result.Setup != (openai.Setup{}) {
		m.setups = append(m.setups, job.Result.Setup)
	}
	if r.Phase == record.PhaseWindow {
		m.gateway.add(job.Result.Header)
	}
	if job.Result.Header != nil {
		m.header.Do(func() { m.e.Server.Headers = publicHeaders(job.Result.Header) })
	}
	if m.t.Reread == nil {
		m.e.Records = append(m.e.Records, r)
	}
	if each := m.t.Progress.Each; each != nil {
		each(r)
	}
	return m.t.Each(r)
}

// summaryGCPercent limits the garbage while all records of a long row are in memory.
const summaryGCPercent = 20

// reread takes the records of a row that did not keep them in memory.
func (m *measurement) reread() error {
	if m.t.Reread == nil {
		return nil
	}
	return m.t.Reread(func(r *record.Record) error {
		r.Schema, r.ServerID = "", "" // Schema is per file; no summary uses ServerID
		m.e.Records = append(m.e.Records, r)
		return nil
	})
}

// fillClock states which clock stamped the row.
func (m *measurement) fillClock() {
	c := record.Clock{Stamps: "kernel", KernelStamps: m.kernel, UserStamps: m.user, ReadLagMaxMs: unit.Ms(m.lagMax)}
	switch {
	case m.kernel == 0:
		c.Stamps = "user"
	case m.user > 0:
		c.Stamps = "mixed"
	}
	if m.kernel > 0 {
		c.ReadLagMeanMs = unit.Ms(m.lagSum) / float64(m.kernel)
	}
	m.e.Clock = c
}

// fillConnections summarizes the set-ups of connections; those opened ahead are first.
func fillConnections(c *record.Connections, setups []openai.Setup) {
	c.During = len(setups) - c.Ahead
	part := func(of func(openai.Setup) time.Duration) *stats.Summary {
		var took []float64
		for _, s := range setups {
			if d := of(s); d > 0 {
				took = append(took, unit.Ms(d))
			}
		}
		return stats.Summarize(took)
	}
	c.DNS = part(func(s openai.Setup) time.Duration { return s.DNS })
	c.TCP = part(func(s openai.Setup) time.Duration { return s.TCP })
	c.TLS = part(func(s openai.Setup) time.Duration { return s.TLS })
}

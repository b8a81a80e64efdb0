// Package experiment turns one row into records, and records into a summary with its findings and
// verdicts: reach the server and learn what it takes (Reach), run a point (Server.Run), summarise
// the stored records (Summarize), judge the SLO (Judge), compare with the bound. It writes no
// file and prints nothing.
package endpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
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

// Try is one try at a point.
type RunConfig struct {
	Spec   *experiment.Spec
	ID     string // of the row
	Salt   string // makes its prompts unlike those of every other try
	Bounds record.RooflineSource
	// Each takes every record as its request ends; an error ends the row. The record must not be kept.
	Each func(*record.Record) error
	// Sample takes the samples of the client when the load is over; nil = nobody keeps them.
	Sample   func(*telemetry.Sample) error
	Progress *Progress       // nil = nobody looks
	Ends     context.Context // ends a row that has until = "stopped", or any closed loop before its time; nil = the row knows its end
	// Reread gives all records again that Each has taken, in that order, when the load is over: then they are not kept in
	// memory while it runs. nil = they are.
	Reread  func(each func(*record.Record) error) error
	Scratch io.ReadWriteSeeker // an empty file, to which samples go while the row runs; nil = they are kept in memory, too
	Startup *record.Startup    // of a cold start whose server bench started; nil = it ran already
}

// drainAfterInterrupt is how long requests in flight may finish after Ctrl-C.
const drainAfterInterrupt = 5 * time.Second

// Run measures one point. After ctx has ended it drains briefly and returns ctx's error: the row
// was cut, and there is no result.
func (s *Server) Run(ctx context.Context, t RunConfig) (*record.Row, error) {
	if t.Progress == nil {
		t.Progress = new(Progress)
	}
	voices, err := s.classEncoders(ctx, t.Spec)
	if err := cmp.Or(ctx.Err(), err); err != nil {
		return nil, err
	}
	row := &record.Row{
		Schema: record.SchemaRow, ID: t.ID, Spec: *t.Spec, Simulated: s.Info.Simulated, StartedAt: time.Now().UTC(),
		Salt: t.Salt, PromptForm: form(voices), Omitted: omitted(voices),
	}
	row.Sampling, row.ClassSampling = sampling(voices)
	plan := workload.NewPlan(t.Spec.Workload, t.Spec.PlanSeed(), t.Salt)
	defer plan.Close()
	e := &verdict.Measured{Row: row, Vocabulary: widest(voices), Selftest: s.Selftest}
	if e.FailedPriming, err = prime(ctx, voices, t, plan); err != nil {
		return nil, err
	}
	m := &measurement{t: t, e: e, voices: voices, plan: plan}
	if err := m.connect(ctx); err != nil {
		return nil, err
	}
	stop, err := m.watch(ctx, s)
	if err != nil {
		return nil, err
	}
	t.Progress.loadStarted()
	measured, err := load.Run(ctx, load.Config{
		Load: t.Spec.Phases(), Rate: t.Spec.Rate, Plan: plan, Drain: drainAfterInterrupt,
		Encode: encoder(voices),
		Send:   m.send,
		Follow: m.following(),
		Each:   m.each,
		Enough: m.enough(),
		Ends:   t.Ends,
	})
	t.Progress.loadEnded()
	samples, sampleErr := stop()
	if t.Reread != nil { // nothing is timed any more, and there is much to hold
		defer debug.SetGCPercent(debug.SetGCPercent(thriftyGC))
	}
	if err == nil {
		err = cmp.Or(plan.Err(), sampleErr, m.reread())
	}
	if err != nil {
		return nil, err
	}
	row.EndedAt, row.Epoch = time.Now().UTC(), measured.Epoch.UTC()
	row.Window = record.Window{StartUs: record.RoundMicros(measured.Start), EndUs: record.RoundMicros(measured.End), Cut: measured.Cut}
	if t.Spec.Cold() {
		row.ColdStart = &record.ColdStart{IdleS: t.Spec.Phases().Idle, Server: t.Startup}
	}
	row.ServerLost = m.lost >= fewestLost
	fillClock(e, m)
	describe(&row.Connections, m.setups)
	if err := fillSamples(e, samples, measured.Epoch, t, s.sources); err != nil {
		return nil, err
	}
	e.Conclude(s.Target, t.Bounds)
	return row, nil
}

// prime makes the prefixes of a warm row resident; failed counts the requests that did not succeed.
func prime(ctx context.Context, voices map[string]*classEncoder, t RunConfig, plan *workload.Plan) (failed int, err error) {
	encode := encoder(voices)
	for q := range plan.Priming {
		v := voices[q.Class]
		q.Input += v.first.Overhead // comes off the end of a text, where the suffix is: the prefix is to be sent whole
		var r openai.Result
		v.api.client.Do(ctx, &openai.Call{Body: encode(&q), Stream: t.Spec.Streams(), Epoch: time.Now()}, &r)
		if ctx.Err() != nil {
			return failed, ctx.Err()
		}
		if r.Outcome.Failed() {
			failed++
		}
	}
	return failed, nil
}

// measurement collects what a running row leaves behind.
type measurement struct {
	t      RunConfig
	e      *verdict.Measured
	voices map[string]*classEncoder
	plan   *workload.Plan

	setups         []openai.Setup
	kernel, user   int
	lagSum, lagMax time.Duration
	header         sync.Once
	lag            atomic.Int64 // the largest since the last sample of the client, ns; noLag = none
	lost           int          // connect failures since the last request that reached the server

	sequential *verdict.SequentialTest // nil = the row runs to its end
	decided    atomic.Bool             // its SLO is
}

// connect opens connections ahead of the row: of several APIs each has its own, and as many as if all requests were its.
func (m *measurement) connect(ctx context.Context) error {
	for _, d := range apiClients(m.voices) {
		setups, err := d.client.Prepare(ctx, m.t.Spec.ConnectionsAhead())
		if err != nil && ctx.Err() != nil {
			return ctx.Err() // a server that can't be reached shows in the records
		}
		m.setups = append(m.setups, setups...)
	}
	m.e.Connections.Ahead = len(m.setups)
	return nil
}

func (m *measurement) send(ctx context.Context, job *load.Job, body []byte, epoch time.Time) (finish func()) {
	m.t.Progress.requestSent(job)
	v := m.voices[job.Request.Class]
	call := openai.Call{
		Body: body, Stream: m.t.Spec.Streams(), Epoch: epoch,
		Fresh:      m.t.Spec.Fresh(),
		RequestID:  requestID(m.t.Salt, job.Request.Index),
		KeepAnswer: job.Request.Turn+1 < job.Request.Turns,
		Counter:    m.t.Progress.Meter,
		Prompt:     cmp.Or(job.Input, job.Request.Input),
	}
	if v.forced {
		call.MinTokens = job.Request.Output
	}
	return v.api.client.Start(ctx, &call, &job.Result)
}

// following makes the function that makes the next turns of conversations; nil where there are none.
func (m *measurement) following() func(*load.Job, []byte) (*load.Job, []byte) {
	if !m.t.Spec.Converses() {
		return nil
	}
	return func(job *load.Job, body []byte) (*load.Job, []byte) { return follow(m.voices, m.plan, job, body) }
}

// fewestLost is how many lost connections at the end of a row, with no other end between them, mean
// that the server is gone.
const fewestLost = 3

// requestID has the form of a UUID (version 4), since some servers refuse anything else with HTTP
// 400; within it are the row's salt and the request's index.
func requestID(salt string, index int) string {
	salt = (salt + "000000000000")[:12]
	return fmt.Sprintf("%s-%s-4000-8000-%012x", salt[:8], salt[8:], uint64(index)&(1<<48-1))
}

// enough is the end of a row that runs until its SLO is decided; nil for any other.
func (m *measurement) enough() func() bool {
	if m.t.Spec.Until != experiment.UntilDecided {
		return nil
	}
	m.sequential = verdict.NewSequentialTest(m.t.Spec)
	return m.decided.Load
}

func (m *measurement) each(job *load.Job) error {
	r := requestRecord(job)
	if m.sequential != nil && !m.decided.Load() && m.sequential.Add(r) {
		m.decided.Store(true)
	}
	m.t.Progress.requestEnded(job, r, m.t.Spec.Streams())
	switch job.Result.Outcome {
	case openai.Connect:
		m.lost++
	default: // one that the row's end cut short, but that was sent, reached the server too
		if job.Result.Sent != openai.Never {
			m.lost = 0
		}
	}
	m.kernel += job.Result.KernelStamps
	m.user += job.Result.UserStamps
	m.late(job.Ready, job.Result.Sent)
	m.lagSum += job.Result.ReadLagSum
	m.lagMax = max(m.lagMax, job.Result.ReadLag)
	if job.Result.Setup != (openai.Setup{}) {
		m.setups = append(m.setups, job.Result.Setup)
	}
	if job.Result.Header != nil {
		m.header.Do(func() { m.e.Server.Headers = publicHeaders(job.Result.Header) })
	}
	if m.t.Reread == nil {
		m.e.Records = append(m.e.Records, r)
	}
	if look := m.t.Progress.Each; look != nil {
		look(r)
	}
	return m.t.Each(r)
}

// thriftyGC is the garbage that is let stand while the records of a long row are in memory, in percent of what is in use.
const thriftyGC = 20

// reread takes the records of a row that did not keep them.
func (m *measurement) reread() error {
	if m.t.Reread == nil {
		return nil
	}
	return m.t.Reread(func(r *record.Record) error {
		r.Schema, r.ServerID = "", "" // the one is the file's, the other no figure needs
		m.e.Records = append(m.e.Records, r)
		return nil
	})
}

// clock says which clock stamped the row.
func fillClock(e *verdict.Measured, m *measurement) {
	e.Clock = record.Clock{Stamps: "kernel", KernelStamps: m.kernel, UserStamps: m.user, ReadLagMaxMs: unit.Ms(m.lagMax)}
	switch {
	case m.kernel == 0:
		e.Clock.Stamps = "user"
	case m.user > 0:
		e.Clock.Stamps = "mixed"
	}
	if m.kernel > 0 {
		e.Clock.ReadLagMeanMs = unit.Ms(m.lagSum) / float64(m.kernel)
	}
}

// Interrupted says that an error of Run means that the user, not the server, ended the row.
func Interrupted(err error) bool { return errors.Is(err, context.Canceled) }

// describe summarises the parts of all set-ups, those ahead first.
func describe(c *record.Connections, setups []openai.Setup) {
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

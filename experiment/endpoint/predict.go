package endpoint

import (
	"context"
	"time"

	"bench/experiment"
	"bench/experiment/check"
	"bench/experiment/load"
	"bench/experiment/record"
	"bench/experiment/telemetry"
	"bench/experiment/verdict"
	"bench/experiment/workload"
)

// Simulator answers the requests of one row in virtual time.
type Simulator interface {
	load.Engine
	// Prime computes a request before the row begins: alone, and without an answer.
	Prime(*workload.Request)
	// Reading is what its metrics page reports now.
	Reading() *telemetry.ServerReading
	// ReasoningUnknown reports whether the row depends on a number of reasoning tokens that nothing states.
	ReasoningUnknown() bool
}

// Predicted is a server that answers in virtual time only, so that its rows are predictions. simulator makes the
// engine of one row.
func Predicted(t experiment.Target, info record.TargetInfo,
	simulator func(*experiment.Spec) (Simulator, error)) *Server {
	return &Server{Target: t, Info: info, simulator: simulator}
}

// sampleEvery is the virtual time between two readings of a simulator.
const sampleEvery = time.Second

func (s *Server) predict(ctx context.Context, t RunConfig) (*record.Row, error) {
	now := time.Now().UTC()
	row := &record.Row{
		Schema: record.SchemaRow, ID: t.ID, Spec: *t.Spec, Simulated: true, Predicted: true, StartedAt: now, Epoch: now,
		Salt: t.Salt, PromptForm: s.Info.PromptForm, Omitted: []string{}, Sampling: map[string]any{},
		PromptOverhead: new(0),
	}
	if t.Spec.HasPrompts() {
		row.PromptForm = realForm
	}
	plan := t.Spec.Plan(t.Salt).Estimated()
	defer plan.Close()
	engine, err := s.simulator(t.Spec)
	if err != nil {
		return nil, err
	}
	e := &verdict.Measured{Row: row}
	m := &measurement{t: t, e: e, plan: plan}
	for q := range plan.Priming {
		engine.Prime(&q)
	}
	row.Clock.Stamps, row.ReasoningUnknown = "virtual", engine.ReasoningUnknown()
	first := engine.Reading()
	if block := first.CacheBlock; block != nil {
		row.Server.Block = &record.CacheBlock{Tokens: int(*block), Source: record.BlockReported}
	}
	var decided context.Context
	if decided, m.early = newEarlyEnd(m); m.early != nil {
		defer m.early.end()
	}
	p := &predicted{Simulator: engine, m: m}
	p.sample(0, telemetry.EdgeBefore)
	t.Progress.loadStarted()
	measured, err := load.Simulate(ctx, load.Config{
		Load: t.Spec.EffectiveLoad(), Rate: t.Spec.Rate, Plan: plan, Follow: m.laterPlanned(), Each: p.each,
		Decided:    decided,
		Overloaded: m.overloaded(),
	}, p)
	t.Progress.loadEnded()
	p.end = max(p.end, measured.End, p.read) // a window by time can end long after its last request
	p.sample(p.end, telemetry.EdgeAfter)
	if err == nil && m.early != nil {
		err = m.early.finish()
	}
	if err == nil {
		err = plan.Err()
	}
	if err == nil {
		err = m.reread()
	}
	if err != nil {
		return nil, err
	}
	row.EndedAt, row.Window = time.Now().UTC(), m.windowOf(&measured)
	if err := p.store(); err != nil {
		return nil, err
	}
	e.Reuse = check.CompareReuse(e.Row, e.Records)
	e.Conclude(s.Target, t.Roofline)
	took := record.RowTimes{LoadEnded: p.end, Ended: p.end, Window: row.Window}
	row.Time = took.Split()
	return row, nil
}

func (m *measurement) laterPlanned() func(*workload.Request, int, *load.Job, []byte) (*load.Job, []byte) {
	if !m.t.Spec.HasConversations() {
		return nil
	}
	return func(first *workload.Request, turn int, before *load.Job, _ []byte) (*load.Job, []byte) {
		return &load.Job{Request: m.plan.Later(first, turn, continued(before))}, nil
	}
}

type predicted struct {
	Simulator
	m       *measurement
	samples []telemetry.Sample
	read    time.Duration // of the latest sample
	end     time.Duration // latest end of a request; at last, of the load
}

func (p *predicted) Add(job *load.Job) {
	p.m.t.Progress.requestSent(job)
	p.Simulator.Add(job)
}

// Next also takes the readings that are due until then.
func (p *predicted) Next(until time.Duration) *load.Job {
	for p.read+sampleEvery < until {
		if job := p.Simulator.Next(p.read + sampleEvery); job != nil {
			return job
		}
		p.sample(p.read+sampleEvery, "")
	}
	return p.Simulator.Next(until)
}

func (p *predicted) each(job *load.Job) error {
	p.end = max(p.end, job.Result.End)
	return p.m.each(job)
}

func (p *predicted) sample(at time.Duration, edge string) {
	p.read = at
	reading := p.Reading()
	p.m.t.Progress.change(func(s *Snapshot) { s.Server = reading })
	p.samples = append(p.samples, telemetry.Sample{
		Source: telemetry.SourceServer, TUs: at.Microseconds(), Next: sampleEvery.Microseconds(), Edge: edge,
		Server: reading,
	})
}

func (p *predicted) store() error {
	if pass := p.m.t.Sample; pass != nil {
		for i := range p.samples {
			if err := pass(&p.samples[i]); err != nil {
				return err
			}
		}
	}
	e := p.m.e
	e.Server.Metrics = telemetry.SummarizeServer(telemetry.Source{Name: "simulated"}, p.samples, e.Window.StartUs,
		e.Window.EndUs)
	return nil
}

package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"bench/experiment"
	"bench/experiment/mock"
	"bench/experiment/record"
	"bench/experiment/telemetry"
	"bench/experiment/verdict"
	"bench/experiment/workload"
)

// vocabulary of the simulated server.
var vocabulary = workload.Vocabulary{FirstID: 100, IDs: 30000}

// server is the simulated engine; factor multiplies all its times.
func server(factor float64) mock.Config {
	times := func(d time.Duration) time.Duration { return time.Duration(float64(d) * factor) }
	return mock.Config{
		StepBase: times(20 * time.Millisecond), StepPerSeq: times(400 * time.Microsecond),
		StepPerPrefillToken: times(30 * time.Microsecond), Queue: 1 << 20,
	}
}

// replay sends the requests of a point to the engine in virtual time.
type replay struct {
	spec   *experiment.Spec
	plan   *workload.Plan
	rng    *rand.Rand // of the jitter
	asked  map[string]workload.Request
	jitter map[string]float64
}

func (r *replay) until() time.Duration {
	return time.Duration(r.spec.Warmup.Time) + time.Duration(r.spec.Duration)
}

func (r *replay) job(q workload.Request, at time.Duration) mock.Job {
	id := strconv.Itoa(q.Index)
	q.At = at
	r.asked[id], r.jitter[id] = q, 1+jitter*math.Abs(r.rng.NormFloat64())
	return mock.Job{ID: id, At: at, Prompt: vocabulary.TokenIDs(nil, &q), Output: q.Output}
}

// first are the jobs that no answer brings about: all of an open loop.
func (r *replay) first() []mock.Job {
	var out []mock.Job
	if r.spec.Rate == 0 {
		for i := range r.spec.Concurrency {
			out = append(out, r.job(r.plan.Next(), time.Duration(i)*time.Millisecond))
		}
		return out
	}
	for q := r.plan.Next(); q.At < r.until(); q = r.plan.Next() {
		out = append(out, r.job(q, q.At))
	}
	return out
}

// after is the next job of a worker.
func (r *replay) after(m *mock.Record) (mock.Job, bool) {
	times := r.times(m)
	at := times[len(times)-1]
	if r.spec.Rate != 0 || at >= r.until() {
		return mock.Job{}, false
	}
	return r.job(r.plan.Next(), at), true
}

// times are when the tokens of an answer came.
func (r *replay) times(m *mock.Record) []time.Duration {
	at := r.asked[m.ID].At
	out := make([]time.Duration, len(m.DueNS))
	for i, due := range m.DueNS {
		out[i] = at + time.Duration(float64(time.Duration(due)-at)*r.jitter[m.ID])
	}
	return out
}

// run measures one row: the real plan, engine, summary and checks.
func (n *night) run(s *experiment.Spec, id, salt string, began time.Time) (*verdict.Measured, error) {
	r := &replay{spec: s, plan: s.Plan(salt), rng: rand.New(rand.NewPCG(uint64(n.N), uint64(s.Repeat))),
		asked: map[string]workload.Request{}, jitter: map[string]float64{}}
	defer r.plan.Close()
	factor := n.points[s.Name] * n.repeats[s.Name][s.Repeat-1]
	answers, _, err := mock.Simulate(server(factor), r.first(), r.after, time.Hour)
	if err != nil {
		return nil, fmt.Errorf("simulating %s: %w", id, err)
	}
	row := &record.Row{
		Schema: record.SchemaRow, ID: id, Spec: *s, Simulated: true, PromptForm: "token_ids", Salt: salt,
		Sampling:  map[string]any{},
		StartedAt: began, Epoch: began, EndedAt: began.Add(r.until() + 2*time.Second), Omitted: []string{},
		Clock:  record.Clock{Stamps: "kernel", KernelStamps: 1},
		Client: &telemetry.Usage{Samples: 60, SpanS: 60, MaxProcs: 8, CPUMean: new(0.4)},
	}
	if n.steal > 0 {
		row.Client.Steal, row.Client.StealMaxMs = &n.steal, new(4.0)
	}
	row.Window = record.Window{StartUs: record.RoundMicros(time.Duration(s.Warmup.Time)),
		EndUs: record.RoundMicros(r.until())}
	e := &verdict.Measured{Row: row}
	for _, a := range answers {
		e.Records = append(e.Records, r.record(a, row.Window))
	}
	slices.SortFunc(e.Records, func(a, b *record.Record) int { return a.I - b.I })
	if n.fails == s.Name && s.Repeat == 2 {
		fail(e.Records)
	}
	return e, nil
}

// record is a request as the client stores it.
func (r *replay) record(m *mock.Record, w record.Window) *record.Record {
	q, times := r.asked[m.ID], r.times(m)
	gaps := make([]time.Duration, 0, len(times))
	for i := range times[1:] {
		gaps = append(gaps, times[i+1]-times[i])
	}
	at := func(d time.Duration) record.Micros { return record.At(record.RoundMicros(d)) }
	first, last := at(times[0]), at(times[len(times)-1])
	rec := &record.Record{
		I: q.Index, Phase: record.PhaseCooldown, Arrival: at(q.At), Ready: at(q.At), Sent: at(q.At),
		FirstEvent: first, First: first,
		Last: last, End: last, Gaps: record.RoundGaps(times[0], gaps), PromptRequested: q.Input,
		PromptTokens:    &m.PromptTokens,
		OutputRequested: q.Output, OutputTokens: m.OutputTokens, Outcome: "ok", Finish: "length",
	}
	switch us := record.RoundMicros(q.At); {
	case us < w.StartUs:
		rec.Phase = record.PhaseWarmup
	case us < w.EndUs:
		rec.Phase = record.PhaseWindow
	}
	return rec
}

// fail turns every answer into an error of the server.
func fail(records []*record.Record) {
	for _, r := range records {
		*r = record.Record{
			I: r.I, Phase: r.Phase, Arrival: r.Arrival, Ready: r.Ready, Sent: r.Sent, End: r.FirstEvent,
			PromptRequested: r.PromptRequested, OutputRequested: r.OutputRequested, Outcome: "status",
			Status: 500, Error: "HTTP 500: out of memory",
		}
	}
}

// Package experiment turns one row into records, and records into a summary with its doubts and
// verdicts: reach the server and learn what it takes (Reach), run a point (Server.Run), summarise
// the stored records (Summarize), judge the contract (Judge), compare with the bound. It writes no
// file and prints nothing.
package experiment

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"bench/experiment/load"
	"bench/experiment/openai"
	"bench/experiment/workload"
)

// Progress is what a row is doing, for a display; read it at any time.
type Progress struct {
	Sent, Done, Failed atomic.Int64
	Tokens             atomic.Int64 // output tokens of the requests that are done
}

// Try is one try at a point.
type Try struct {
	Spec   *Spec
	ID     string // of the row
	Salt   string // makes its prompts unlike those of every other try
	Bounds Bounds
	// Each takes every record as its request ends; an error ends the row. The record must not be kept.
	Each     func(*Record) error
	Progress *Progress // nil = nobody looks
}

// drainAfterInterrupt is how long requests in flight may finish after Ctrl-C.
const drainAfterInterrupt = 5 * time.Second

// Run measures one point. After ctx has ended it drains briefly and returns ctx's error: the row
// was cut, and there is no result.
func (s *Server) Run(ctx context.Context, t Try) (*Row, error) {
	if t.Progress == nil {
		t.Progress = new(Progress)
	}
	d := s.dialect(t.Spec)
	enc, err := s.encoder(d, t.Spec, t.Spec.Forced())
	if err != nil {
		return nil, err
	}
	row := &Row{
		Schema: SchemaRow, ID: t.ID, Spec: *t.Spec, Simulated: s.Info.Simulated, StartedAt: time.Now().UTC(),
		Salt: t.Salt, PromptForm: d.form(), Sampling: enc.Sampling(), Omitted: sortedKeys(d.omit),
	}
	if row.Omitted == nil {
		row.Omitted = []string{}
	}
	plan := workload.NewPlan(t.Spec.Workload, t.Spec.planSeed(), t.Salt)
	e := &evidence{Row: row, vocab: &d.vocab}
	if e.primed, err = s.prime(ctx, d, t, plan); err != nil {
		return nil, err
	}
	if _, err := d.client.Prepare(ctx, t.Spec.connections()); err != nil && ctx.Err() != nil {
		return nil, ctx.Err() // a server that can't be reached shows in the records
	}
	m := &measurement{t: t, e: e, d: d}
	measured, err := load.Run(ctx, load.Config{
		Load: t.Spec.Load, Rate: t.Spec.Rate, Plan: plan, Drain: drainAfterInterrupt,
		Encode: d.encode(enc),
		Send:   m.send,
		Each:   m.each,
	})
	if err != nil {
		return nil, err
	}
	row.EndedAt, row.Epoch = time.Now().UTC(), measured.Epoch.UTC()
	row.Window = Window{StartUs: micros(measured.Start), EndUs: micros(measured.End)}
	e.clock(m)
	e.conclude(s.Target, t.Bounds)
	return row, nil
}

// planSeed gives each repeat lengths and arrivals of its own.
func (s *Spec) planSeed() uint64 { return s.Seed ^ uint64(s.Repeat)*0x9e3779b97f4a7c15 }

// connections is how many the point needs at once, as far as that is known beforehand.
func (s *Spec) connections() int {
	const most = 1024
	switch {
	case s.Concurrency > 0:
		return min(s.Concurrency, most)
	case s.Rate.IsInf():
		return min(s.Warmup.Requests+s.Requests, most)
	}
	return min(int(math.Ceil(2*float64(s.Rate)))+8, 256) // two seconds' worth of arrivals
}

func (s *Server) encoder(d *dialect, spec *Spec, forced bool) (*openai.Encoder, error) {
	return openai.Params{
		API: spec.APIOr(s.Target), Model: s.Info.Model, Stream: spec.Streams(), Forced: forced,
		Omit: d.omit, Extra: s.Target.ExtraBody,
	}.Encoder()
}

// encode makes the function that encodes bodies; it is used from one goroutine.
func (d *dialect) encode(enc *openai.Encoder) func(*workload.Request) []byte {
	var ids []int32
	return func(r *workload.Request) []byte {
		if d.vocab.IDs == 0 {
			return enc.Body(nil, openai.Prompt{Text: d.vocab.Text(r)}, r.Output)
		}
		ids = d.vocab.TokenIDs(ids[:0], r)
		return enc.Body(nil, openai.Prompt{IDs: ids}, r.Output)
	}
}

// prime makes the prefixes of a warm row resident; failed counts the requests that did not succeed.
func (s *Server) prime(ctx context.Context, d *dialect, t Try, plan *workload.Plan) (failed int, err error) {
	requests := plan.Priming()
	if len(requests) == 0 {
		return 0, nil
	}
	enc, err := s.encoder(d, t.Spec, false)
	if err != nil {
		return 0, err
	}
	encode := d.encode(enc)
	for i := range requests {
		var r openai.Result
		d.client.Do(ctx, &openai.Call{Body: encode(&requests[i]), Stream: t.Spec.Streams(), Epoch: time.Now()}, &r)
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
	t Try
	e *evidence
	d *dialect

	kernel, user   int
	lagSum, lagMax time.Duration
	header         sync.Once
}

func (m *measurement) send(ctx context.Context, job *load.Job, body []byte, epoch time.Time) {
	m.t.Progress.Sent.Add(1)
	call := openai.Call{
		Body: body, Stream: m.t.Spec.Streams(), Epoch: epoch,
		RequestID: requestID(m.t.Salt, job.Request.Index),
	}
	if m.t.Spec.Forced() {
		call.Forced = job.Request.Output
	}
	m.d.client.Do(ctx, &call, &job.Result)
}

// requestID has the form of a UUID (version 4), since some servers refuse anything else with HTTP
// 400; within it are the row's salt and the request's index.
func requestID(salt string, index int) string {
	salt = (salt + "000000000000")[:12]
	return fmt.Sprintf("%s-%s-4000-8000-%012x", salt[:8], salt[8:], uint64(index)&(1<<48-1))
}

func (m *measurement) each(job *load.Job) error {
	r := record(job)
	m.t.Progress.Done.Add(1)
	m.t.Progress.Tokens.Add(int64(r.OutputTokens))
	if !r.OK() && job.Phase != load.Cooldown {
		m.t.Progress.Failed.Add(1)
	}
	m.kernel += job.Result.KernelStamps
	m.user += job.Result.UserStamps
	m.lagSum += job.Result.ReadLagSum
	m.lagMax = max(m.lagMax, job.Result.ReadLag)
	if job.Result.Header != nil {
		m.header.Do(func() { m.e.Server.Headers = publicHeaders(job.Result.Header) })
	}
	m.e.records = append(m.e.records, r)
	return m.t.Each(r)
}

// clock says which clock stamped the row.
func (e *evidence) clock(m *measurement) {
	e.Clock = Clock{Stamps: "kernel", KernelStamps: m.kernel, UserStamps: m.user, ReadLagMaxMs: ms(m.lagMax)}
	switch {
	case m.kernel == 0:
		e.Clock.Stamps = "user"
	case m.user > 0:
		e.Clock.Stamps = "mixed"
	}
	if m.kernel > 0 {
		e.Clock.ReadLagMeanMs = ms(m.lagSum) / float64(m.kernel)
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// conclude derives everything that follows from the records.
func (e *evidence) conclude(t Target, b Bounds) {
	stream := e.Spec.Streams()
	e.Summary = Summarize(e.records, e.Window, stream, e.Spec.Contract.EachRequest(), t.GPUs)
	e.Lengths = lengths(e.records)
	e.Contract = append([]Verdict{}, Judge(e.Spec.Contract, "", e.records, &e.Summary, stream, t)...)
	for _, c := range e.Spec.Mix {
		if e.Classes == nil {
			e.Classes = map[string]Summary{}
		}
		var own []*Record
		for _, r := range e.records {
			if r.Class == c.Name {
				own = append(own, r)
			}
		}
		contract := e.Spec.classContract(c)
		s := Summarize(own, e.Window, stream, contract.EachRequest(), t.GPUs)
		e.Classes[c.Name] = s
		if len(c.Contract) > 0 {
			e.Contract = append(e.Contract, Judge(contract, c.Name, own, &s, stream, t)...)
		}
	}
	e.Bound, e.NoBound = b.of(&e.Summary, t)
	e.doubt()
}

// classContract is the row's contract with the class's own limits in place of those of the same key.
func (s *Spec) classContract(c workload.Class) Contract {
	var own Contract
	if c.Contract != nil {
		own.DecodeTOML(c.Contract, func(_, _, _ string) {}) // checked with the matrix
	}
	return s.Contract.forClass(own)
}

// AllFailed says that requests were sent in the window and not one of them completed.
func (r *Row) AllFailed() bool {
	q := r.Summary.Requests
	return q.Planned > 0 && q.Completed == 0
}

// record is a job in the form that is stored: µs, and only what happened.
func record(j *load.Job) *Record {
	r := &j.Result
	rec := &Record{
		I: j.Request.Index, ServerID: r.ServerID, Class: j.Request.Class,
		Phase: [...]string{PhaseWarmup, PhaseWindow, PhaseCooldown}[j.Phase],
		At:    offset(j.At), Ready: offset(j.Ready), Sent: offset(r.Sent), FirstEvent: offset(r.FirstEvent),
		First: offset(r.First), Last: offset(r.Last), End: offset(r.End),
		PromptAsked: j.Request.Input, OutputAsked: j.Request.Output, OutputTokens: r.OutputTokens, Estimated: r.Estimated,
		Outcome: string(r.Outcome), Error: r.Error, Status: r.Status, Finish: r.Finish,
	}
	if r.HasUsage {
		rec.PromptTokens = new(r.PromptTokens)
	}
	if r.HasCached {
		rec.CachedTokens = new(r.CachedTokens)
	}
	if r.Connect > 0 {
		rec.ConnectUs = new(micros(r.Connect))
	}
	rec.Gaps = roundGaps(r.First, r.Gaps)
	rec.TokensPerEvent = r.TokensPerEvent
	return rec
}

// roundGaps gives the differences of the rounded times, so that they sum to last − first.
func roundGaps(first time.Duration, gaps []time.Duration) []int64 {
	if len(gaps) == 0 {
		return nil
	}
	out := make([]int64, len(gaps))
	at, before := first, micros(first)
	for i, g := range gaps {
		at += g
		now := micros(at)
		out[i] = now - before
		before = now
	}
	return out
}

func offset(d time.Duration) Micros {
	if d == openai.Never {
		return Micros{}
	}
	return At(micros(d))
}

// micros rounds to the nearest µs.
func micros(d time.Duration) int64 { return int64(d.Round(time.Microsecond) / time.Microsecond) }

// Interrupted says that an error of Run means that the user, not the server, ended the row.
func Interrupted(err error) bool { return errors.Is(err, context.Canceled) }

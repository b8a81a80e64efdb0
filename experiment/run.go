// Package experiment turns one row into records, and records into a summary with its doubts and
// verdicts: reach the server and learn what it takes (Reach), run a point (Server.Run), summarise
// the stored records (Summarize), judge the contract (Judge), compare with the bound. It writes no
// file and prints nothing.
package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"bench/experiment/load"
	"bench/experiment/openai"
	"bench/experiment/telemetry"
	"bench/experiment/workload"
)

// Try is one try at a point.
type Try struct {
	Spec   *Spec
	ID     string // of the row
	Salt   string // makes its prompts unlike those of every other try
	Bounds Bounds
	// Each takes every record as its request ends; an error ends the row. The record must not be kept.
	Each func(*Record) error
	// Sample takes the samples of the client when the load is over; nil = nobody keeps them.
	Sample   func(*telemetry.Sample) error
	Progress *Progress       // nil = nobody looks
	Ends     context.Context // ends a row that has until = "stopped", or any closed loop before its time; nil = the row knows its end
	// Reread gives all records again that Each has taken, in that order, when the load is over: then they are not kept in
	// memory while it runs. nil = they are.
	Reread  func(each func(*Record) error) error
	Scratch io.ReadWriteSeeker // an empty file, to which samples go while the row runs; nil = they are kept in memory, too
	Startup *Startup           // of a cold start whose server bench started; nil = it ran already
}

// drainAfterInterrupt is how long requests in flight may finish after Ctrl-C.
const drainAfterInterrupt = 5 * time.Second

// Run measures one point. After ctx has ended it drains briefly and returns ctx's error: the row
// was cut, and there is no result.
func (s *Server) Run(ctx context.Context, t Try) (*Row, error) {
	if t.Progress == nil {
		t.Progress = new(Progress)
	}
	voices, err := s.voices(ctx, t.Spec)
	if err := cmp.Or(ctx.Err(), err); err != nil {
		return nil, err
	}
	row := &Row{
		Schema: SchemaRow, ID: t.ID, Spec: *t.Spec, Simulated: s.Info.Simulated, StartedAt: time.Now().UTC(),
		Salt: t.Salt, PromptForm: form(voices), Omitted: omitted(voices),
	}
	row.Sampling, row.ClassSampling = sampling(voices)
	plan := workload.NewPlan(t.Spec.Workload, t.Spec.planSeed(), t.Salt)
	defer plan.Close()
	e := &evidence{Row: row, vocab: widest(voices), selftest: s.Selftest}
	if e.primed, err = prime(ctx, voices, t, plan); err != nil {
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
	t.Progress.loads()
	measured, err := load.Run(ctx, load.Config{
		Load: t.Spec.load(), Rate: t.Spec.Rate, Plan: plan, Drain: drainAfterInterrupt,
		Encode: encoder(voices),
		Send:   m.send,
		Follow: m.following(),
		Each:   m.each,
		Enough: m.enough(),
		Ends:   t.Ends,
	})
	t.Progress.rests()
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
	row.Window = Window{StartUs: micros(measured.Start), EndUs: micros(measured.End), Cut: measured.Cut}
	if t.Spec.Cold() {
		row.ColdStart = &ColdStart{IdleS: t.Spec.load().Idle, Server: t.Startup}
	}
	row.ServerLost = m.lost >= fewestLost
	e.clock(m)
	row.Connections.describe(m.setups)
	if err := e.sampled(samples, measured.Epoch, t, s.sources); err != nil {
		return nil, err
	}
	e.conclude(s.Target, t.Bounds)
	return row, nil
}

// planSeed gives each repeat lengths and arrivals of its own.
func (s *Spec) planSeed() uint64 { return s.Seed ^ uint64(s.Repeat)*0x9e3779b97f4a7c15 }

// connections is how many the point needs at once, as far as that is known beforehand.
func (s *Spec) connections() int {
	const most = 1024
	switch {
	case s.Fresh():
		return 0
	case s.Concurrency > 0:
		return min(s.Concurrency, most)
	case s.Rate.IsInf():
		return min(s.Warmup.Requests+s.Requests, most)
	}
	return min(int(math.Ceil(2*float64(s.Rate)))+8, 256) // two seconds' worth of arrivals
}

// prime makes the prefixes of a warm row resident; failed counts the requests that did not succeed.
func prime(ctx context.Context, voices map[string]*voice, t Try, plan *workload.Plan) (failed int, err error) {
	encode := encoder(voices)
	for q := range plan.Priming {
		v := voices[q.Class]
		q.Input += v.first.Overhead // comes off the end of a text, where the suffix is: the prefix is to be sent whole
		var r openai.Result
		v.dialect.client.Do(ctx, &openai.Call{Body: encode(&q), Stream: t.Spec.Streams(), Epoch: time.Now()}, &r)
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
	t      Try
	e      *evidence
	voices map[string]*voice
	plan   *workload.Plan

	setups         []openai.Setup
	kernel, user   int
	lagSum, lagMax time.Duration
	header         sync.Once
	lag            atomic.Int64 // the largest since the last sample of the client, ns; noLag = none
	lost           int          // connect failures since the last request that reached the server

	looking *looking    // nil = the row runs to its end
	decided atomic.Bool // its contract is
}

// connect opens connections ahead of the row: of several APIs each has its own, and as many as if all requests were its.
func (m *measurement) connect(ctx context.Context) error {
	for _, d := range dialects(m.voices) {
		setups, err := d.client.Prepare(ctx, m.t.Spec.connections())
		if err != nil && ctx.Err() != nil {
			return ctx.Err() // a server that can't be reached shows in the records
		}
		m.setups = append(m.setups, setups...)
	}
	m.e.Connections.Ahead = len(m.setups)
	return nil
}

func (m *measurement) send(ctx context.Context, job *load.Job, body []byte, epoch time.Time) (finish func()) {
	m.t.Progress.sends(job)
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
	return v.dialect.client.Start(ctx, &call, &job.Result)
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

// enough is the end of a row that runs until its contract is decided; nil for any other.
func (m *measurement) enough() func() bool {
	if m.t.Spec.Until != untilDecided {
		return nil
	}
	m.looking = &looking{spec: m.t.Spec, ended: map[int]*Record{}, next: 1}
	return m.decided.Load
}

func (m *measurement) each(job *load.Job) error {
	r := record(job)
	if m.looking != nil && !m.decided.Load() && m.looking.over(r) {
		m.decided.Store(true)
	}
	m.t.Progress.over(job, r, m.t.Spec.Streams())
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
		m.e.records = append(m.e.records, r)
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
	return m.t.Reread(func(r *Record) error {
		r.Schema, r.ServerID = "", "" // the one is the file's, the other no figure needs
		m.e.records = append(m.e.records, r)
		return nil
	})
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
	e.Reuse, e.Rotations = e.reuse(), e.rotations()
	e.Contract = e.judgeRow(t)
	for _, c := range e.Spec.Mix {
		if e.Classes == nil {
			e.Classes = map[string]Summary{}
		}
		own := slices.DeleteFunc(slices.Clone(e.records), func(r *Record) bool { return r.Class != c.Name })
		contract := e.Spec.classContract(c)
		s := Summarize(own, e.Window, stream, contract.EachRequest(), t.GPUs)
		e.Classes[c.Name] = s
		if len(c.Contract) > 0 {
			e.Contract = append(e.Contract, Judge(contract, c.Name, own, &s, stream, t)...)
		}
	}
	e.lookAgain()
	e.Summary.Goodput = e.classGoodput()
	e.Bound, e.NoBound = b.of(&e.Summary, observe(e.records, e.Window), t)
	e.Little = littlesLaw(e.records, e.Window)
	e.Cost, e.NoCost = CostOf(e.Row, t)
	e.doubt()
}

// judgeRow judges the row's own limits, each over the classes that do not have that limit themselves.
func (e *evidence) judgeRow(t Target) []Verdict {
	out := []Verdict{}
	for _, l := range e.Spec.Contract.Limits {
		own := e.records
		if len(e.Spec.Mix) > 0 {
			own = slices.DeleteFunc(slices.Clone(own), func(r *Record) bool { return e.Spec.overrides(r.Class, l.Key) })
		}
		if len(own) == 0 && len(e.records) > 0 {
			continue // every class has a limit of its own in place of this one
		}
		s := &e.Summary
		if len(own) < len(e.records) && l.Metric == "error_rate" {
			part := Summarize(own, e.Window, e.Spec.Streams(), nil, t.GPUs)
			s = &part
		}
		out = append(out, Judge(Contract{Limits: []Limit{l}}, "", own, s, e.Spec.Streams(), t)...)
	}
	return out
}

// overrides says whether a class has a limit of its own for a key.
func (s *Spec) overrides(class, key string) bool {
	for _, c := range s.Mix {
		if _, own := c.Contract[key]; own && c.Name == class {
			return true
		}
	}
	return false
}

// classGoodput is the row's goodput where classes have limits of their own: each request is held to
// those of its class.
func (e *evidence) classGoodput() *Goodput {
	if !slices.ContainsFunc(e.Spec.Mix, func(c workload.Class) bool { return len(c.Contract) > 0 }) {
		return e.Summary.Goodput
	}
	var sum *Goodput
	for _, c := range e.Spec.Mix {
		g := e.Classes[c.Name].Goodput
		if g == nil {
			continue
		}
		if sum == nil {
			sum = &Goodput{}
		}
		sum.RequestsPerS += g.RequestsPerS
		sum.OutputTokensPerS += g.OutputTokensPerS
		for _, l := range g.Limits {
			sum.Limits = append(sum.Limits, c.Name+": "+l)
		}
	}
	if n := e.Summary.Requests.Planned; sum != nil && n > 0 {
		sum.Share = sum.RequestsPerS * e.Window.Seconds() / float64(n)
	}
	return sum
}

// classContract is the row's contract with the class's own limits in place of those of the same key.
func (s *Spec) classContract(c workload.Class) Contract {
	var own Contract
	if c.Contract != nil {
		own.DecodeTOML(c.Contract, func(_, _, _ string) {}) // checked with the matrix
	}
	return s.Contract.forClass(own)
}

// AllFailed says that not one request of the window completed; or, where none fell into it, that not
// one token came, which is what a server that hangs looks like to a closed loop.
func (r *Row) AllFailed() bool {
	s := &r.Summary
	return s.Requests.Completed == 0 && (s.Requests.Planned > 0 || s.Throughput.OutputTokensPerS == 0)
}

// Interrupted says that an error of Run means that the user, not the server, ended the row.
func Interrupted(err error) bool { return errors.Is(err, context.Canceled) }

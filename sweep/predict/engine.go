// Package predict runs rows through the simulated engine in virtual time: it turns what a row sends into the engine's
// jobs, and the engine's token times into results. It measures nothing and sends nothing.
package predict

import (
	"math"
	"strconv"
	"time"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/load"
	"bench/experiment/mock"
	"bench/experiment/openai"
	"bench/experiment/telemetry"
	"bench/experiment/workload"
)

// forever is longer than any row.
const forever = time.Duration(math.MaxInt64)

// engine answers the requests of one row.
type engine struct {
	sim   *mock.Engine
	spec  *experiment.Spec
	vocab workload.Vocabulary
	begun time.Duration // the engine's time when the row begins, after its priming
	added int
	jobs  map[string]*load.Job
	chats map[int]*chat // conversations, by their number
}

// chat is a conversation so far: the prompt of its latest turn, and the answer to it.
type chat struct{ prompt, answer []int32 }

// newEngine starts an idle engine.
func newEngine(c mock.Config, spec *experiment.Spec) (endpoint.Simulator, error) {
	sim, err := mock.NewEngine(c)
	if err != nil {
		return nil, err
	}
	return &engine{
		sim: sim, spec: spec, vocab: workload.Vocabulary{FirstID: mock.FirstWord, IDs: int32(sim.Config().Vocab) - mock.FirstWord},
		jobs: map[string]*load.Job{}, chats: map[int]*chat{},
	}, nil
}

// Prime computes a request alone.
func (e *engine) Prime(q *workload.Request) {
	e.sim.Add(mock.Job{At: e.begun, Prompt: e.vocab.TokenIDs(nil, q), Output: q.Output})
	r := e.sim.Next(forever)
	e.begun = time.Duration(r.DueNS[len(r.DueNS)-1])
}

// Add gives the engine a request.
func (e *engine) Add(job *load.Job) {
	q := &job.Request
	e.added++
	id := strconv.Itoa(e.added)
	e.jobs[id] = job
	e.sim.Add(mock.Job{
		ID: id, At: e.begun + job.Result.Sent, Prompt: e.prompt(q), Output: q.Output, KeepAnswer: q.Turn+1 < q.Turns,
	})
}

// prompt is the prompt of a request. A later turn is the turn before with the engine's answer, and what is new.
func (e *engine) prompt(q *workload.Request) []int32 {
	c := e.chats[q.Session]
	if q.Turn == 0 || c == nil {
		ids := e.vocab.TokenIDs(make([]int32, 0, q.Input), q)
		if q.Turns > 1 {
			e.chats[q.Session] = &chat{prompt: ids}
		}
		return ids
	}
	added := q.Added()
	ids := make([]int32, 0, q.Input)
	ids = append(append(ids, c.prompt...), c.answer...)
	c.prompt = e.vocab.TokenIDs(ids, &added)
	return c.prompt
}

// Next runs until a request ends.
func (e *engine) Next(until time.Duration) *load.Job {
	if until < forever-e.begun {
		until += e.begun
	}
	r := e.sim.Next(until)
	if r == nil {
		return nil
	}
	job := e.take(r)
	job.Result.Outcome, job.Result.Status, job.Result.Finish = openai.OK, 200, r.Finish
	job.Result.End, job.Result.Free = job.Result.Last, job.Result.Last
	q := &job.Request
	if q.Turn+1 < q.Turns {
		e.chats[q.Session].answer = r.Answer
	} else if q.Turns > 1 {
		delete(e.chats, q.Session)
	}
	return job
}

// Drop returns what came of the requests that have not ended.
func (e *engine) Drop() []*load.Job {
	var out []*load.Job
	for _, r := range e.sim.Rest() {
		out = append(out, e.take(r))
	}
	return out
}

// take fills in the result of a job as far as it came.
func (e *engine) take(r *mock.Record) *load.Job {
	job := e.jobs[r.ID]
	delete(e.jobs, r.ID)
	result := &job.Result
	result.OutputTokens, result.PromptTokens, result.CachedTokens = r.OutputTokens, r.PromptTokens, r.CachedTokens
	result.HasUsage, result.HasCached = true, true
	if len(r.DueNS) == 0 {
		return job
	}
	at := func(i int) time.Duration { return time.Duration(r.DueNS[i]) - e.begun }
	last := at(len(r.DueNS) - 1)
	result.Last = last
	if !e.spec.Streams() {
		return job
	}
	result.FirstEvent, result.First, result.Events = at(0), at(0), len(r.DueNS)
	result.Gaps = make([]time.Duration, 0, len(r.DueNS)-1)
	for i := range result.Events - 1 {
		result.Gaps = append(result.Gaps, at(i+1)-at(i))
	}
	admitted := time.Duration(r.AdmittedNS) - e.begun
	result.Server = openai.ServerTimes{
		Queue: admitted - result.Sent - e.sim.FrontEnd(), Prefill: result.First - admitted, Decode: last - result.First,
		HasQueue: true, HasPrefill: true, HasDecode: true,
	}
	return job
}

// Reading is what the engine's metrics page would report now.
func (e *engine) Reading() *telemetry.ServerReading {
	m, c := e.sim.Moment(), e.sim.Config()
	n := func(v int) *float64 { return new(float64(v)) }
	return &telemetry.ServerReading{
		Engine: c.Engine, Running: n(m.Running), Waiting: n(m.Waiting), KVUsage: &m.KVUsage,
		KVCapacity: n(c.KVBlocks * c.BlockSize), CacheBlock: n(c.BlockSize), Preemptions: n(m.Preemptions),
		PrefixQueries: n(m.Queried), PrefixHits: n(m.Hit), PrefixUnit: "tokens", Prompt: n(m.Prompt), Generated: n(m.Generated),
	}
}

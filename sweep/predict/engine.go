// Package predict runs rows through the simulated engine in virtual time: it turns what a row sends into the engine's
// jobs, and the engine's token times into results. It measures nothing and sends nothing.
package predict

import (
	"maps"
	"math"
	"strconv"
	"strings"
	"time"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/load"
	"bench/experiment/mock"
	"bench/experiment/openai"
	"bench/experiment/telemetry"
	"bench/experiment/workload"
)

const forever = time.Duration(math.MaxInt64)

type engine struct {
	sim   *mock.Engine
	spec  *experiment.Spec
	asks  thoughts
	vocab workload.Vocabulary
	begun time.Duration // the engine's time when the row begins, after its priming
	added int

	tenants map[string]string // by class
	jobs    map[string]*load.Job
	chats   map[int]*chat // sessions with turns that others continue, by their number
}

// chat is a session so far: the prompts of its turns that others continue, and the answers to them, by turn.
type chat struct {
	prompts, answers map[int][]int32
	ended            int // turns
}

func newEngine(c mock.Config, spec *experiment.Spec, asks thoughts) (endpoint.Simulator, error) {
	sim, err := mock.NewEngine(c)
	if err != nil {
		return nil, err
	}
	return &engine{
		sim: sim, spec: spec, asks: asks, vocab: workload.Vocabulary{FirstID: mock.FirstWord,
			IDs: int32(sim.Config().Vocab) - mock.FirstWord},
		jobs: map[string]*load.Job{}, chats: map[int]*chat{}, tenants: tenants(spec),
	}, nil
}

func tenants(spec *experiment.Spec) map[string]string {
	out := map[string]string{}
	for _, c := range spec.Mix {
		for name, value := range c.Headers {
			if strings.EqualFold(name, mock.TenantHeader) {
				out[c.Name] = value
			}
		}
	}
	return out
}

// Prime computes a request alone.
func (e *engine) Prime(q *workload.Request) {
	e.sim.Add(mock.Job{At: e.begun, Prompt: e.vocab.TokenIDs(nil, q), Output: q.Output})
	r := e.sim.Next(forever)
	e.begun = time.Duration(r.DueNS[len(r.DueNS)-1])
}

func (e *engine) Add(job *load.Job) {
	q := &job.Request
	e.added++
	id := strconv.Itoa(e.added)
	e.jobs[id] = job
	e.sim.Add(mock.Job{
		ID: id, At: e.begun + job.Result.Sent, Prompt: e.prompt(q), Output: q.Output, Thoughts: e.asks.byClass[q.Class],
		KeepAnswer: q.Continued(), Tenant: e.tenants[q.Class],
	})
}

// prompt is the prompt of a request. A turn that continues another has its prompt, the engine's answer to that, and
// what is new.
func (e *engine) prompt(q *workload.Request) []int32 {
	ids := make([]int32, 0, q.Input)
	added := *q
	if before, ok := q.Continues(q.Turn); ok {
		c := e.chats[q.Session]
		ids = append(append(ids, c.prompts[before]...), c.answers[before]...)
		added = q.Added()
		if q.Graph == nil { // of a chain no other turn continues it
			delete(c.prompts, before)
			delete(c.answers, before)
		}
	}
	ids = e.vocab.TokenIDs(ids, &added)
	if q.Continued() {
		if e.chats[q.Session] == nil {
			e.chats[q.Session] = &chat{prompts: map[int][]int32{}, answers: map[int][]int32{}}
		}
		e.chats[q.Session].prompts[q.Turn] = ids
	}
	return ids
}

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
	e.keepAnswer(&job.Request, r)
	return job
}

// keepAnswer keeps the answer to a request that another continues, without its reasoning, until its session has ended.
func (e *engine) keepAnswer(q *workload.Request, r *mock.Record) {
	c := e.chats[q.Session]
	if q.Turns < 2 || c == nil {
		return
	}
	if q.Continued() {
		c.answers[q.Turn] = r.Answer[r.ReasoningTokens:]
	}
	if c.ended++; c.ended == q.Turns {
		delete(e.chats, q.Session)
	}
}

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
	result.HasReasoning, result.ReasoningTokens = r.ReasoningTokens > 0, r.ReasoningTokens
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
	if r.ReasoningTokens < len(r.DueNS) {
		result.FirstAnswer = at(r.ReasoningTokens)
	}
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

func (e *engine) ReasoningUnknown() bool { return e.asks.unknown }

func (e *engine) Reading() *telemetry.ServerReading {
	m, c := e.sim.Moment(), e.sim.Config()
	n := func(v int) *float64 { return new(float64(v)) }
	return &telemetry.ServerReading{
		Engine: c.Engine, Running: n(m.Running), Waiting: n(m.Waiting), KVUsage: &m.KVUsage,
		KVCapacity: n(c.KVBlocks * c.BlockSize), CacheBlock: n(c.BlockSize), Preemptions: n(m.Preemptions),
		PrefixQueries: n(m.Queried), PrefixHits: n(m.Hit), PrefixUnit: "tokens", Prompt: n(m.Prompt),
		Generated: n(m.Generated),
	}
}

type reasoning struct {
	target experiment.Target
	stated bool // the number of reasoning tokens, none included
}

type thoughts struct {
	byClass map[string]mock.Thoughts
	unknown bool // the row depends on a number of reasoning tokens that is not stated: the engine writes none
}

// of reads what the bodies of a point say about reasoning. Lines of its prompts can say more, which is not read.
func (r *reasoning) of(s *experiment.Spec) (thoughts, error) {
	t, asked := thoughts{byClass: map[string]mock.Thoughts{}}, false
	for _, c := range s.Classes() {
		fields := map[string]any{}
		maps.Copy(fields, r.target.ExtraBody)
		maps.Copy(fields, c.Extra)
		own, err := mock.ReadThoughts(s.RouteOf(&c, r.target).API, fields)
		if err != nil {
			return t, err
		}
		if !r.stated {
			asked, own = asked || own.Asked(), mock.NoThoughts
		}
		t.byClass[c.Name] = own
	}
	t.unknown = !r.stated && (asked || s.LimitsMetric("ttfo"))
	return t, nil
}

// unsimulated is why a row cannot be simulated; empty: it can.
func (r *reasoning) unsimulated(s *experiment.Spec) string {
	if !r.stated && s.Search != nil && s.LimitsMetric("ttfo") {
		return "its search needs ttfo, and how many reasoning tokens the server writes is not specified: write reasoning_tokens into [mock]"
	}
	return ""
}

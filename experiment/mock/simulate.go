package mock

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"bench/experiment/roofline"
)

type Job struct {
	ID     string        // of its Record
	At     time.Duration // arrival
	Prompt []int32
	Output int // output tokens
	Tenant string

	Thoughts   Thoughts
	KeepAnswer bool // fill the Record's Answer
}

type Moment struct {
	At                time.Duration
	Running, Waiting  int
	KVUsage           float64 // share of the KV blocks in use
	Queried, Hit      int     // counters: prompt tokens looked up and found in the prefix cache
	Preemptions       int     // counter
	Prompt, Generated int     // counters: tokens
}

// Simulate runs jobs through the engine of c in virtual time, without HTTP: the result is the same on any
// machine. jobs are in order of arrival. For a closed loop, after returns the job that follows an ended one
// (nil: none follows). Simulate returns the records in the order of their ends, and the state of the engine
// at each interval until the last end.
func Simulate(c Config, jobs []Job, after func(*Record) (Job, bool), every time.Duration) ([]*Record, []Moment, error) {
	e, err := NewEngine(c)
	if err != nil {
		return nil, nil, err
	}
	if every <= 0 {
		return nil, nil, errors.New("mock: a simulation needs an interval")
	}
	for _, j := range jobs {
		if err := e.fits(len(j.Prompt) + j.Output); err != nil {
			return nil, nil, err
		}
	}
	var ended []*Record
	var moments []Moment
	for look := time.Duration(0); len(jobs) > 0 || e.Jobs() > 0; {
		until := look
		if len(jobs) > 0 {
			until = min(until, jobs[0].At)
		}
		if r := e.Next(until); r != nil {
			ended = append(ended, r)
			if after == nil {
				continue
			}
			if next, ok := after(r); ok {
				jobs = append([]Job{next}, jobs...)
			}
			continue
		}
		for len(jobs) > 0 && jobs[0].At <= until {
			e.Add(jobs[0])
			jobs = jobs[1:]
		}
		if until == look {
			moments = append(moments, e.Moment())
			look += every
		}
	}
	return ended, moments, nil
}

// Engine is the simulated engine alone, in virtual time and without HTTP. Use NewEngine.
type Engine struct {
	s     *Server
	now   time.Duration
	jobs  map[*seq]*Record // of sequences in the engine
	ended []*Record        // not returned by Next yet
}

func NewEngine(c Config) (*Engine, error) {
	s, err := New(c)
	if err != nil {
		return nil, err
	}
	if s.sim == nil {
		return nil, errors.New("mock: a simulation needs an engine without fixed times")
	}
	return &Engine{s: s, jobs: map[*seq]*Record{}}, nil
}

func (e *Engine) fits(tokens int) error {
	if tokens > e.s.cfg.MaxModelLen {
		return fmt.Errorf("mock: a job of %d tokens does not fit max_model_len = %d", tokens, e.s.cfg.MaxModelLen)
	}
	return nil
}

func (e *Engine) Config() Config { return e.s.cfg }

func (e *Engine) Setup() (roofline.Setup, error) { return e.s.cfg.setup() }

func (e *Engine) Describe() string { return e.s.Describe() }

func (e *Engine) FrontEnd() time.Duration { return e.s.sim.frontEnd }

func (e *Engine) Jobs() int { return len(e.jobs) + len(e.ended) }

// Add gives the engine a job that fits. Its arrival is not before a time that Next has reached.
func (e *Engine) Add(j Job) {
	q := newSeq(e.s.cfg.Seed, e.s.vocab, j.Prompt, j.At)
	q.want, q.finish, q.tenant = j.Output, "length", j.Tenant
	q.drafter = newDrafter(e.s.cfg.Speculation)
	r := &Record{ID: j.ID, ArrivalNS: int64(j.At), PromptTokens: len(j.Prompt), Finish: q.finish,
		DueNS: make([]int64, 0, j.Output), ReasoningTokens: e.reasoning(j.Thoughts, q)}
	if j.KeepAnswer {
		r.Answer = make([]int32, j.Output)
		for i := range r.Answer {
			r.Answer[i] = q.generated(i)
		}
	}
	e.jobs[q] = r
	e.s.counters.wait(q, 1)
	e.s.sim.add(q)
}

func (e *Engine) reasoning(t Thoughts, q *seq) int {
	if t.silent {
		return 0
	}
	tokens := e.s.reasoning(t)
	if tokens == 0 && t.Asked() {
		tokens = half(q.want)
	}
	return tokens
}

// Next runs until the first job ends, at most until a time; nil: none has ended by then.
func (e *Engine) Next(until time.Duration) *Record {
	for len(e.ended) == 0 {
		next, pending := e.s.sim.advance(e.now)
		if e.collect(); len(e.ended) > 0 {
			break
		}
		if !pending || next > until {
			e.now = max(e.now, until)
			return nil
		}
		e.now = next
	}
	r := e.ended[0]
	e.ended = e.ended[1:]
	return r
}

func (e *Engine) Rest() []*Record {
	rest := make([]*Record, 0, len(e.jobs))
	for q, r := range e.jobs {
		e.fill(q, r)
		rest = append(rest, r)
	}
	slices.SortFunc(rest, func(a, b *Record) int {
		return cmp.Or(cmp.Compare(a.ArrivalNS, b.ArrivalNS), strings.Compare(a.ID, b.ID))
	})
	return rest
}

func (e *Engine) collect() {
	ready := e.s.counters.ready
	e.s.counters.ready = ready[:0]
	for _, q := range ready {
		r := e.jobs[q]
		for _, due := range q.emitted {
			r.DueNS = append(r.DueNS, int64(due))
		}
		q.emitted = q.emitted[:0]
		if q.stage == over {
			e.fill(q, r)
			e.ended = append(e.ended, r)
			delete(e.jobs, q)
		}
	}
}

func (e *Engine) fill(q *seq, r *Record) {
	r.AdmittedNS, r.CachedTokens, r.OutputTokens, r.Preemptions = int64(q.admitted), q.cached, q.out, q.preemptions
	if r.ReasoningTokens = min(r.ReasoningTokens, q.out); r.ReasoningTokens < len(r.DueNS) {
		r.FirstAnswerDueNS = r.DueNS[r.ReasoningTokens]
	}
}

func (e *Engine) Moment() Moment {
	l := e.s.counters
	return Moment{At: e.now, Running: l.running, Waiting: e.s.sim.queueLength(e.now), KVUsage: e.s.kvUsage(),
		Queried: l.queried, Hit: l.hit, Preemptions: l.preemptions, Prompt: l.prompt, Generated: l.generated}
}

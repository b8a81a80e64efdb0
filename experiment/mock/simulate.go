package mock

import (
	"errors"
	"fmt"
	"time"
)

// Job is one request of a simulation.
type Job struct {
	ID     string        // of its Record
	At     time.Duration // when it arrives
	Prompt []int32
	Output int // tokens that it gets
}

// Moment is what /metrics would have said at a time.
type Moment struct {
	At                time.Duration
	Running, Waiting  int
	KVUsage           float64 // share of the blocks that requests hold
	Queried, Hit      int     // counters: prompt tokens looked up in the prefix cache, and found
	Preemptions       int     // counter
	Prompt, Generated int     // counters: tokens
}

// Simulate gives jobs to the engine of c, by itself and in no time: no HTTP, no clock, the same on any machine. jobs stand in the order of
// their arrivals; after names the job that follows one that has ended, not before that, as in a closed loop (nil: none follows); it is to fit like the others.
// It returns the truth about each, in the order of their ends, and how the engine stood every so often until the last was over.
func Simulate(c Config, jobs []Job, after func(*Record) (Job, bool), every time.Duration) ([]*Record, []Moment, error) {
	s, err := New(c)
	if err != nil {
		return nil, nil, err
	}
	if s.sim == nil || every <= 0 {
		return nil, nil, errors.New("mock: a simulation needs an engine without fixed times, and an interval")
	}
	for _, j := range jobs {
		if n := len(j.Prompt) + j.Output; n > s.cfg.MaxModelLen {
			return nil, nil, fmt.Errorf("mock: a job of %d tokens does not fit max_model_len = %d", n, s.cfg.MaxModelLen)
		}
	}
	w := &simulation{s: s, jobs: jobs, after: after, every: every, records: map[*seq]*Record{}}
	w.run()
	return w.ended, w.moments, nil
}

// world is a simulation: its clock is where it has got to.
type simulation struct {
	s       *Server
	jobs    []Job // to come, by arrival
	after   func(*Record) (Job, bool)
	every   time.Duration
	records map[*seq]*Record // of those in the engine
	ended   []*Record
	moments []Moment
}

func (w *simulation) run() {
	look := time.Duration(0)
	next, pending := time.Duration(0), false
	for pending || len(w.jobs) > 0 || len(w.records) > 0 {
		now := look
		if pending {
			now = min(now, next)
		}
		if len(w.jobs) > 0 {
			now = min(now, w.jobs[0].At)
		}
		w.s.sim.advance(now)
		w.collect()
		for len(w.jobs) > 0 && w.jobs[0].At <= now {
			w.arrive(now)
		}
		if next, pending = w.s.sim.advance(now); now == look {
			w.moments = append(w.moments, w.moment(now))
			look += w.every
		}
		w.collect()
	}
}

// arrive gives the first job to the engine.
func (w *simulation) arrive(now time.Duration) {
	j := w.jobs[0]
	w.jobs = w.jobs[1:]
	q := newSeq(w.s.cfg.Seed, w.s.vocab, j.Prompt, now)
	q.want, q.finish = j.Output, "length"
	w.records[q] = &Record{ID: j.ID, ArrivalNS: int64(now), PromptTokens: len(j.Prompt), Finish: q.finish}
	w.s.counters.waiting++
	w.s.sim.add(q)
}

// collect takes the tokens that have come, and the ends with what follows them.
func (w *simulation) collect() {
	ready := w.s.counters.ready
	w.s.counters.ready = nil
	for _, q := range ready {
		r := w.records[q]
		for _, due := range q.emitted {
			r.DueNS = append(r.DueNS, int64(due))
		}
		q.emitted = q.emitted[:0]
		if q.stage != over {
			continue
		}
		r.AdmittedNS, r.CachedTokens, r.OutputTokens, r.Preemptions = int64(q.admitted), q.cached, q.out, q.preemptions
		w.ended = append(w.ended, r)
		delete(w.records, q)
		if w.after == nil {
			continue
		}
		if next, ok := w.after(r); ok {
			w.jobs = append([]Job{next}, w.jobs...)
		}
	}
}

func (w *simulation) moment(at time.Duration) Moment {
	l := w.s.counters
	return Moment{At: at, Running: l.running, Waiting: l.waiting, KVUsage: w.s.kvUsage(), Queried: l.queried, Hit: l.hit,
		Preemptions: l.preemptions, Prompt: l.prompt, Generated: l.generated}
}

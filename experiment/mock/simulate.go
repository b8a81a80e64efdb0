package mock

import (
	"errors"
	"fmt"
	"time"
)

// Job is one request of a simulation.
type Job struct {
	ID     string        // of its Record
	At     time.Duration // arrival
	Prompt []int32
	Output int // output tokens
}

// Moment is the state of the engine at a time, as in /metrics.
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

// simulation is the state of one call of Simulate.
type simulation struct {
	s       *Server
	jobs    []Job // to come, by arrival
	after   func(*Record) (Job, bool)
	every   time.Duration
	records map[*seq]*Record // of sequences in the engine
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

// collect takes emitted tokens and ended sequences, and adds the jobs that follow.
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

package main

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"time"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/load"
	"bench/experiment/mock"
	"bench/experiment/openai"
	"bench/experiment/record"
	"bench/experiment/telemetry"
	"bench/experiment/workload"
	"bench/report"
	"bench/report/foreign"
	"bench/sweep"
	"bench/sweep/matrix"
)

// serve runs the matrix of a world in virtual time, and reads the results.
func (w *world) serve(dir string, seed uint64) (*report.Run, error) {
	m, err := matrix.ParseSet("m.toml", []byte(w.matrix(seed)), nil, matrix.Extension{Table: "mock", Into: &mock.Config{}})
	if err != nil {
		return nil, err
	}
	if dir, err = os.MkdirTemp(dir, "run"); err != nil {
		return nil, err
	}
	info := record.TargetInfo{Endpoint: "predicted", Simulated: true, API: "completions", PromptForm: "token_ids"}
	info.Identity = info.Hash()
	result, err := sweep.Run(context.Background(), m, sweep.Options{
		Out: dir, Predicted: &record.Prediction{}, NoResume: true,
		Server: endpoint.Predicted(m.Target, info, func(*experiment.Spec) (endpoint.Simulator, error) {
			return newServer(w, seed)
		}),
	})
	if err != nil {
		return nil, err
	}
	return foreign.Load(result.Dir)
}

// server is the simulated engine behind a front end, under a CPU quota, with a client that is late.
type server struct {
	w       *world
	sim     *mock.Engine
	rng     *rand.Rand
	vocab   workload.Vocabulary
	begun   time.Duration // of the engine, after the priming
	jobs    map[string]*load.Job
	added   int
	delayed []mock.Job // on their way to the queue, in order
}

func newServer(w *world, seed uint64) (*server, error) {
	sim, err := mock.NewEngine(w.server)
	if err != nil {
		return nil, err
	}
	return &server{w: w, sim: sim, rng: rand.New(rand.NewPCG(seed, 3)), jobs: map[string]*load.Job{},
		vocab: workload.Vocabulary{FirstID: mock.FirstWord, IDs: int32(sim.Config().Vocab) - mock.FirstWord}}, nil
}

func (s *server) Prime(q *workload.Request) {
	s.sim.Add(mock.Job{At: s.begun, Prompt: s.vocab.TokenIDs(nil, q), Output: q.Output})
	r := s.sim.Next(forever)
	s.begun = time.Duration(r.DueNS[len(r.DueNS)-1])
}

const forever = time.Duration(math.MaxInt64)

// runs is how long the server has run by a time, and at the first time when it has run so long.
func (s *server) runs(t time.Duration) time.Duration {
	whole, rest := t/period, t%period
	each := times(period, s.w.quota)
	return s.begun + whole*each + min(rest, each)
}

func (s *server) at(ran time.Duration) time.Duration {
	each := times(period, s.w.quota)
	ran -= s.begun
	whole := ran / each
	return whole*period + ran - whole*each
}

func (s *server) Add(job *load.Job) {
	s.added++
	id := strconv.Itoa(s.added)
	s.jobs[id] = job
	even, exponential := s.rng.Float64(), s.rng.ExpFloat64()
	job.Result.Sent += times(s.w.lag, exponential)
	queued := job.Result.Sent + times(s.w.frontEnd, 0.8+0.4*even)
	arriving := mock.Job{ID: id, At: s.runs(queued), Prompt: s.vocab.TokenIDs(nil, &job.Request),
		Output: job.Request.Output}
	i, _ := slices.BinarySearchFunc(s.delayed, arriving, func(a, b mock.Job) int { return cmp.Compare(a.At, b.At) })
	s.delayed = slices.Insert(s.delayed, i, arriving)
}

func (s *server) Next(until time.Duration) *load.Job {
	if until < forever {
		until = s.runs(until)
	}
	var r *mock.Record
	for r == nil {
		to := until
		if len(s.delayed) > 0 {
			to = min(to, s.delayed[0].At)
		}
		if r = s.sim.Next(to); r != nil {
			break
		}
		if len(s.delayed) == 0 || to < s.delayed[0].At {
			return nil
		}
		s.sim.Add(s.delayed[0])
		s.delayed = s.delayed[1:]
	}
	job := s.take(r)
	job.Result.Outcome, job.Result.Status, job.Result.Finish = openai.OK, 200, r.Finish
	job.Result.End, job.Result.Free = job.Result.Last, job.Result.Last
	return job
}

func (s *server) Drop() (out []*load.Job) {
	for _, r := range s.sim.Rest() {
		out = append(out, s.take(r))
	}
	for _, j := range s.delayed {
		out = append(out, s.jobs[j.ID])
	}
	return out
}

func (s *server) take(r *mock.Record) *load.Job {
	job := s.jobs[r.ID]
	delete(s.jobs, r.ID)
	x := &job.Result
	x.OutputTokens, x.PromptTokens, x.CachedTokens, x.HasUsage, x.HasCached = r.OutputTokens, r.PromptTokens,
		r.CachedTokens, true, true
	for i, due := range r.DueNS {
		at := s.at(time.Duration(due))
		if i == 0 {
			x.FirstEvent, x.First = at, at
		} else {
			x.Gaps = append(x.Gaps, at-x.Last)
		}
		x.Last, x.Events = at, i+1
	}
	return job
}

func (s *server) ReasoningUnknown() bool { return false }

func (s *server) Reading() *telemetry.ServerReading {
	m := s.sim.Moment()
	n := func(v int) *float64 { return new(float64(v)) }
	return &telemetry.ServerReading{Running: n(m.Running), Waiting: n(m.Waiting), KVUsage: &m.KVUsage,
		Preemptions: n(m.Preemptions), PrefixQueries: n(m.Queried), PrefixHits: n(m.Hit), PrefixUnit: "tokens",
		Prompt: n(m.Prompt), Generated: n(m.Generated)}
}

package load

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bench/experiment/openai"
	"bench/experiment/workload"
)

const (
	sec   = time.Second
	milli = time.Millisecond
	never = time.Duration(-1) // a service time: the server does not answer
)

// rig is a server in virtual time, with a log of its requests.
type rig struct {
	service func(*Job) time.Duration
	fails   func(*Job) bool          // nil = none
	leaves  func(*Job) bool          // whether the user has left at the end of service; nil = none
	notices func(*Job) time.Duration // how late the client notices the end of an answer; nil = at once

	mu       sync.Mutex
	inFlight int
	peak     int
	bodies   map[int]string // by request
	causes   map[int]error  // of those whose context ended
	ends     context.Context
	decided  context.Context
	drain    time.Duration // after decided
	overload func() bool   // Config.Overloaded
	encode   func(i int)   // called before each body is made; nil = nothing
	follow   func(i int)   // likewise, of later turns of sessions

	share   workload.Share // and what belongs to it; the zero value = the whole load
	start   func(context.Context) (time.Time, error)
	drained func()
	release context.Context

	jobs    []*Job // in the order of Each
	each    func(*Job) error
	elapsed time.Duration
}

func (r *rig) send(ctx context.Context, job *Job, body []byte, epoch time.Time) {
	r.mu.Lock()
	r.inFlight++
	r.peak = max(r.peak, r.inFlight)
	r.bodies[job.Request.Index] = string(body)
	r.mu.Unlock()
	job.Result.Sent = time.Since(epoch)
	job.Result.Outcome = openai.OK
	if r.fails != nil && r.fails(job) {
		job.Result.Outcome = openai.Status
	}
	if r.leaves != nil && r.leaves(job) {
		job.Result.Outcome = openai.Left
	}
	var answer <-chan time.Time
	if d := r.service(job); d != never {
		answer = time.After(d)
	}
	select {
	case <-answer:
	case <-ctx.Done():
		job.Result.Outcome = openai.Cancelled
		if errors.Is(context.Cause(ctx), openai.ErrUnfinished) {
			job.Result.Outcome = openai.Unfinished
		}
		r.mu.Lock()
		r.causes[job.Request.Index] = context.Cause(ctx)
		r.mu.Unlock()
	}
	job.Result.End = time.Since(epoch)
	job.Result.Free = job.Result.End
	if r.notices != nil {
		<-time.After(r.notices(job))
	}
	r.mu.Lock()
	r.inFlight--
	r.mu.Unlock()
}

// run drives one load against the rig; it must run in a bubble.
func (r *rig) run(ctx context.Context, l workload.Load, w workload.Workload) (Measured, error) {
	r.bodies, r.causes = map[int]string{}, map[int]error{}
	if !w.Input.IsZero() {
		panic("the rig's requests are of one length")
	}
	if w.Trace == nil {
		w.Input, w.Output = workload.Fixed(16), workload.Fixed(1)
	}
	plan := workload.NewPlan(w, 1, "rig")
	defer plan.Close()
	var follow func(first *workload.Request, turn int, job *Job, body []byte) (*Job, []byte)
	if w.HasConversations() {
		follow = func(first *workload.Request, turn int, job *Job, body []byte) (*Job, []byte) {
			if r.follow != nil {
				r.follow(first.Index + turn)
			}
			if job == nil {
				next := plan.Later(first, turn, nil)
				return &Job{Request: next}, []byte{byte(next.Index)}
			}
			if string(body) != string([]byte{byte(job.Request.Index)}) {
				panic("the body is another turn's")
			}
			next := plan.Later(first, turn, &job.Request)
			return &Job{Request: next}, []byte{byte(next.Index)}
		}
	}
	began := time.Now()
	m, err := Run(ctx, Config{
		Load: l, Rate: w.Rate, Plan: plan, Drain: 5 * sec, Follow: follow,
		Encode: func(q *workload.Request) []byte {
			if r.encode != nil {
				r.encode(q.Index)
			}
			return []byte{byte(q.Index)}
		},
		Send: func(ctx context.Context, job *Job, body []byte, epoch time.Time) func() {
			return func() { r.send(ctx, job, body, epoch) }
		},
		Each: func(j *Job) error {
			r.jobs = append(r.jobs, j)
			if r.each != nil {
				return r.each(j)
			}
			return nil
		},
		wait: func(ctx context.Context, t time.Time) { waitTimer(ctx, t) },
		Ends: r.ends, Decided: r.decided, DecidedDrain: r.drain, Overloaded: r.overload,
		Share: r.share, Start: r.start, Drained: r.drained, Release: r.release,
	})
	r.elapsed = time.Since(began)
	return m, err
}

// in returns the requests of a phase in the order of the plan.
func (r *rig) in(p Phase) []*Job {
	var out []*Job
	for _, j := range r.jobs {
		if j.Phase == p {
			out = append(out, j)
		}
	}
	byIndex(out)
	return out
}

// byIndex sorts jobs in the order of the plan.
func byIndex(jobs []*Job) {
	slices.SortFunc(jobs, func(a, b *Job) int { return a.Request.Index - b.Request.Index })
}

func (r *rig) outcomes(p Phase) map[openai.Outcome]int {
	n := map[openai.Outcome]int{}
	for _, j := range r.in(p) {
		n[j.Result.Outcome]++
	}
	return n
}

func always(d time.Duration) func(*Job) time.Duration {
	return func(*Job) time.Duration { return d }
}

// constant is an open loop whose request i arrives at i/rate.
func constant(rate float64) workload.Workload {
	return workload.Workload{Rate: workload.Rate(rate), Arrival: workload.Arrival{Process: "constant"}}
}

// scene runs one load that must succeed, in a bubble of its own.
func scene(t *testing.T, l workload.Load, w workload.Workload, service func(*Job) time.Duration, check func(t *testing.T, r *rig, m Measured)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{service: service}
		m, err := r.run(t.Context(), l, w)
		if err != nil {
			t.Fatal(err)
		}
		check(t, r, m)
	})
}

func wantWindow(t *testing.T, m Measured, start, end time.Duration) {
	t.Helper()
	if m.Start != start || m.End != end {
		t.Errorf("window %v to %v, want %v to %v", m.Start, m.End, start, end)
	}
}

func wantOutcomes(t *testing.T, r *rig, p Phase, ok, unfinished int) {
	t.Helper()
	got := r.outcomes(p)
	if got[openai.OK] != ok || got[openai.Unfinished] != unfinished || len(r.in(p)) != ok+unfinished {
		t.Errorf("phase %d: %v, want %d ok and %d unfinished", p, got, ok, unfinished)
	}
}

var errDisk = errors.New("disk full")

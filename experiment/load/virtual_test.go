package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"bench/experiment/openai"
	"bench/experiment/workload"
)

// delays is an engine that answers each request after a time of its own.
type delays struct {
	service  func(*Job) time.Duration
	inFlight []*Job
}

func (e *delays) Add(job *Job) { e.inFlight = append(e.inFlight, job) }

func (e *delays) Next(until time.Duration) *Job {
	end := func(j *Job) time.Duration { return j.Result.Sent + e.service(j) }
	first := -1
	for i, j := range e.inFlight {
		if e.service(j) != never && end(j) <= until && (first < 0 || end(j) < end(e.inFlight[first])) {
			first = i
		}
	}
	if first < 0 {
		return nil
	}
	job := e.inFlight[first]
	e.inFlight = slices.Delete(e.inFlight, first, first+1)
	job.Result.Outcome, job.Result.End = openai.OK, end(job)
	job.Result.Free = job.Result.End
	return job
}

func (e *delays) Drop() []*Job { return e.inFlight }

// virtually is what Simulate makes of a load: its requests in the order of the plan.
func virtually(ctx context.Context, l workload.Load, w workload.Workload, service func(*Job) time.Duration, decided context.Context,
	each func(*Job) error, overload ...func() bool) ([]*Job, Measured, error) {
	if w.Trace == nil {
		w.Input, w.Output = workload.Fixed(16), workload.Fixed(1)
	}
	plan := workload.NewPlan(w, 1, "rig")
	defer plan.Close()
	var follow func(*workload.Request, int, *Job, []byte) (*Job, []byte)
	if w.HasConversations() {
		follow = func(first *workload.Request, turn int, before *Job, _ []byte) (*Job, []byte) {
			var continued *workload.Request
			if before != nil {
				continued = &before.Request
			}
			return &Job{Request: plan.Later(first, turn, continued)}, nil
		}
	}
	var jobs []*Job
	c := Config{Load: l, Rate: w.Rate, Plan: plan, Follow: follow, Decided: decided, Each: func(j *Job) error {
		jobs = append(jobs, j)
		return each(j)
	}}
	if len(overload) > 0 {
		c.Overloaded = overload[0]
	}
	m, err := Simulate(ctx, c, &delays{service: service})
	byIndex(jobs)
	return jobs, m, err
}

func nothing(*Job) error { return nil }

// history is what became of the requests of the warm-up and the window, and the window. Whether a row was cut is open
// if its window ends at the same moment.
func history(l workload.Load, jobs []*Job, m Measured) string {
	var s strings.Builder
	fmt.Fprintf(&s, "window %v to %v, cut %v\n", m.Start, m.End, m.Cut && m.End != time.Duration(l.MaxDuration))
	for _, j := range jobs {
		if j.Phase != Cooldown {
			fmt.Fprintln(&s, j.Request.Index, j.Request.Turn, j.Phase, j.At, j.Ready, j.Result.Sent, j.Result.Outcome, j.Result.End)
		}
	}
	return s.String()
}

// In virtual time a load runs as Run drives it, if the client is never late.
func TestSimulateIsRun(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(r *rapid.T) {
		some := func(what string, most int) int { return rapid.IntRange(0, most).Draw(r, what) }
		l := workload.Load{
			Concurrency: some("concurrency", 4), Duration: workload.Span(time.Duration(some("duration", 6)) * sec),
			Requests: some("requests", 20), Grace: workload.Span(time.Duration(1+some("grace", 5)) * sec),
		}
		if rapid.Bool().Draw(r, "warm-up by count") {
			l.Warmup.Requests = some("warm-up", 5)
		} else {
			l.Warmup.Time = workload.Span(time.Duration(some("warm-up", 3)) * sec)
		}
		if l.Duration == 0 && l.Requests == 0 {
			l.Requests = 7
		}
		if rapid.Bool().Draw(r, "cut") {
			l.MaxDuration = l.Warmup.Time + l.Duration + workload.Span(time.Duration(some("cut after", 17000))*milli+333*time.Microsecond)
		}
		w := workload.Workload{}
		if l.Concurrency == 0 || rapid.Bool().Draw(r, "open") {
			w = constant(0.7 + float64(some("rate", 50))/10)
		} else if l.MaxDuration == 0 && l.Concurrency == 1 && rapid.Bool().Draw(r, "idle") {
			l.Idle = workload.Span(time.Duration(some("pause", 900)) * milli)
		}
		if l.Idle == 0 && rapid.Bool().Draw(r, "conversations") {
			w.Session = &workload.Session{
				Turns: workload.Turns{Length: workload.Fixed(1 + some("turns", 3))}, User: workload.Fixed(3),
				Think: workload.Think{Dist: "fixed", Mean: workload.Seconds(float64(some("think", 2000)) / 997)},
			}
		}
		if l.Idle == 0 && w.Session == nil && rapid.Bool().Draw(r, "graphs") {
			var sessions [][]step
			for range 1 + some("sessions", 5) {
				graph := drawSession(r)
				for i := range graph { // no two arrivals at the same time
					graph[i].wait += time.Duration((i + 1) * (len(sessions) + 2) * 104_729)
					if i > 0 && graph[i].parents == nil {
						graph[i].wait += graph[0].wait
					}
				}
				sessions = append(sessions, graph)
			}
			w.Trace = sessionsOf(dir, sessions...).Trace
		}
		longest := 1 + some("service", 4000)
		service := func(j *Job) time.Duration { // no two ends at the same time
			return time.Duration(1+(j.Request.Index*7919+j.Request.Turn*104729)%longest)*milli + time.Duration((j.Request.Index+3)*(j.Request.Index+17)*48271%999_983)
		}
		var overload func() bool
		if rapid.Bool().Draw(r, "overloaded") {
			overload = func() bool { return true }
		}
		var want string
		synctest.Test(t, func(t *testing.T) {
			g := &rig{service: service, overload: overload}
			m, err := g.run(t.Context(), l, w)
			if err != nil {
				r.Fatal(err)
			}
			byIndex(g.jobs)
			want = history(l, g.jobs, m)
		})
		jobs, m, err := virtually(t.Context(), l, w, service, nil, nothing, overload)
		if err != nil {
			r.Fatal(err)
		}
		if got := history(l, jobs, m); got != want {
			r.Fatalf("%+v\nin virtual time\n%s\nin a bubble\n%s", l, got, want)
		}
	})
}

// A row that is cut before its window begins has an empty window, not one that ends before it starts.
func TestCutBeforeTheWindow(t *testing.T) {
	l := workload.Load{Warmup: workload.Extent{Requests: 1}, Requests: 7, MaxDuration: workload.Span(sec)}
	_, m, err := virtually(t.Context(), l, constant(0.7), always(milli), nil, nothing)
	if err != nil {
		t.Fatal(err)
	}
	wantWindow(t, m, sec, sec)
	scene(t, l, constant(0.7), always(milli), func(t *testing.T, _ *rig, m Measured) { wantWindow(t, m, sec, sec) })
}

func TestSimulateEnds(t *testing.T) {
	l := workload.Load{Concurrency: 2, Requests: 1 << 20}
	service := always(sec)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	if _, _, err := virtually(ctx, l, workload.Workload{}, service, nil, func(*Job) error {
		if n++; n == 100 {
			cancel()
		}
		return nil
	}); !errors.Is(err, context.Canceled) || n > 100+2*checkEvery {
		t.Errorf("after the interruption: %v, %d requests", err, n)
	}
	if _, _, err := virtually(t.Context(), l, workload.Workload{}, service, nil, func(*Job) error { return errDisk }); !errors.Is(err, errDisk) {
		t.Error(err)
	}
	if _, _, err := virtually(t.Context(), workload.Load{Concurrency: 1, Requests: 1}, workload.Workload{}, always(never), nil, nothing); err != nil {
		t.Error("a server that hangs:", err)
	}
	decided, decide := context.WithCancel(t.Context())
	n = 0
	jobs, m, err := virtually(t.Context(), l, workload.Workload{}, service, decided, func(*Job) error {
		if n++; n == 5 {
			decide()
		}
		return nil
	})
	if err != nil || m.End != 3*sec || len(jobs) != 6 || jobs[5].Result.Error != errDecided.Error() {
		t.Errorf("%v, window %+v, %d requests", err, m, len(jobs))
	}
}

// Two workers that become free at the same time take the two requests that wait, and neither begins before.
func TestSimulateTwoFreeAtOnce(t *testing.T) {
	service := func(j *Job) time.Duration { return sec - j.Request.At%sec } // all end at whole seconds
	l := workload.Load{Concurrency: 2, Requests: 8}
	jobs, _, err := virtually(t.Context(), l, constant(4), service, nil, nothing)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range jobs {
		inFlight := 0
		for _, other := range jobs {
			if other.Result.Sent <= j.Result.Sent && j.Result.Sent < other.Result.End {
				inFlight++
			}
		}
		if inFlight > l.Concurrency || j.Result.Sent != j.Ready {
			t.Errorf("request %d: %d in flight at %v, ready %v", j.Request.Index, inFlight, j.Result.Sent, j.Ready)
		}
	}
}

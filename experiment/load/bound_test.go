package load

import (
	"testing"
	"testing/synctest"
	"time"

	"bench/experiment/openai"
	"bench/experiment/workload"
)

// Whatever the load and the server, the row ends after MaxDuration.
func TestMaxDuration(t *testing.T) {
	const longest = workload.Span(30 * sec)
	tests := []struct {
		name       string
		load       workload.Load
		w          workload.Workload
		service    func(*Job) time.Duration
		start, end time.Duration
		ok, left   int
		cut        bool
		took       time.Duration
	}{
		{"requests against a stalled server", workload.Load{Concurrency: 2, Requests: 10}, workload.Workload{}, always(never), 0, 30 * sec, 0, 2, true, 30 * sec},
		{"counted warm-up against a stalled server", workload.Load{Concurrency: 2, Warmup: workload.Extent{Requests: 4}, Requests: 10}, workload.Workload{}, always(never), 30 * sec, 30 * sec, 0, 0, true, 30 * sec},
		{"requests that take too long", workload.Load{Concurrency: 2, Requests: 100}, workload.Workload{}, always(4 * sec), 0, 30 * sec, 14, 2, true, 30 * sec},
		{"in the grace period", workload.Load{Duration: workload.Span(20 * sec)}, constant(1), always(31 * sec / 2), 0, 20 * sec, 15, 5, true, 30 * sec},
		{"an open loop of many requests", workload.Load{Requests: 1000}, constant(1), always(sec / 2), 0, 30 * sec, 30, 0, true, 30 * sec},
		{"under a cap", workload.Load{Concurrency: 1, Requests: 1000}, constant(1), always(never), 0, 30 * sec, 0, 30, true, 30 * sec},
		{"all at once", workload.Load{Requests: 5}, inf, always(never), 0, 30 * sec, 0, 5, true, 30 * sec},
		{"users", workload.Load{Concurrency: 2, Requests: 1000}, conversations(3, 10*sec), always(sec), 0, 30 * sec, 8, 0, true, 30 * sec},
		{"in time", workload.Load{Concurrency: 2, Requests: 10}, workload.Workload{}, always(sec), 0, 5 * sec, 10, 0, false, 5 * sec},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.load.MaxDuration = longest
			scene(t, tt.load, tt.w, tt.service, func(t *testing.T, r *rig, m Measured) {
				wantWindow(t, m, tt.start, tt.end)
				wantOutcomes(t, r, Window, tt.ok, tt.left)
				if m.Cut != tt.cut || r.elapsed != tt.took {
					t.Errorf("cut %t, took %v", m.Cut, r.elapsed)
				}
			})
		})
	}
}

// Workers back off from a server that only fails; an open loop without a cap keeps its schedule.
func TestFailingServerIsNotHammered(t *testing.T) {
	sent := func(l workload.Load, w workload.Workload, fails func(*Job) bool) int {
		r := &rig{service: always(milli), fails: fails}
		synctest.Test(t, func(t *testing.T) {
			if _, err := r.run(t.Context(), l, w); err != nil {
				t.Fatal(err)
			}
		})
		return len(r.in(Window))
	}
	all := func(*Job) bool { return true }
	// In 10 s a worker whose requests take 1 ms and then a pause of 100 ms makes 99, after the 8 without a
	// pause.
	if n := sent(workload.Load{Concurrency: 2, Duration: workload.Span(10 * sec)}, workload.Workload{}, all); n < 190 || n > 210 {
		t.Errorf("closed loop: %d requests", n)
	}
	if n := sent(workload.Load{Concurrency: 2, Duration: workload.Span(10 * sec)}, constant(200), all); n != 2000 {
		t.Errorf("capped: %d requests in the plan", n)
	}
	if n := sent(workload.Load{Duration: workload.Span(10 * sec)}, constant(200), all); n != 2000 {
		t.Errorf("open loop: %d requests", n)
	}
	some := func(j *Job) bool { return j.Request.Index%8 > 0 }
	if n := sent(workload.Load{Concurrency: 1, Duration: workload.Span(10 * sec)}, workload.Workload{}, some); n != 10_000 {
		t.Errorf("seven of eight fail: %d requests", n)
	}
}

// A cold start: one worker that pauses before each request, and does not wait behind the last.
func TestIdle(t *testing.T) {
	l := workload.Load{Concurrency: 1, Idle: workload.Span(10 * sec), Warmup: workload.Extent{Requests: 1}, Requests: 3}
	scene(t, l, workload.Workload{}, always(2*sec), func(t *testing.T, r *rig, m Measured) {
		wantWindow(t, m, 22*sec, 48*sec)
		wantOutcomes(t, r, Warmup, 1, 0)
		wantOutcomes(t, r, Window, 3, 0)
		for i, j := range r.jobs {
			if at := 10*sec + time.Duration(i)*12*sec; j.At != at || j.Ready != at || j.Result.Sent != at {
				t.Errorf("request %d: at %v, ready %v, sent %v, want %v", i, j.At, j.Ready, j.Result.Sent, at)
			}
		}
		if r.elapsed != 48*sec {
			t.Errorf("took %v", r.elapsed)
		}
	})
	l = workload.Load{Concurrency: 1, Idle: workload.Span(10 * sec), Requests: 30, Duration: workload.Span(25 * sec)}
	scene(t, l, workload.Workload{}, always(sec), func(t *testing.T, r *rig, m Measured) {
		wantWindow(t, m, 0, 25*sec)
		if got := r.outcomes(Window); got[openai.OK] != 2 || len(r.jobs) != 2 {
			t.Errorf("%v of %d", got, len(r.jobs))
		}
	})
}

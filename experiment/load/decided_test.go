package load

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bench/experiment/workload"
)

// A decided row ends at once: what is in flight is cancelled, nothing is sent any more, and requests that were never
// sent are not counted. A server that can't be seen idle finishes what it has.
func TestDecided(t *testing.T) {
	for _, c := range []struct {
		name         string
		load         workload.Load
		w            workload.Workload
		service      time.Duration
		drain        time.Duration
		end, elapsed time.Duration
		ok, cut      int
	}{
		{"closed loop", workload.Load{Concurrency: 3, Duration: workload.Span(40 * sec)}, workload.Workload{}, 2 * sec, 0, 9 * sec, 9 * sec, 12, 3},
		{"open loop", workload.Load{Duration: workload.Span(40 * sec)}, constant(2), 5 * sec, 0, 9 * sec, 9 * sec, 8, 10},
		{"under a cap", workload.Load{Concurrency: 1, Duration: workload.Span(40 * sec)}, constant(2), 2 * sec, 0, 9 * sec, 9 * sec, 4, 1},
		{"stalled", workload.Load{Duration: workload.Span(40 * sec)}, constant(2), never, 0, 9 * sec, 9 * sec, 0, 18},
		{"in the cool-down", workload.Load{Duration: workload.Span(4 * sec)}, constant(2), 7 * sec, 0, 4 * sec, 9 * sec, 4, 4},
		{"server that is never seen idle", workload.Load{Duration: workload.Span(40 * sec)}, constant(2), 5 * sec, 20 * sec, 9 * sec, 13500 * milli, 18, 0},
		{"stalled and never seen idle", workload.Load{Duration: workload.Span(40 * sec)}, constant(2), never, 20 * sec, 9 * sec, 29 * sec, 0, 18},
		{"before the window", workload.Load{Warmup: workload.Extent{Time: workload.Span(20 * sec)}, Duration: workload.Span(40 * sec)}, constant(2), sec, 0, 9 * sec, 9 * sec, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				decided, decide := context.WithCancel(t.Context())
				defer decide()
				// Beside no event of the load, which comes at full and half seconds.
				time.AfterFunc(9*sec-milli, decide)
				r := &rig{service: always(c.service), decided: decided, drain: c.drain}
				m, err := r.run(t.Context(), c.load, c.w)
				if err != nil {
					t.Fatal(err)
				}
				if near := func(a, b time.Duration) bool { return (a - b).Abs() <= milli }; !near(m.End, c.end) || !near(r.elapsed, c.elapsed) {
					t.Errorf("window to %v, took %v, want %v and %v", m.End, r.elapsed, c.end, c.elapsed)
				}
				wantOutcomes(t, r, Window, c.ok, c.cut)
				for i, cause := range r.causes {
					if !strings.Contains(cause.Error(), "decided") {
						t.Errorf("request %d ended with %v", i, cause)
					}
				}
				for _, j := range r.jobs {
					if j.Result.Sent > 9*sec {
						t.Errorf("request %d was sent at %v, after the decision", j.Request.Index, j.Result.Sent)
					}
				}
			})
		})
	}
}

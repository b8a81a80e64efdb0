package load

import (
	"testing"
	"testing/synctest"
	"time"

	"bench/experiment/workload"
)

// The window's requests of an overloaded row go on, those under a cap also begin; what is behind the window is not sent
// any more. It is asked for after an end behind the window, and not again once it is true.
func TestOverloaded(t *testing.T) {
	l := workload.Load{Warmup: workload.Extent{Time: workload.Span(sec)}, Duration: workload.Span(4 * sec)}
	capped := l
	capped.Concurrency = 2
	for _, c := range []struct {
		name     string
		load     workload.Load
		service  time.Duration
		after    int // which question is answered with yes
		cooldown int // requests sent
		took     time.Duration
	}{
		{"at the first end behind the window", l, 6800 * milli, 1, 4, 11300 * milli}, // at 6.8 s
		{"later", l, 6800 * milli, 3, 6, 11300 * milli},                              // at 7.8 s
		{"never", l, 6800 * milli, 99, 13, 11300 * milli},
		{"at once", l, 1200 * milli, 1, 1, 5700 * milli}, // the request that closes the window is sent before an end
		{"under a cap", capped, 2100 * milli, 1, 1, 11 * sec},
	} {
		t.Run(c.name, func(t *testing.T) {
			now, asked := func() time.Duration { return 0 }, 0
			overload := func() bool {
				if asked++; asked > c.after || now() < 5*sec {
					t.Errorf("question %d at %v", asked, now())
				}
				return asked == c.after
			}
			check := func(jobs []*Job, m Measured, took time.Duration) {
				t.Helper()
				sent := 0
				for _, j := range jobs {
					if j.Phase == Cooldown {
						sent++
					}
				}
				in := func(p Phase) (ok int) {
					for _, j := range jobs {
						if j.Phase == p && j.Result.End-j.Result.Sent == c.service {
							ok++
						}
					}
					return ok
				}
				capRace := c.load.Concurrency > 0 && sent < c.cooldown // the worker that became free by the end that was the answer
				if sent != c.cooldown && !capRace || in(Warmup) != 2 || in(Window) != 8 || (took-c.took).Abs() > 10*milli {
					t.Errorf("%d of the cool-down, %d of the window, took %v", sent, in(Window), took)
				}
				wantWindow(t, m, sec, 5*sec)
			}
			synctest.Test(t, func(t *testing.T) {
				epoch := time.Now()
				now = func() time.Duration { return time.Since(epoch) }
				r := &rig{service: always(c.service), overload: overload}
				m, err := r.run(t.Context(), c.load, constant(2))
				if err != nil {
					t.Fatal(err)
				}
				check(r.jobs, m, r.elapsed)
			})
			asked = 0
			last := time.Duration(0)
			now = func() time.Duration { return last }
			jobs, m, err := virtually(t.Context(), c.load, constant(2), always(c.service), nil, func(j *Job) error {
				last = max(last, j.Result.End)
				return nil
			}, overload)
			if err != nil {
				t.Fatal(err)
			}
			check(jobs, m, last)
		})
	}
}

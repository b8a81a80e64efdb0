package load

import (
	"testing"
	"testing/synctest"
	"time"

	"bench/experiment/workload"
)

func TestClosedLoopKeepsExactlyN(t *testing.T) {
	for _, n := range []int{1, 2, 7, 200} {
		// Service times differ, so that workers become free at different moments.
		service := func(j *Job) time.Duration { return time.Duration(50+j.Request.Index%7*10) * milli }
		scene(t, workload.Load{Concurrency: n, Duration: workload.Span(10 * sec)}, workload.Workload{}, service, func(t *testing.T, r *rig, m Measured) {
			wantWindow(t, m, 0, 10*sec)
			if r.peak != n {
				t.Errorf("concurrency %d: %d in flight", n, r.peak)
			}
			// Each worker is busy all the time: a request starts at the moment that another ends.
			busy := time.Duration(0)
			ends := map[time.Duration]int{0: n}
			for _, j := range r.jobs {
				ends[j.Result.End]++
				busy += min(j.Result.End, 10*sec) - min(j.Result.Sent, 10*sec)
			}
			if busy != time.Duration(n)*10*sec {
				t.Errorf("concurrency %d: workers were busy for %v of %v", n, busy, time.Duration(n)*10*sec)
			}
			for _, j := range r.jobs {
				if ends[j.At]--; ends[j.At] < 0 {
					t.Fatalf("request %d arrived at %v, when no worker became free", j.Request.Index, j.At)
				}
				if j.Ready != j.At || j.Result.Sent != j.At {
					t.Fatalf("request %d: at %v, ready %v, sent %v", j.Request.Index, j.At, j.Ready, j.Result.Sent)
				}
			}
		})
	}
}

func TestClosedLoopPhases(t *testing.T) {
	tests := []struct {
		name           string
		load           workload.Load
		warmup, window int
		start, end     time.Duration
	}{
		// Requests of 1 s on 2 workers.
		{"by time", workload.Load{Warmup: workload.Extent{Time: workload.Span(3 * sec)}, Duration: workload.Span(5 * sec)}, 6, 10, 3 * sec, 8 * sec},
		{"off the beat", workload.Load{Warmup: workload.Extent{Time: workload.Span(2500 * milli)}, Duration: workload.Span(5 * sec)}, 6, 10, 2500 * milli, 7500 * milli},
		{"by requests", workload.Load{Warmup: workload.Extent{Requests: 4}, Requests: 6}, 4, 6, 2 * sec, 5 * sec},
		{"by both, the time later", workload.Load{Warmup: workload.Extent{Time: workload.Span(3 * sec), Requests: 4}, Duration: workload.Span(5 * sec)}, 6, 10, 3 * sec, 8 * sec},
		{"by both, the requests later", workload.Load{Warmup: workload.Extent{Time: workload.Span(sec), Requests: 6}, Duration: workload.Span(5 * sec)}, 6, 10, 3 * sec, 8 * sec},
		{"requests before duration", workload.Load{Duration: workload.Span(60 * sec), Requests: 6}, 0, 6, 0, 3 * sec},
		{"duration before requests", workload.Load{Duration: workload.Span(3 * sec), Requests: 600}, 0, 6, 0, 3 * sec},
		{"more workers than requests", workload.Load{Requests: 1}, 0, 1, 0, sec}, // all at once: to the end of the last
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.load.Concurrency = 2
			scene(t, tt.load, workload.Workload{}, always(sec), func(t *testing.T, r *rig, m Measured) {
				wantWindow(t, m, tt.start, tt.end)
				if got := len(r.in(Warmup)); got != tt.warmup {
					t.Errorf("%d of the warm-up, want %d", got, tt.warmup)
				}
				wantOutcomes(t, r, Window, tt.window, 0)
			})
		})
	}
}

// After the window the other workers stay loaded until its last request has ended; then the rest is
// cancelled.
func TestClosedLoopRunsOnAfterTheWindow(t *testing.T) {
	service := func(j *Job) time.Duration {
		if j.Request.Index == 0 {
			return 9500 * milli
		}
		return sec
	}
	scene(t, workload.Load{Concurrency: 2, Duration: workload.Span(5 * sec)}, workload.Workload{}, service, func(t *testing.T, r *rig, m Measured) {
		wantWindow(t, m, 0, 5*sec)
		wantOutcomes(t, r, Window, 6, 0)
		wantOutcomes(t, r, Cooldown, 4, 1)
		if r.elapsed != 9500*milli {
			t.Errorf("ended after %v", r.elapsed)
		}
	})
}

func TestClosedLoopAgainstAStalledServer(t *testing.T) {
	tests := []struct {
		name       string
		load       workload.Load
		service    func(*Job) time.Duration
		unfinished int
		end, took  time.Duration
	}{
		{"from the start", workload.Load{Duration: workload.Span(10 * sec), Grace: workload.Span(3 * sec)}, always(never), 4, 10 * sec, 13 * sec},
		{"in the warm-up", workload.Load{Warmup: workload.Extent{Time: workload.Span(2 * sec)}, Duration: workload.Span(10 * sec)}, always(never), 0, 12 * sec, 132 * sec},
		{"after the requests", workload.Load{Requests: 4, Grace: workload.Span(3 * sec)}, always(never), 4, 3 * sec, 3 * sec},
		{"after the requests, before the duration", workload.Load{Requests: 4, Duration: workload.Span(2 * sec), Grace: workload.Span(3 * sec)}, always(never), 4, 2 * sec, 3 * sec},
		{"half way", workload.Load{Duration: workload.Span(10 * sec), Grace: workload.Span(3 * sec)}, func(j *Job) time.Duration {
			if j.At >= 5*sec {
				return never
			}
			return sec
		}, 4, 10 * sec, 13 * sec},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.load.Concurrency = 4
			scene(t, tt.load, workload.Workload{}, tt.service, func(t *testing.T, r *rig, m Measured) {
				if m.End != tt.end {
					t.Errorf("window ends at %v, want %v", m.End, tt.end)
				}
				if r.elapsed != tt.took {
					t.Errorf("took %v, want %v", r.elapsed, tt.took)
				}
				if got := r.outcomes(Window)["unfinished"]; got != tt.unfinished {
					t.Errorf("%d unfinished, want %d", got, tt.unfinished)
				}
			})
		})
	}
}

// stopped makes the client notice nothing in [from, to), as under SIGSTOP.
func stopped(from, to time.Duration) func(*Job) time.Duration {
	return func(j *Job) time.Duration {
		if at := j.Result.Free; at >= from && at < to {
			return to - at
		}
		return 0
	}
}

// A client that was stopped shows that time as lag: each request is due when its worker's answer came, in
// whatever order the workers notice. The window gets all that was due in it, also if the client sleeps
// through its end.
func TestStoppedClientShowsLag(t *testing.T) {
	for name, from := range map[string]time.Duration{"in the window": 5050 * milli, "at its end": 9550 * milli} {
		for _, n := range []int{1, 2, 8} {
			synctest.Test(t, func(t *testing.T) {
				to := from + sec
				r := &rig{notices: stopped(from, to), service: func(j *Job) time.Duration {
					return time.Duration(100+j.Request.Index%7*20) * milli
				}}
				m, err := r.run(t.Context(), workload.Load{Concurrency: n, Duration: workload.Span(10 * sec)}, workload.Workload{})
				if err != nil {
					t.Fatal(err)
				}
				wantWindow(t, m, 0, 10*sec)
				free, late := map[time.Duration]int{0: n}, 0
				for _, j := range r.jobs {
					free[j.Result.Free]++
				}
				for _, j := range r.jobs {
					if free[j.At]--; free[j.At] < 0 {
						t.Errorf("%s, %d workers: request %d is due at %v, when no answer came", name, n, j.Request.Index, j.At)
					}
					want := j.At
					if j.At >= from && j.At < to {
						want = to
						late++
					}
					if j.Ready != j.At || j.Result.Sent != want {
						t.Errorf("%s, %d workers: request %d: at %v, ready %v, sent %v, want %v", name, n, j.Request.Index, j.At, j.Ready, j.Result.Sent, want)
					}
					if inside := j.At < 10*sec; inside != (j.Phase == Window) {
						t.Errorf("%s, %d workers: request %d, due at %v: phase %d", name, n, j.Request.Index, j.At, j.Phase)
					}
				}
				for at, left := range free {
					if left > 0 && at < 10*sec {
						t.Errorf("%s, %d workers: the worker that became free at %v took no request", name, n, at)
					}
				}
				if late < 1 {
					t.Errorf("%s, %d workers: no request was due in the pause", name, n)
				}
			})
		}
	}
}

// Under a cap too a request is ready when the answer came that its worker waited for.
func TestStoppedClientUnderACap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{service: always(700 * milli), notices: stopped(5*sec, 6*sec)}
		if _, err := r.run(t.Context(), workload.Load{Concurrency: 2, Duration: workload.Span(10 * sec)}, constant(4)); err != nil {
			t.Fatal(err)
		}
		late := 0
		for _, j := range r.in(Window) {
			if lag := j.Result.Sent - j.Ready; lag > 0 {
				late++
				if j.Ready < 5*sec || j.Result.Sent != 6*sec {
					t.Errorf("request %d: ready %v, sent %v", j.Request.Index, j.Ready, j.Result.Sent)
				}
			}
		}
		if late != 2 {
			t.Errorf("%d requests show lag; each of the 2 workers became free once in the pause", late)
		}
	})
}

// A request that was due in the window is sent even if its worker is the last to notice: the other one has
// closed the window by then, and nothing else keeps the row.
func TestLastWorkerToNotice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{
			service: func(j *Job) time.Duration { return time.Duration(9600+600*(j.Request.Index%2)) * milli },
			notices: func(j *Job) time.Duration { return 11*sec - j.Result.Free + time.Duration(1-j.Request.Index%2)*milli },
		}
		if _, err := r.run(t.Context(), workload.Load{Concurrency: 2, Duration: workload.Span(10 * sec), Grace: workload.Span(30 * sec)}, workload.Workload{}); err != nil {
			t.Fatal(err)
		}
		if w := r.in(Window); len(w) != 3 || w[2].At != 9600*milli || w[2].Result.Sent != 11001*milli {
			t.Errorf("%d requests in the window; the third is due at 9.6 s", len(w))
		}
	})
}

// Counts stay exact when workers are noticed in another order than they became free.
func TestCountsInDisorder(t *testing.T) {
	for _, l := range []workload.Load{{Warmup: workload.Extent{Requests: 10}, Requests: 40}, {Warmup: workload.Extent{Requests: 7}, Duration: workload.Span(3 * sec)}} {
		l.Concurrency = 8
		synctest.Test(t, func(t *testing.T) {
			r := &rig{
				service: func(j *Job) time.Duration { return time.Duration(100+j.Request.Index*37%11) * milli },
				notices: func(j *Job) time.Duration { return time.Duration(j.Request.Index*53%17) * milli },
			}
			m, err := r.run(t.Context(), l, workload.Workload{})
			if err != nil {
				t.Fatal(err)
			}
			back := 0
			for i, j := range r.in(Window) {
				if i > 0 && j.At < r.in(Window)[i-1].At {
					back++
				}
			}
			if back == 0 {
				t.Error("all arrivals are in order: nothing is tested")
			}
			if n := len(r.in(Warmup)); n != l.Warmup.Requests || l.Requests > 0 && len(r.in(Window)) != l.Requests || l.Duration > 0 && m.End-m.Start != 3*sec {
				t.Errorf("%d of warm-up, %d in the window of %v", n, len(r.in(Window)), m.End-m.Start)
			}
		})
	}
}

package load

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"bench/experiment/workload"
)

func TestInterruption(t *testing.T) {
	type kind struct {
		name string
		load workload.Load
		w    workload.Workload
	}
	kinds := []kind{
		{"closed", workload.Load{Concurrency: 4, Duration: workload.Span(60 * sec)}, workload.Workload{}},
		{"open", workload.Load{Duration: workload.Span(60 * sec)}, constant(10)},
		{"capped", workload.Load{Concurrency: 4, Duration: workload.Span(60 * sec)}, constant(10)},
		{"all at once, capped", workload.Load{Concurrency: 4, Requests: 1000}, inf},
	}
	for _, k := range kinds {
		for service, took := range map[time.Duration]time.Duration{3 * sec: 3 * sec, never: 5 * sec, 300 * milli: 300 * milli} {
			t.Run(k.name+" "+service.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					const at = 10*sec + 50*milli
					time.AfterFunc(at, cancel)
					r := &rig{service: always(service)}
					_, err := r.run(ctx, k.load, k.w)
					if !errors.Is(err, context.Canceled) {
						t.Fatalf("error %v", err)
					}
					// Requests in flight may drain; nothing more is sent.
					if r.elapsed < at || r.elapsed > at+took {
						t.Errorf("took %v: %v after the interruption", r.elapsed, r.elapsed-at)
					}
					for _, j := range r.jobs {
						if j.Result.Sent > at {
							t.Errorf("request %d was sent at %v, after the interruption", j.Request.Index, j.Result.Sent)
						}
						if cause := r.causes[j.Request.Index]; (cause != nil) != (service == never) {
							t.Errorf("request %d: cancelled by %v", j.Request.Index, cause)
						}
					}
					if len(r.jobs) != len(r.bodies) {
						t.Errorf("%d sent, %d came back", len(r.bodies), len(r.jobs))
					}
				})
			})
		}
	}
}

// A worker that becomes free at the very moment of the interruption starts nothing.
func TestInterruptionWhileSlotsFree(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			r := &rig{service: func(j *Job) time.Duration {
				if j.Request.Index == 0 {
					cancel()
					return 0
				}
				return milli
			}}
			if _, err := r.run(ctx, workload.Load{Concurrency: 1, Requests: 1000}, workload.Workload{}); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if len(r.bodies) != 1 {
				t.Fatalf("%d requests were sent after the interruption", len(r.bodies)-1)
			}
		})
	}
}

func TestInterruptedBeforeTheStart(t *testing.T) {
	for _, w := range []workload.Workload{{}, constant(10), inf} {
		for range 20 {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				r := &rig{service: always(never)}
				if _, err := r.run(ctx, workload.Load{Concurrency: 4, Requests: 1000}, w); !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
				if len(r.bodies) != 0 {
					t.Fatalf("%d requests were sent", len(r.bodies))
				}
			})
		}
	}
}

func TestErrorOfEachEndsTheRun(t *testing.T) {
	for name, w := range map[string]workload.Workload{"closed": {}, "capped": constant(100), "all at once": inf} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				r := &rig{service: func(j *Job) time.Duration {
					if j.Request.Index%4 == 1 {
						return never
					}
					return sec
				}}
				r.each = func(*Job) error {
					if calls++; calls == 5 {
						return errDisk
					}
					return nil
				}
				_, err := r.run(t.Context(), workload.Load{Concurrency: 8, Requests: 1000}, w)
				if err != errDisk {
					t.Fatalf("error %v", err)
				}
				if calls != 5 || r.elapsed > sec+100*milli {
					t.Errorf("%d calls of Each; took %v", calls, r.elapsed)
				}
				for i, cause := range r.causes {
					if cause != errDisk {
						t.Errorf("request %d was cancelled by %v", i, cause)
					}
				}
			})
		})
	}
}

// More requests end at once than the channel to Each can buffer.
func TestSlowEachBlocksNothingForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{service: always(sec)}
		r.each = func(*Job) error { <-time.After(milli); return nil }
		if _, err := r.run(t.Context(), workload.Load{Requests: 5000}, inf); err != nil || len(r.jobs) != 5000 {
			t.Fatal(len(r.jobs), err)
		}
	})
}

func TestBodiesBelongToTheirRequests(t *testing.T) {
	scene(t, workload.Load{Concurrency: 3, Requests: 400}, workload.Workload{}, always(milli), func(t *testing.T, r *rig, m Measured) {
		for i, b := range r.bodies {
			if b != string([]byte{byte(i)}) {
				t.Fatalf("request %d was sent the body of %v", i, []byte(b))
			}
		}
	})
}

// TestConservation drives loads of every kind against servers of every kind: each planned arrival of the
// window comes back exactly once, in the planned phase and at the planned time; no worker has two requests;
// and the run ends in time.
func TestConservation(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l, w, stalls := drawLoad(rt)
		seed := rapid.Uint64Range(0, 1000).Draw(rt, "service")
		mean := rapid.SampledFrom([]time.Duration{0, 10 * milli, 300 * milli, 3 * sec}).Draw(rt, "mean")
		r := &rig{service: func(j *Job) time.Duration {
			x := (uint64(j.Request.Index)*0x9e3779b97f4a7c15 + seed) >> 7 % 100
			if stalls && x < 3 {
				return never
			}
			return milli + mean*time.Duration(x)/50 // with zero service time a closed loop would never reach its end
		}}
		var m Measured
		var err error
		synctest.Test(t, func(t *testing.T) { m, err = r.run(t.Context(), l, w) })
		if err != nil {
			rt.Fatal(err)
		}
		r.conserved(rt, l, w, m)
	})
}

func drawLoad(rt *rapid.T) (l workload.Load, w workload.Workload, stalls bool) {
	workers := rapid.IntRange(1, 20).Draw(rt, "workers")
	kind := rapid.SampledFrom([]string{"closed", "open", "capped", "inf", "inf capped"}).Draw(rt, "kind")
	if kind != "open" && kind != "inf" {
		l.Concurrency = workers
	}
	switch kind {
	case "open", "capped":
		w.Rate = workload.Rate(rapid.SampledFrom([]float64{0.05, 1, 7, 100}).Draw(rt, "rate"))
		w.Arrival.Process = rapid.SampledFrom([]string{"poisson", "constant", "gamma"}).Draw(rt, "arrival")
	case "inf", "inf capped":
		w.Rate = inf.Rate
	}
	l.Grace = workload.Span(time.Duration(rapid.IntRange(1, 5).Draw(rt, "grace")) * sec)
	ends := rapid.SampledFrom([]string{"time", "requests", "both"}).Draw(rt, "ends")
	if ends != "time" || w.Rate.IsInf() {
		l.Requests = rapid.IntRange(1, 300).Draw(rt, "requests")
	}
	if ends != "requests" {
		l.Duration = workload.Span(time.Duration(rapid.IntRange(1, 100).Draw(rt, "duration")) * 100 * milli)
	}
	switch rapid.SampledFrom([]string{"none", "time", "requests"}).Draw(rt, "warm-up") {
	case "time":
		l.Warmup.Time = workload.Span(time.Duration(rapid.IntRange(0, 30).Draw(rt, "warm-up time")) * 100 * milli)
	case "requests":
		l.Warmup.Requests = rapid.IntRange(0, 40).Draw(rt, "warm-up requests")
	}
	if w.Rate.IsInf() {
		l.Warmup.Time = 0
	}
	// A worker that hangs before the requests are counted ends by its request's time limit, which is not the
	// load's.
	timed := l.Requests == 0 && l.Warmup.Requests == 0
	stalls = rapid.Bool().Draw(rt, "stalls") && (timed || kind == "open" || kind == "capped" || kind == "inf")
	return l, w, stalls
}

func (r *rig) conserved(rt *rapid.T, l workload.Load, w workload.Workload, m Measured) {
	seen := map[int]*Job{}
	for _, j := range r.jobs {
		if seen[j.Request.Index] != nil {
			rt.Fatalf("request %d came back twice", j.Request.Index)
		}
		seen[j.Request.Index] = j
		if j.Result.Outcome == "" || j.Ready >= 0 && j.Ready < j.At || j.Result.Sent >= 0 && j.Result.Sent != j.Ready {
			rt.Fatalf("request %d: at %v, ready %v, %+v", j.Request.Index, j.At, j.Ready, j.Result)
		}
	}
	for i := range r.bodies {
		if seen[i] == nil {
			rt.Fatalf("request %d was sent and forgotten", i)
		}
	}
	if l.Concurrency > 0 && r.peak > l.Concurrency {
		rt.Fatalf("%d in flight on %d workers", r.peak, l.Concurrency)
	}
	if m.End < m.Start {
		rt.Fatalf("window %v to %v", m.Start, m.End)
	}
	if w.Rate == 0 {
		r.closedConserved(rt, l, m)
		return
	}
	counted, start := 0, time.Duration(l.Warmup.Time)
	w.Input, w.Output = workload.Fixed(16), workload.Fixed(1)
	plan := workload.NewPlan(w, 1, "rig")
	limit := time.Duration(math.MaxInt64)
	for {
		q := plan.Next()
		if l.Warmup.Requests > 0 && q.Index == l.Warmup.Requests {
			start = q.At
		}
		if l.Duration > 0 && !w.Rate.IsInf() && (q.Index >= l.Warmup.Requests) {
			limit = start + time.Duration(l.Duration)
		}
		if q.Index >= l.Warmup.Requests && (q.At >= limit || l.Requests > 0 && counted == l.Requests) {
			limit = min(limit, q.At)
			break
		}
		j := seen[q.Index]
		if j == nil {
			rt.Fatalf("request %d of %v was forgotten", q.Index, q.At)
		}
		want := Warmup
		if q.Index >= l.Warmup.Requests && q.At >= start {
			want = Window
			counted++
		}
		if j.Phase != want || j.At != q.At {
			rt.Fatalf("request %d of %v: phase %d at %v, want %d", q.Index, q.At, j.Phase, j.At, want)
		}
	}
	if len(r.in(Window)) != counted {
		rt.Fatalf("%d in the window, want %d", len(r.in(Window)), counted)
	}
	if w.Rate.IsInf() {
		return
	}
	if m.Start != start || m.End != limit {
		rt.Fatalf("window %v to %v, want %v to %v", m.Start, m.End, start, limit)
	}
	if r.elapsed < limit || r.elapsed > limit+l.GraceTime() {
		rt.Fatalf("took %v for a window that ends at %v", r.elapsed, limit)
	}
}

func (r *rig) closedConserved(rt *rapid.T, l workload.Load, m Measured) {
	for _, j := range r.jobs {
		want := Window
		switch {
		case j.Request.Index < l.Warmup.Requests || j.At < m.Start:
			want = Warmup
		case j.Phase == Cooldown && (j.At >= m.End || j.Request.Index >= l.Warmup.Requests+l.Requests && l.Requests > 0):
			want = Cooldown // behind the window's end or, where all arrive at once, its last request
		}
		if j.Phase != want {
			rt.Fatalf("request %d at %v in a window %v to %v: phase %d, want %d", j.Request.Index, j.At, m.Start, m.End, j.Phase, want)
		}
	}
	n := len(r.in(Window))
	if l.Requests > 0 && (n > l.Requests || l.Duration == 0 && n != l.Requests) {
		rt.Fatalf("%d in a window of %d requests", n, l.Requests)
	}
	if l.Duration > 0 && m.End > m.Start+time.Duration(l.Duration) {
		rt.Fatalf("window %v to %v is longer than %v", m.Start, m.End, time.Duration(l.Duration))
	}
	if r.elapsed > m.End+l.GraceTime() {
		rt.Fatalf("took %v for a window that ends at %v", r.elapsed, m.End)
	}
}

package load

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"bench/experiment/openai"
	"bench/experiment/workload"
)

var inf = workload.Workload{Rate: workload.Rate(math.Inf(1))}

// Whatever the server does, every request goes at its time.
func TestOpenLoopKeepsItsSchedule(t *testing.T) {
	services := map[string]func(*Job) time.Duration{
		"instant": always(0),
		"slow":    always(7 * sec),
		"mixed":   func(j *Job) time.Duration { return time.Duration(j.Request.Index%5) * sec },
		"stalls":  always(never),
	}
	for name, service := range services {
		for _, arrival := range []string{"constant", "poisson", "gamma"} {
			t.Run(name+" "+arrival, func(t *testing.T) {
				w := workload.Workload{Rate: 20, Arrival: workload.Arrival{Process: arrival}}
				l := workload.Load{Warmup: workload.Extent{Time: workload.Span(2 * sec)}, Duration: workload.Span(10 * sec), Grace: workload.Span(20 * sec)}
				scene(t, l, w, service, func(t *testing.T, r *rig, m Measured) {
					wantWindow(t, m, 2*sec, 12*sec)
					w.Input, w.Output = workload.Fixed(16), workload.Fixed(1)
					plan := workload.NewPlan(w, 1, "rig")
					at := map[int]time.Duration{}
					planned := 0
					for q := plan.Next(); q.At < 12*sec; q = plan.Next() {
						at[q.Index] = q.At
						if q.At >= 2*sec {
							planned++
						}
					}
					if got := len(r.in(Window)); got != planned {
						t.Errorf("%d in the window, want %d", got, planned)
					}
					for _, j := range append(r.in(Warmup), r.in(Window)...) {
						if j.At != at[j.Request.Index] || j.Ready != j.At || j.Result.Sent != j.At {
							t.Fatalf("request %d of %v: at %v, ready %v, sent %v", j.Request.Index, at[j.Request.Index], j.At, j.Ready, j.Result.Sent)
						}
					}
				})
			})
		}
	}
}

func TestOpenLoopPhases(t *testing.T) {
	tests := []struct {
		name                       string
		load                       workload.Load
		warmup, window, cool, left int
		start, end, took           time.Duration
	}{
		// Rate 2, answers after 1.2 s.
		{"by time", workload.Load{Warmup: workload.Extent{Time: workload.Span(2 * sec)}, Duration: workload.Span(4 * sec)}, 4, 8, 0, 2, 2 * sec, 6 * sec, 6700 * milli},
		{"by requests", workload.Load{Warmup: workload.Extent{Requests: 3}, Requests: 5}, 3, 5, 0, 2, 1500 * milli, 4 * sec, 4700 * milli},
		{"both, requests first", workload.Load{Requests: 5, Duration: workload.Span(60 * sec)}, 0, 5, 0, 2, 0, 2500 * milli, 3200 * milli},
		{"both, duration first", workload.Load{Requests: 50, Duration: workload.Span(2 * sec)}, 0, 4, 0, 2, 0, 2 * sec, 2700 * milli},
		{"the duration ends between the last request and the next", workload.Load{Requests: 5, Duration: workload.Span(2100 * milli)}, 0, 5, 0, 2, 0, 2100 * milli, 3200 * milli},
		{"requests as warm-up of a timed window", workload.Load{Warmup: workload.Extent{Requests: 3}, Duration: workload.Span(2 * sec)}, 3, 4, 0, 2, 1500 * milli, 3500 * milli, 4200 * milli},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			scene(t, tt.load, constant(2), always(1200*milli), func(t *testing.T, r *rig, m Measured) {
				wantWindow(t, m, tt.start, tt.end)
				wantOutcomes(t, r, Warmup, tt.warmup, 0)
				wantOutcomes(t, r, Window, tt.window, 0)
				wantOutcomes(t, r, Cooldown, tt.cool, tt.left)
				if r.elapsed != tt.took {
					t.Errorf("took %v, want %v", r.elapsed, tt.took)
				}
				for _, j := range r.in(Cooldown) {
					if r.causes[j.Request.Index] != openai.ErrUnfinished {
						t.Errorf("cool-down request %d was cancelled by %v", j.Request.Index, r.causes[j.Request.Index])
					}
				}
			})
		})
	}
}

// The run lasts as long as its window, even without further requests: warm-up requests that still run in it
// count, and the server's samples have to cover it.
func TestWindowIsNotCutShort(t *testing.T) {
	service := func(j *Job) time.Duration {
		if j.Phase == Warmup {
			return 25 * sec
		}
		return milli
	}
	scene(t, workload.Load{Warmup: workload.Extent{Time: workload.Span(5 * sec)}, Duration: workload.Span(20 * sec)}, constant(0.1), service, func(t *testing.T, r *rig, m Measured) {
		wantWindow(t, m, 5*sec, 25*sec)
		wantOutcomes(t, r, Window, 2, 0) // at 10 s and 20 s
		if r.elapsed != 25*sec {
			t.Errorf("took %v", r.elapsed)
		}
	})
	scene(t, workload.Load{Warmup: workload.Extent{Time: workload.Span(5 * sec)}, Duration: workload.Span(20 * sec)}, constant(0.01), always(milli), func(t *testing.T, r *rig, m Measured) {
		wantWindow(t, m, 5*sec, 25*sec)
		wantOutcomes(t, r, Window, 0, 0)
		if r.elapsed != 25*sec { // it does not wait for the arrival at 100 s
			t.Errorf("took %v", r.elapsed)
		}
	})
}

// Two workers, one arrival a second, answers after 4 s: the cap is too small by half.
func TestCapIsFirstComeFirstServed(t *testing.T) {
	l := workload.Load{Concurrency: 2, Requests: 10, Grace: workload.Span(60 * sec)}
	scene(t, l, constant(1), always(4*sec), func(t *testing.T, r *rig, m Measured) {
		wantWindow(t, m, 0, 10*sec)
		wantOutcomes(t, r, Window, 10, 0)
		if r.peak != 2 {
			t.Errorf("%d in flight under a cap of 2", r.peak)
		}
		for i, j := range r.in(Window) {
			at := time.Duration(i) * sec
			ready := max(at, time.Duration(i/2)*4*sec+time.Duration(i%2)*sec)
			if j.At != at || j.Ready != ready || j.Result.Sent != ready {
				t.Errorf("request %d: at %v, ready %v, sent %v; want ready %v", i, j.At, j.Ready, j.Result.Sent, ready)
			}
		}
	})
}

func TestCapThatIsWideEnoughCostsNothing(t *testing.T) {
	scene(t, workload.Load{Concurrency: 8, Duration: workload.Span(20 * sec)}, constant(4), always(sec), func(t *testing.T, r *rig, m Measured) {
		wantOutcomes(t, r, Window, 80, 0)
		for _, j := range r.jobs {
			if j.Ready != j.At || j.Result.Sent != j.At {
				t.Fatalf("request %d: at %v, ready %v, sent %v", j.Request.Index, j.At, j.Ready, j.Result.Sent)
			}
		}
	})
}

// Every arrival of the window is accounted for when the server does not answer.
func TestCapAgainstAStalledServer(t *testing.T) {
	tests := []struct {
		name            string
		load            workload.Load
		warmup, planned int
		end, took       time.Duration
	}{
		{"by time", workload.Load{Duration: workload.Span(10 * sec)}, 0, 100, 10 * sec, 15 * sec},
		{"by time after a warm-up", workload.Load{Warmup: workload.Extent{Time: workload.Span(2 * sec)}, Duration: workload.Span(10 * sec)}, 20, 100, 12 * sec, 17 * sec},
		{"by requests", workload.Load{Requests: 500}, 0, 500, 50 * sec, 55 * sec},
		{"by requests after requests", workload.Load{Warmup: workload.Extent{Requests: 30}, Requests: 500}, 30, 500, 53 * sec, 58 * sec},
		{"by both", workload.Load{Warmup: workload.Extent{Requests: 30}, Duration: workload.Span(7 * sec), Requests: 500}, 30, 70, 10 * sec, 15 * sec},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.load.Concurrency, tt.load.Grace = 3, workload.Span(5*sec)
			scene(t, tt.load, constant(10), always(never), func(t *testing.T, r *rig, m Measured) {
				if m.End != tt.end || r.elapsed != tt.took {
					t.Errorf("window ends at %v after %v, want %v and %v", m.End, r.elapsed, tt.end, tt.took)
				}
				wantOutcomes(t, r, Warmup, 0, tt.warmup)
				wantOutcomes(t, r, Window, 0, tt.planned)
				if len(r.bodies) != 3 {
					t.Errorf("%d were sent by 3 workers", len(r.bodies))
				}
				for _, j := range r.in(Window)[3:] {
					if j.Ready != openai.Never || j.Result.Sent != openai.Never || j.Result.End != openai.Never || j.Result.Error == "" {
						t.Fatalf("request %d was never sent, but: ready %v, %+v", j.Request.Index, j.Ready, j.Result)
					}
				}
			})
		})
	}
}

// A client too slow to encode its bodies is late, and loses nothing either.
func TestSlowEncoding(t *testing.T) {
	for name, service := range map[string]time.Duration{"answers": 100 * milli, "stalls": never} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &rig{service: always(service), encode: func(i int) {
					if i >= ahead+2 {
						<-time.After(500 * milli)
					}
				}}
				m, err := r.run(t.Context(), workload.Load{Duration: workload.Span(30 * sec), Grace: workload.Span(5 * sec)}, constant(10))
				if err != nil {
					t.Fatal(err)
				}
				wantWindow(t, m, 0, 30*sec)
				if got := len(r.in(Window)); got != 300 {
					t.Errorf("%d in the window, want 300", got)
				}
				for i, j := range r.in(Window) {
					if j.At != time.Duration(i)*100*milli || j.Ready != openai.Never && j.Ready != j.At || j.Result.Sent > 35*sec {
						t.Fatalf("request %d: at %v, ready %v, sent %v", i, j.At, j.Ready, j.Result.Sent)
					}
				}
			})
		})
	}
}

func TestAllAtOnce(t *testing.T) {
	scene(t, workload.Load{Requests: 300}, inf, always(2*sec), func(t *testing.T, r *rig, m Measured) {
		wantWindow(t, m, 0, 2*sec)
		wantOutcomes(t, r, Window, 300, 0)
		if r.peak != 300 || len(r.jobs) != 300 {
			t.Errorf("%d in flight, %d requests", r.peak, len(r.jobs))
		}
		for _, j := range r.jobs {
			if j.At != 0 || j.Ready != 0 || j.Result.Sent != 0 {
				t.Fatalf("request %d: at %v, ready %v, sent %v", j.Request.Index, j.At, j.Ready, j.Result.Sent)
			}
		}
	})
}

func TestAllAtOnceUnderACap(t *testing.T) {
	l := workload.Load{Concurrency: 10, Warmup: workload.Extent{Requests: 10}, Requests: 90, Duration: workload.Span(sec)} // a duration ends nothing here
	scene(t, l, inf, always(2*sec), func(t *testing.T, r *rig, m Measured) {
		wantWindow(t, m, 0, 20*sec)
		wantOutcomes(t, r, Warmup, 10, 0)
		wantOutcomes(t, r, Window, 90, 0)
		if r.peak != 10 || r.elapsed != 20*sec {
			t.Errorf("%d in flight, took %v", r.peak, r.elapsed)
		}
		for _, j := range r.jobs {
			if want := time.Duration(j.Request.Index/10) * 2 * sec; j.Ready != want || j.Result.Sent != want {
				t.Errorf("request %d ready at %v, want %v", j.Request.Index, j.Ready, want)
			}
		}
	})
}

func TestAllAtOnceWithGrace(t *testing.T) {
	for _, workers := range []int{0, 10} {
		stalls := func(j *Job) time.Duration {
			if j.Request.Index >= 15 {
				return never
			}
			return sec
		}
		scene(t, workload.Load{Concurrency: workers, Requests: 20, Grace: workload.Span(4 * sec)}, inf, stalls, func(t *testing.T, r *rig, m Measured) {
			wantOutcomes(t, r, Window, 15, 5)
			last := time.Duration(0)
			if workers > 0 {
				last = sec // the last one gets its worker
			}
			if r.elapsed != last+4*sec || m.End != r.elapsed {
				t.Errorf("took %v, window to %v", r.elapsed, m.End)
			}
		})
	}
}

// However many conversations wait for a worker, only the first of them keep their bodies; and each has its
// own in time.
func TestQueueKeepsFewBodies(t *testing.T) {
	const n = 10 * ahead
	encoded := 0
	d := &driver{freeWorkers: make(chan time.Duration, 1), Config: Config{Encode: func(r *workload.Request) []byte {
		encoded++
		return fmt.Append(nil, r.Index)
	}}}
	for i := range n {
		if d.getWorker(&Job{Request: workload.Request{Index: i}}, fmt.Append(nil, i)) {
			t.Fatal("a worker is free")
		}
	}
	for i := range n {
		bodies := 0
		for _, w := range d.queue {
			if w.body != nil {
				bodies++
			}
		}
		w := d.queue[0]
		if bodies != min(ahead, n-i) || string(w.body) != fmt.Sprint(i) {
			t.Fatalf("%d of %d have bodies; that of %d is %q", bodies, len(d.queue), i, w.body)
		}
		d.queue = d.queue[1:]
		d.encodeQueued()
	}
	if encoded != n-ahead {
		t.Errorf("%d were encoded again", encoded)
	}
}

// A queue longer than what is encoded ahead: each conversation is sent its own body.
func TestLongQueueOfConversations(t *testing.T) {
	w := conversations(1, 0)
	w.Rate, w.Arrival = 200, constant(200).Arrival
	scene(t, workload.Load{Concurrency: 4, Requests: 3 * ahead}, w, always(100*milli), func(t *testing.T, r *rig, m Measured) {
		wantOutcomes(t, r, Window, 3*ahead, 0)
		for i, body := range r.bodies {
			if body != string([]byte{byte(i)}) {
				t.Errorf("request %d was sent the body %q", i, body)
			}
		}
	})
}

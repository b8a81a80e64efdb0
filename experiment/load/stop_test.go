package load

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"bench/experiment/openai"
	"bench/experiment/trace"
	"bench/experiment/workload"
)

// ending is a plan of n requests, one every 100 ms.
func ending(t *testing.T, n int, rate workload.Rate) workload.Workload {
	t.Helper()
	text := ""
	for i := range n {
		text += fmt.Sprintf(`{"timestamp":%d,"input_length":16,"output_length":1}`+"\n", 100*i)
	}
	file := filepath.Join(t.TempDir(), "trace.jsonl")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	w := workload.Workload{Rate: rate, Trace: &workload.Trace{Options: trace.Options{File: file}}}
	if rate > 0 && !rate.IsInf() {
		w.Arrival.Process = "trace"
	}
	return w
}

// TestPlanEnds: the plan's last request ends the window and the row, whatever else the load asks for; nothing
// is cut or lost.
func TestPlanEnds(t *testing.T) {
	for _, c := range []struct {
		name       string
		load       workload.Load
		rate       workload.Rate
		n          int
		start, end time.Duration
		warm       int // requests of the warm-up
		elapsed    time.Duration
	}{
		{"by time", workload.Load{Duration: workload.Span(time.Hour)}, 10, 300, 0, 29900 * milli, 0, 31900 * milli},
		{"by number", workload.Load{Requests: 1000}, 10, 300, 0, 29900 * milli, 0, 31900 * milli},
		{"with a warm-up", workload.Load{Warmup: workload.Extent{Time: workload.Span(10 * sec)}, Duration: workload.Span(time.Hour)}, 10, 300, 10 * sec, 29900 * milli, 100, 31900 * milli},
		{"under a cap", workload.Load{Concurrency: 100, Requests: 1000}, 10, 30, 0, 2900 * milli, 0, 4900 * milli},
		{"a cap that is too low", workload.Load{Concurrency: 5, Requests: 1000}, 10, 30, 0, 2900 * milli, 0, 12400 * milli},
		{"fewer than are encoded ahead", workload.Load{Duration: workload.Span(time.Hour)}, 10, 3, 0, 200 * milli, 0, 2200 * milli},
		{"one", workload.Load{Duration: workload.Span(time.Hour)}, 10, 1, 0, 2 * sec, 0, 2 * sec},
		{"the row first", workload.Load{Duration: workload.Span(10 * sec)}, 10, 300, 0, 10 * sec, 0, 11900 * milli},
		{"closed loop", workload.Load{Concurrency: 5, Duration: workload.Span(time.Hour)}, 0, 30, 0, 10 * sec, 0, 12 * sec},
		{"all at once", workload.Load{Requests: 1000}, inf.Rate, 300, 0, 2 * sec, 0, 2 * sec},
	} {
		t.Run(c.name, func(t *testing.T) {
			scene(t, c.load, ending(t, c.n, c.rate), always(2*sec), func(t *testing.T, r *rig, m Measured) {
				if m.Start != c.start || m.End != c.end || r.elapsed != c.elapsed {
					t.Errorf("window %v to %v in %v, want %v to %v in %v", m.Start, m.End, r.elapsed, c.start, c.end, c.elapsed)
				}
				window := c.n - c.warm
				if c.name == "the row first" {
					window = 100
				}
				if got := r.in(Window); len(got) != window || len(r.in(Warmup)) != c.warm {
					t.Errorf("%d requests in the window, %d in the warm-up", len(got), len(r.in(Warmup)))
				}
				if n := r.outcomes(Window)["ok"]; n != window {
					t.Errorf("outcomes %v", r.outcomes(Window))
				}
			})
		})
	}
}

// TestPlanEndsWithAQueue: conversations that have no worker when the plan ends get one.
func TestPlanEndsWithAQueue(t *testing.T) {
	w := ending(t, 30, 10)
	w.Session = conversations(1, 0).Session
	scene(t, workload.Load{Concurrency: 5, Duration: workload.Span(time.Hour)}, w, always(2*sec), func(t *testing.T, r *rig, m Measured) {
		wantOutcomes(t, r, Window, 30, 0)
		if last := r.in(Window)[29]; last.Ready != 10400*milli || r.elapsed != 12400*milli {
			t.Errorf("the last was ready at %v, and all over after %v", last.Ready, r.elapsed)
		}
	})
	scene(t, workload.Load{Concurrency: 5, Duration: workload.Span(time.Hour), Grace: workload.Span(sec)}, w, always(2*sec), func(t *testing.T, r *rig, m Measured) {
		if got := r.outcomes(Window); got[openai.OK] != 5 || got[openai.Unfinished] != 25 {
			t.Errorf("%v: nothing is to be left out", got)
		}
	})
}

// TestPlanEndsInWarmup: the window is empty, and the row ends.
func TestPlanEndsInWarmup(t *testing.T) {
	scene(t, workload.Load{Warmup: workload.Extent{Time: workload.Span(time.Minute)}, Duration: workload.Span(time.Hour)}, ending(t, 10, 10), always(sec), func(t *testing.T, r *rig, m Measured) {
		if len(r.in(Window)) != 0 || m.End > m.Start {
			t.Errorf("window %v to %v with %d requests", m.Start, m.End, len(r.in(Window)))
		}
	})
}

// TestPlanEndsStalled: a server that stops answering delays the row's end by the grace period only.
func TestPlanEndsStalled(t *testing.T) {
	for name, c := range map[string]struct {
		load workload.Load
		rate workload.Rate
		want time.Duration
	}{
		"open":   {workload.Load{Duration: workload.Span(time.Hour), Grace: workload.Span(7 * sec)}, 10, 9900 * milli},
		"closed": {workload.Load{Concurrency: 50, Requests: 1000, Grace: workload.Span(7 * sec)}, 0, 7 * sec},
		"inf":    {workload.Load{Requests: 1000, Grace: workload.Span(7 * sec)}, inf.Rate, 7 * sec},
	} {
		t.Run(name, func(t *testing.T) {
			scene(t, c.load, ending(t, 30, c.rate), always(never), func(t *testing.T, r *rig, m Measured) {
				if r.elapsed != c.want || r.outcomes(Window)["unfinished"] != 30 {
					t.Errorf("took %v, want %v: %v", r.elapsed, c.want, r.outcomes(Window))
				}
			})
		})
	}
}

// A closed loop without an end of its own ends with Config.Ends: the window at once, its requests when they
// end or after the grace period. Load goes on until then.
func TestEndsWhenTold(t *testing.T) {
	for _, c := range []struct {
		name           string
		load           workload.Load
		service, after time.Duration
		start, end     time.Duration
		elapsed        time.Duration
		warm, ok, cut  int
	}{
		{"in its window", workload.Load{Concurrency: 3}, 2 * sec, 9 * sec, 0, 9 * sec, 10 * sec, 0, 15, 0},
		{"with its first request's end", workload.Load{Concurrency: 1, Warmup: workload.Extent{Requests: 2}}, 2 * sec, 9 * sec, 4 * sec, 9 * sec, 10 * sec, 2, 3, 0},
		{"before its window", workload.Load{Concurrency: 3, Warmup: workload.Extent{Requests: 30}}, 2 * sec, 9 * sec, 9 * sec, 9 * sec, 9 * sec, 15, 0, 0},
		{"behind a duration", workload.Load{Concurrency: 3, Duration: workload.Span(4 * sec)}, 2 * sec, 9 * sec, 0, 4 * sec, 4 * sec, 0, 6, 0},
		{"before a duration", workload.Load{Concurrency: 3, Duration: workload.Span(40 * sec)}, 2 * sec, 9 * sec, 0, 9 * sec, 10 * sec, 0, 15, 0},
		{"of a server that stalls", workload.Load{Concurrency: 3, Grace: workload.Span(30 * sec)}, never, 9 * sec, 0, 9 * sec, 39 * sec, 0, 0, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ends, cancel := context.WithTimeout(t.Context(), c.after)
				defer cancel()
				r := &rig{service: always(c.service), ends: ends}
				m, err := r.run(t.Context(), c.load, workload.Workload{})
				if err != nil {
					t.Fatal(err)
				}
				wantWindow(t, m, c.start, c.end)
				wantOutcomes(t, r, Window, c.ok, c.cut)
				if got := len(r.in(Warmup)); got != c.warm || r.elapsed != c.elapsed || r.peak > c.load.Concurrency {
					t.Errorf("%d requests warmed up in %v, %d at once; want %d in %v", got, r.elapsed, r.peak, c.warm, c.elapsed)
				}
			})
		})
	}
}

// A stopped window takes no further request, even if the worker became free before the stop: the row may be
// over, and the server did not leave the request unanswered.
func TestStoppedWindowTakesNoMore(t *testing.T) {
	w := window{Load: workload.Load{Concurrency: 1}, scheduleGrace: func(time.Duration) {}}
	w.init()
	if p := w.phase(sec); p != Window {
		t.Errorf("%v, before the end", p)
	}
	w.stop(3 * sec)
	if p := w.phase(2 * sec); p != Cooldown || w.counted != 1 || w.end != 3*sec {
		t.Errorf("%v, %d requests to %v", p, w.counted, w.end)
	}
}

package load

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"bench/experiment/openai"
	"bench/experiment/workload"
)

// conversations is a workload of conversations with that many turns and that think time.
func conversations(turns int, think time.Duration) workload.Workload {
	return workload.Workload{Session: &workload.Session{
		Turns: workload.Turns{Length: workload.Fixed(turns)}, User: workload.Fixed(16), Think: workload.Think{Dist: "fixed", Mean: workload.Seconds(think.Seconds())},
	}}
}

// turns returns the results by conversation, each in the order of its turns.
func (r *rig) turns() map[int][]*Job {
	out := map[int][]*Job{}
	for _, j := range r.jobs {
		out[j.Request.Session] = append(out[j.Request.Session], j)
	}
	for _, turns := range out {
		slices.SortFunc(turns, func(a, b *Job) int { return a.Request.Turn - b.Request.Turn })
	}
	return out
}

// Two users whose turns take 1 s and who think for 2 s: a turn every 3 s, and after the last one the next
// conversation.
func TestUsers(t *testing.T) {
	w := conversations(3, 2*sec)
	scene(t, workload.Load{Concurrency: 2, Warmup: workload.Extent{Time: workload.Span(5 * sec)}, Duration: workload.Span(20 * sec)}, w, always(sec), func(t *testing.T, r *rig, m Measured) {
		wantWindow(t, m, 5*sec, 25*sec)
		for session, turns := range r.turns() {
			begin := time.Duration(session/2) * 7 * sec
			for i, j := range turns {
				at := begin + time.Duration(i)*3*sec
				if j.Request.Turn != i || j.At != at || j.Ready != at || j.Result.Sent != at {
					t.Errorf("turn %d of conversation %d: at %v, ready %v, sent %v, want %v", i, session, j.At, j.Ready, j.Result.Sent, at)
				}
			}
		}
		// In 25 s a worker begins conversations at 0, 7, 14 and 21 s.
		wantOutcomes(t, r, Warmup, 4, 0) // at 0 and 3 s
		wantOutcomes(t, r, Window, 18, 0)
		if len(r.in(Cooldown)) != 0 || r.elapsed != 25*sec {
			t.Errorf("%d requests behind the window, took %v", len(r.in(Cooldown)), r.elapsed)
		}
	})
}

// Conversations arrive by the schedule; without a cap one does not wait for another.
func TestConversationsArriveByTheSchedule(t *testing.T) {
	w := conversations(3, 2*sec)
	w.Rate, w.Arrival = 2, constant(2).Arrival
	scene(t, workload.Load{Duration: workload.Span(10 * sec)}, w, always(sec), func(t *testing.T, r *rig, m Measured) {
		wantWindow(t, m, 0, 10*sec)
		for session, turns := range r.turns() {
			for i, j := range turns {
				at := time.Duration(session)*500*milli + time.Duration(i)*3*sec
				if j.At != at || j.Result.Sent != at {
					t.Errorf("turn %d of conversation %d: at %v, sent %v, want %v", i, session, j.At, j.Result.Sent, at)
				}
				if want := map[bool]Phase{true: Window, false: Cooldown}[at < 10*sec]; j.Phase != want {
					t.Errorf("turn %d of conversation %d at %v: phase %d", i, session, at, j.Phase)
				}
			}
		}
		wantOutcomes(t, r, Window, 20+14+8, 0) // first, second and third turns that arrive before 10 s
	})
}

// Under a cap of one a conversation keeps the worker while its user thinks.
func TestConversationKeepsItsSlot(t *testing.T) {
	w := conversations(2, 3*sec)
	w.Rate, w.Arrival = 1, constant(1).Arrival
	scene(t, workload.Load{Concurrency: 1, Duration: workload.Span(20 * sec), Grace: workload.Span(sec)}, w, always(sec), func(t *testing.T, r *rig, m Measured) {
		wantWindow(t, m, 0, 20*sec)
		sent := 0
		for session, turns := range r.turns() {
			if turns[0].Result.Sent < 0 {
				continue
			}
			sent += len(turns)
			at, ready := time.Duration(session)*sec, time.Duration(session)*5*sec
			if turns[0].At != at || turns[0].Ready != ready {
				t.Errorf("conversation %d: at %v, ready %v, want %v", session, turns[0].At, turns[0].Ready, ready)
			}
			if len(turns) > 1 && (turns[1].At != ready+4*sec || turns[1].Ready != turns[1].At) {
				t.Errorf("conversation %d: second turn at %v, ready %v", session, turns[1].At, turns[1].Ready)
			}
		}
		// Four conversations by 20 s, their 8 turns; of the 20 that arrived 16 had no worker at the end of
		// the grace period, but for the one that began at 20 s.
		if got := r.outcomes(Window); got[openai.OK] != 9 || got[openai.Unfinished] != 15 || sent != 9 {
			t.Errorf("%v, %d sent", got, sent)
		}
	})
}

// Requests are counted, not conversations.
func TestCountedTurns(t *testing.T) {
	tests := []struct {
		name           string
		load           workload.Load
		warmup, window int
		start, end     time.Duration
	}{
		// Turns of 1 s and 1 s between them, on one worker: arrivals at 0, 2, 4 and, of the next
		// conversation, 5, 7, 9, 10, …
		{"requests", workload.Load{Requests: 4}, 0, 4, 0, 7 * sec},
		{"warm-up and requests", workload.Load{Warmup: workload.Extent{Requests: 2}, Requests: 4}, 2, 4, 4 * sec, 10 * sec},
		{"warm-up by time", workload.Load{Warmup: workload.Extent{Time: workload.Span(3 * sec)}, Requests: 2}, 2, 2, 3 * sec, 7 * sec},
		{"requests before duration", workload.Load{Requests: 2, Duration: workload.Span(60 * sec)}, 0, 2, 0, 4 * sec},
		{"duration before requests", workload.Load{Requests: 50, Duration: workload.Span(6 * sec)}, 0, 4, 0, 6 * sec},
		{"counted warm-up of a timed window", workload.Load{Warmup: workload.Extent{Requests: 3}, Duration: workload.Span(4 * sec)}, 3, 2, 5 * sec, 9 * sec},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.load.Concurrency = 1
			scene(t, tt.load, conversations(3, sec), always(sec), func(t *testing.T, r *rig, m Measured) {
				wantWindow(t, m, tt.start, tt.end)
				wantOutcomes(t, r, Warmup, tt.warmup, 0)
				wantOutcomes(t, r, Window, tt.window, 0)
				if r.elapsed > tt.end+sec {
					t.Errorf("took %v", r.elapsed)
				}
			})
		})
	}
}

// If all think times are longer than the window, the row ends with the window.
func TestWindowEndsWhileUsersThink(t *testing.T) {
	for name, l := range map[string]workload.Load{
		"by time": {Concurrency: 3, Duration: workload.Span(10 * sec)}, "by time or requests": {Concurrency: 3, Duration: workload.Span(10 * sec), Requests: 50},
		"counted warm-up": {Concurrency: 3, Warmup: workload.Extent{Requests: 1}, Duration: workload.Span(10 * sec)},
	} {
		t.Run(name, func(t *testing.T) {
			scene(t, l, conversations(4, 600*sec), always(sec), func(t *testing.T, r *rig, m Measured) {
				wantWindow(t, m, 0, 10*sec)
				if len(r.jobs) != 3 || r.elapsed != 10*sec {
					t.Errorf("%d requests, took %v", len(r.jobs), r.elapsed)
				}
			})
		})
	}
}

// A turn of the warm-up that is in flight may be followed by one of the window, up to the end of the grace
// period.
func TestTurnOfTheWarmupHoldsTheRow(t *testing.T) {
	service := func(j *Job) time.Duration {
		if j.Request.Session == 0 && j.Request.Turn == 0 {
			return 9 * sec
		}
		return milli
	}
	scene(t, workload.Load{Concurrency: 1, Warmup: workload.Extent{Time: workload.Span(2 * sec)}, Duration: workload.Span(8 * sec)}, conversations(2, 500*milli), service, func(t *testing.T, r *rig, m Measured) {
		wantWindow(t, m, 2*sec, 10*sec)
		first := r.turns()[0]
		if len(first) != 2 || first[1].At != 9500*milli || first[1].Phase != Window {
			t.Errorf("%d turns, the second at %v in phase %d", len(first), first[1].At, first[1].Phase)
		}
	})
	scene(t, workload.Load{Concurrency: 1, Warmup: workload.Extent{Time: workload.Span(2 * sec)}, Duration: workload.Span(8 * sec), Grace: workload.Span(3 * sec)}, conversations(2, 0), always(never), func(t *testing.T, r *rig, m Measured) {
		if r.elapsed != 13*sec || len(r.jobs) != 1 {
			t.Errorf("%d requests, took %v", len(r.jobs), r.elapsed)
		}
	})
}

// A failed turn ends its conversation, and its worker begins another.
func TestFailedTurnEndsItsConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{service: always(sec), fails: func(j *Job) bool { return j.Request.Turn == 1 }}
		m, err := r.run(t.Context(), workload.Load{Concurrency: 1, Duration: workload.Span(8500 * time.Millisecond)}, conversations(4, sec))
		if err != nil {
			t.Fatal(err)
		}
		wantWindow(t, m, 0, 8500*time.Millisecond)
		if got := r.outcomes(Window); got[openai.OK] != 3 || got[openai.Status] != 3 {
			t.Errorf("%v", got)
		}
		for session, turns := range r.turns() {
			if len(turns) != 2 || turns[0].At != time.Duration(session)*3*sec {
				t.Errorf("conversation %d: %d turns, from %v on", session, len(turns), turns[0].At)
			}
		}
	})
}

// After an interruption no turn is sent, and no think time delays the end.
func TestInterruptionWhileUsersThink(t *testing.T) {
	for name, w := range map[string]workload.Workload{"closed": {}, "open": constant(1)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w.Session = conversations(5, 100*sec).Session
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(20*sec, cancel)
				r := &rig{service: always(sec)}
				l := workload.Load{Concurrency: 4, Duration: workload.Span(600 * sec)}
				if _, err := r.run(ctx, l, w); !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
				if r.elapsed != 20*sec || len(r.jobs) != 4 {
					t.Errorf("%d requests, took %v", len(r.jobs), r.elapsed)
				}
			})
		})
	}
}

// TestConservationOfTurns: each turn whose arrival is in the window belongs to it and comes back; the next
// one arrives at its time; no worker has two conversations; and the run ends in time.
func TestConservationOfTurns(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := conversations(1, 0)
		w.Session.Turns.Length = workload.Length{Dist: "uniform", Min: 1, Max: rapid.IntRange(1, 6).Draw(rt, "turns")}
		w.Session.Think = workload.Think{Dist: "exponential", Mean: workload.Seconds(rapid.SampledFrom([]float64{0, 0.01, 1, 30}).Draw(rt, "think"))}
		l, open, stalls := drawLoad(rt)
		if w.Rate, w.Arrival = open.Rate, open.Arrival; w.Rate.IsInf() {
			w.Rate, l.Concurrency = 0, max(l.Concurrency, 1)
		}
		stalls = stalls && l.Requests == 0 && l.Warmup.Requests == 0
		fails := rapid.SampledFrom([]int{0, 0, 10}).Draw(rt, "failures, %")
		mean := rapid.SampledFrom([]time.Duration{10 * milli, 300 * milli, 3 * sec}).Draw(rt, "mean")
		chance := func(j *Job) int { return int((uint64(j.Request.Index)*0x9e3779b97f4a7c15 + 77) >> 7 % 100) }
		r := &rig{
			service: func(j *Job) time.Duration {
				if stalls && chance(j) < 3 {
					return never
				}
				return milli + mean*time.Duration(chance(j))/50
			},
			fails: func(j *Job) bool { return chance(j)*7%100 < fails },
		}
		var m Measured
		var err error
		synctest.Test(t, func(t *testing.T) { m, err = r.run(t.Context(), l, w) })
		if err != nil {
			rt.Fatal(err)
		}
		r.turnsConserved(rt, l, w, m)
	})
}

func (r *rig) turnsConserved(rt *rapid.T, l workload.Load, w workload.Workload, m Measured) {
	type span struct{ from, to time.Duration }
	var busy []span
	planned := 0
	for session, turns := range r.turns() {
		var at time.Duration
		for i, j := range turns {
			if j.Request.Turn != i || i > 0 && j.At != at {
				rt.Fatalf("turn %d of conversation %d at %v, want turn %d at %v", j.Request.Turn, session, j.At, i, at)
			}
			inside := j.At >= m.Start && j.At < m.End
			if j.Phase == Window {
				planned++
			}
			if by := l.Requests == 0 && l.Warmup.Requests == 0; by && inside != (j.Phase == Window) || !by && j.Phase == Window && (j.At < m.Start || j.At > m.End) {
				rt.Fatalf("turn %d of conversation %d at %v in a window %v to %v: phase %d", i, session, j.At, m.Start, m.End, j.Phase)
			}
			if last := i == len(turns)-1; last && !j.Result.Outcome.Failed() && i+1 < j.Request.Turns {
				plan := workload.NewPlan(r.workload(w), 1, "rig")
				next, _ := plan.Following(&j.Request)
				if due := j.Result.End + next.Think; due < m.End && l.Requests == 0 {
					rt.Fatalf("turn %d of conversation %d, due at %v in a window %v to %v, was forgotten", i+1, session, due, m.Start, m.End)
				}
			} else if !last {
				plan := workload.NewPlan(r.workload(w), 1, "rig")
				next, _ := plan.Following(&j.Request)
				at = j.Result.End + next.Think
			}
		}
		if first, last := turns[0], turns[len(turns)-1]; first.Result.Sent >= 0 {
			busy = append(busy, span{first.Result.Sent, max(last.Result.End, first.Result.Sent)})
		}
	}
	if l.Requests > 0 && planned > l.Requests {
		rt.Fatalf("%d in a window of %d", planned, l.Requests)
	}
	if l.Concurrency > 0 {
		for _, s := range busy {
			n := 0
			for _, o := range busy {
				if o.from <= s.from && s.from < o.to {
					n++
				}
			}
			if n > l.Concurrency {
				rt.Fatalf("%d conversations on %d workers at %v", n, l.Concurrency, s.from)
			}
		}
	}
	if m.End < m.Start || r.elapsed > m.End+l.GraceTime() {
		rt.Fatalf("window %v to %v, took %v", m.Start, m.End, r.elapsed)
	}
}

// workload is the rig's for a load.
func (r *rig) workload(w workload.Workload) workload.Workload {
	w.Input, w.Output = workload.Fixed(16), workload.Fixed(1)
	return w
}

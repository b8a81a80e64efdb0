package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"bench/experiment/openai"
	"bench/experiment/workload"
)

// step is one request of a session: the steps that it waits for, from 0, and its tool time.
type step struct {
	parents []int
	wait    time.Duration
}

func sessionsOf(dir string, sessions ...[]step) workload.Workload {
	text := `{"schema":"bench/trace/v1","time_unit":"ms","grouped":true,"ends":true}` + "\n"
	for i, steps := range sessions {
		for k, s := range steps {
			line := map[string]any{
				"timestamp": i, "input_length": 16, "output_length": 1, "session": i + 1, "node": k + 1, "at_ms": k,
				"wait_ms": json.Number(fmt.Sprint(float64(s.wait) / float64(milli))),
			}
			var parents []int
			for _, p := range s.parents {
				parents = append(parents, p+1)
			}
			if parents != nil {
				line["parents"] = parents
			}
			b, err := json.Marshal(line)
			if err != nil {
				panic(err)
			}
			text += string(b) + "\n"
		}
	}
	file := filepath.Join(dir, "sessions.jsonl")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		panic(err)
	}
	w := workload.Workload{Trace: &workload.Trace{}}
	w.Trace.File, w.Trace.Replay = file, "sessions"
	return w
}

// copies is that session n times.
func copies(n int, s []step) (out [][]step) {
	for range n {
		out = append(out, s)
	}
	return out
}

// research is an agent that starts two subagents after its first request and goes on when both have ended.
var research = []step{{}, {[]int{0}, sec}, {[]int{0}, 2 * sec}, {[]int{2}, 0}, {[]int{1, 3}, 500 * milli}}

func (r *rig) byTurn(session int) map[int]*Job {
	out := map[int]*Job{}
	for _, j := range r.jobs {
		if j.Request.Session == session {
			out[j.Request.Turn] = j
		}
	}
	return out
}

// Subagents run side by side; a join waits for the last of them and its own tool time.
func TestSubagentsAndJoin(t *testing.T) {
	w := sessionsOf(t.TempDir(), copies(3, research)...)
	service := func(j *Job) time.Duration { return []time.Duration{sec, 4 * sec, sec, sec, sec}[j.Request.Turn] }
	scene(t, workload.Load{Concurrency: 1, Duration: workload.Span(time.Hour)}, w, service, func(t *testing.T, r *rig, m Measured) {
		// 0–1 s; subagents from 2 to 6 and from 3 to 4 to 5; the join from 6.5 to 7.5.
		if over := slices.DeleteFunc(slices.Clone(r.jobs), func(j *Job) bool { return !j.SessionOver }); len(over) != 3 {
			t.Errorf("%d sessions are over, want 3", len(over))
		}
		for session := range 3 {
			began := time.Duration(session) * 7500 * milli
			want := []time.Duration{0, 2 * sec, 3 * sec, 4 * sec, 6500 * milli}
			turns := r.byTurn(session)
			if len(turns) != len(want) {
				t.Fatalf("session %d: %d requests", session, len(turns))
			}
			for i, at := range want {
				if j := turns[i]; j.At != began+at || j.Ready != j.At || j.Result.Sent != j.At {
					t.Errorf("session %d, turn %d: at %v, sent %v, want %v", session, i, j.At, j.Result.Sent, began+at)
				}
			}
		}
		wantOutcomes(t, r, Window, 15, 0)
		wantWindow(t, m, 0, 21500*milli) // to the arrival of the last turn
		if r.peak != 2 || r.elapsed != 22500*milli {
			t.Errorf("%d in flight, took %v", r.peak, r.elapsed)
		}
	})
}

// A session may begin with several requests.
func TestSessionWithSeveralBegins(t *testing.T) {
	w := sessionsOf(t.TempDir(), []step{{wait: sec}, {wait: 3 * sec}, {[]int{0, 1}, sec}})
	w.Rate, w.Arrival = 1, constant(1).Arrival
	scene(t, workload.Load{Duration: workload.Span(time.Hour)}, w, always(sec), func(t *testing.T, r *rig, m Measured) {
		for i, want := range []time.Duration{0, 2 * sec, 4 * sec} {
			if got := r.byTurn(0)[i].At; got != want {
				t.Errorf("turn %d at %v, want %v", i, got, want)
			}
		}
	})
}

// What waits for a failed request is not sent, and counted once; the other branch goes on, and the worker is free
// after it.
func TestFailedBranch(t *testing.T) {
	for _, c := range []struct {
		fails []int
		lost  map[int]int
		sent  int
		next  time.Duration
	}{
		{[]int{1}, map[int]int{1: 1}, 4, 5 * sec},
		{[]int{2}, map[int]int{2: 2}, 3, 4 * sec},
		{[]int{1, 2}, map[int]int{1: 1, 2: 1}, 3, 4 * sec},
		{[]int{0}, map[int]int{0: 4}, 1, sec},
		{[]int{4}, map[int]int{}, 5, 6500 * milli},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := &rig{service: always(sec), fails: func(j *Job) bool {
				return j.Request.Session == 0 && slices.Contains(c.fails, j.Request.Turn)
			}}
			if _, err := r.run(t.Context(), workload.Load{Concurrency: 1, Duration: workload.Span(time.Hour)}, sessionsOf(t.TempDir(), copies(2, research)...)); err != nil {
				t.Fatal(err)
			}
			turns := r.byTurn(0)
			for turn, j := range turns {
				if j.Lost != c.lost[turn] {
					t.Errorf("fails %v: turn %d loses %d, want %d", c.fails, turn, j.Lost, c.lost[turn])
				}
			}
			if next := r.byTurn(1)[0].At; len(turns) != c.sent || next != c.next {
				t.Errorf("fails %v: %d sent, want %d; the next session at %v, want %v", c.fails, len(turns), c.sent, next, c.next)
			}
		})
	}
}

// The bodies of other requests with which a session begins do not delay the reading of the first one's answer.
func TestBeginsDoNotDelayTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{service: always(sec), follow: func(int) { time.Sleep(3 * sec) }}
		w := sessionsOf(t.TempDir(), []step{{}, {}, {[]int{0, 1}, 0}})
		if _, err := r.run(t.Context(), workload.Load{Concurrency: 1, Duration: workload.Span(time.Hour)}, w); err != nil {
			t.Fatal(err)
		}
		turns := r.byTurn(0)
		for turn, want := range []time.Duration{0, 3 * sec, 7 * sec} {
			if got := turns[turn].Result.Sent; got != want {
				t.Errorf("turn %d sent at %v, want %v", turn, got, want)
			}
		}
	})
}

// Turns that a failure loses in the plan's last session do not hold the window open.
func TestLostTurnsCloseTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{service: always(sec), fails: func(j *Job) bool { return j.Request.Turn == 1 }}
		m, err := r.run(t.Context(), workload.Load{Concurrency: 1, Duration: workload.Span(time.Hour)},
			sessionsOf(t.TempDir(), []step{{}, {[]int{0}, sec}, {[]int{1}, sec}, {[]int{2}, sec}}))
		if err != nil {
			t.Fatal(err)
		}
		wantWindow(t, m, 0, 2*sec)
	})
}

// Requests and bodies of a session are kept only while a turn that continues them is still to be made.
func TestSessionKeepsWhatItContinues(t *testing.T) {
	// 0 → 1 → 2 → 3 by answers; 4 continues 1, and waits for 3.
	text := `{"schema":"bench/trace/v1","grouped":true,"ends":true}
{"input_length":16,"output_length":1,"session":1,"node":1}
{"input_length":32,"output_length":1,"session":1,"node":2,"parents":[1]}
{"input_length":64,"output_length":1,"session":1,"node":3,"parents":[2]}
{"input_length":96,"output_length":1,"session":1,"node":4,"parents":[3]}
{"input_length":48,"output_length":1,"session":1,"node":5,"parents":[2,4]}
`
	file := filepath.Join(t.TempDir(), "chain.jsonl")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w := workload.Workload{Trace: &workload.Trace{}}
	w.Trace.File, w.Trace.Replay, w.Trace.Answers = file, "sessions", "server"
	for fails, want := range map[int][]int{-1: {1, 1, 2, 1, 0}, 1: {1, 0}, 2: {1, 1, 0}, 3: {1, 1, 2, 0}} {
		plan := workload.NewPlan(w, 1, "")
		c := &Config{Follow: func(first *workload.Request, turn int, job *Job, _ []byte) (*Job, []byte) {
			return &Job{Request: plan.Later(first, turn, &job.Request)}, nil
		}}
		first := &Job{Request: plan.Next()}
		s := newSession(first, nil)
		due, kept := []*Job{first}, []int(nil)
		for len(due) > 0 {
			job := due[0]
			due = due[1:]
			if job.Result.Outcome = openai.OK; job.Request.Turn == fails {
				job.Result.Outcome = openai.Status
			}
			next, _ := s.end(job, nil)
			kept = append(kept, len(s.sent))
			for _, turn := range next {
				due = append(due, s.follow(c, turn).job)
			}
		}
		plan.Close()
		if !slices.Equal(kept, want) {
			t.Errorf("turn %d fails: %v turns are kept, want %v", fails, kept, want)
		}
	}
}

// The window closes in the middle of sessions: their later turns belong to the cool-down, and the row ends with the
// window's requests.
func TestWindowClosesInASession(t *testing.T) {
	w := sessionsOf(t.TempDir(), copies(9, research)...)
	l := workload.Load{Concurrency: 2, Warmup: workload.Extent{Time: workload.Span(1500 * milli)}, Duration: workload.Span(2 * sec)}
	scene(t, l, w, always(sec), func(t *testing.T, r *rig, m Measured) {
		wantWindow(t, m, 1500*milli, 3500*milli)
		wantOutcomes(t, r, Warmup, 2, 0)
		wantOutcomes(t, r, Window, 4, 0) // the subagents of both, at 2 and 3 s
		if r.elapsed != 4*sec {
			t.Errorf("took %v", r.elapsed)
		}
	})
}

// TestSessionsEnd: nothing of a session outlives an interruption, a stop, a cut or a decision.
func TestSessionsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		load  workload.Load
		set   func(r *rig, after context.Context)
		err   error
		took  time.Duration
		in    Phase
		count int
	}{
		"interrupted":  {load: workload.Load{Concurrency: 1, Duration: workload.Span(time.Hour)}, err: context.Canceled, took: 3500 * milli, in: Window, count: 3},
		"stopped":      {load: workload.Load{Concurrency: 1, Duration: workload.Span(time.Hour)}, set: func(r *rig, c context.Context) { r.ends = c }, took: 3500 * milli, in: Window, count: 3},
		"decided":      {load: workload.Load{Concurrency: 1, Duration: workload.Span(time.Hour)}, set: func(r *rig, c context.Context) { r.decided, r.drain = c, time.Minute }, took: 3500 * milli, in: Window, count: 3},
		"max_duration": {load: workload.Load{Concurrency: 1, Duration: workload.Span(time.Hour), MaxDuration: workload.Span(3200 * milli)}, took: 3200 * milli, in: Window, count: 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				after, end := context.WithCancel(t.Context())
				defer end()
				time.AfterFunc(3200*milli, end)
				r, ctx := &rig{service: func(j *Job) time.Duration {
					if j.Request.Turn == 2 {
						return 500 * milli
					}
					return sec
				}}, t.Context()
				if c.set != nil {
					c.set(r, after)
				} else if c.err != nil {
					ctx = after
				}
				if _, err := r.run(ctx, c.load, sessionsOf(t.TempDir(), copies(9, research)...)); !errors.Is(err, c.err) {
					t.Fatal(err)
				}
				if n := len(r.in(c.in)); n != c.count || r.elapsed != c.took {
					t.Errorf("%d requests in %v, want %d in %v", n, r.elapsed, c.count, c.took)
				}
			})
		})
	}
}

// drawSession draws a graph of requests.
func drawSession(rt *rapid.T) (s []step) {
	n := rapid.IntRange(1, 7).Draw(rt, "requests")
	for i := range n {
		var parents []int
		for p := range i {
			if rapid.IntRange(0, 2).Draw(rt, "parent") == 0 {
				parents = append(parents, p)
			}
		}
		s = append(s, step{parents, time.Duration(rapid.IntRange(0, 3000).Draw(rt, "wait")) * milli})
	}
	return s
}

// TestOrderOfSessions: each request is sent its tool time after the last of those that it waits for; no more sessions
// run than there are workers; everything is sent once; and what is lost is what waits for a failure.
func TestOrderOfSessions(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		var sessions [][]step
		total := 0
		for range rapid.IntRange(1, 6).Draw(rt, "sessions") {
			sessions = append(sessions, drawSession(rt))
			total += len(sessions[len(sessions)-1])
		}
		w, l := sessionsOf(dir, sessions...), workload.Load{Concurrency: rapid.IntRange(0, 3).Draw(rt, "workers"), Duration: workload.Span(time.Hour)}
		if l.Concurrency == 0 || rapid.Bool().Draw(rt, "open") {
			w.Rate, w.Arrival = workload.Rate(1), constant(1).Arrival
		}
		failing := rapid.SampledFrom([]int{0, 0, 7}).Draw(rt, "failing")
		synctest.Test(t, func(t *testing.T) {
			r := &rig{
				service: func(j *Job) time.Duration { return time.Duration(1+j.Request.Index*7919%2000) * milli },
				fails:   func(j *Job) bool { return failing > 0 && j.Request.Index%failing == 2 },
			}
			if _, err := r.run(t.Context(), l, w); err != nil {
				rt.Fatal(err)
			}
			lost := 0
			for _, j := range r.jobs {
				lost += j.Lost
			}
			if len(r.jobs)+lost != total {
				rt.Fatalf("%d requests and %d lost of %d", len(r.jobs), lost, total)
			}
			checkOrder(rt, r, sessions)
			if most := checkWorkers(r, len(sessions)); l.Concurrency > 0 && most > l.Concurrency {
				rt.Fatalf("%d sessions at once on %d workers", most, l.Concurrency)
			}
		})
	})
}

func checkOrder(rt *rapid.T, r *rig, sessions [][]step) {
	for number, steps := range sessions {
		turns := r.byTurn(number)
		for i, s := range steps {
			j := turns[i]
			want, lost := time.Duration(0), false
			if i > 0 && len(s.parents) == 0 {
				want = turns[0].Ready + max(0, s.wait-steps[0].wait)
			}
			for _, p := range s.parents {
				if before := turns[p]; before == nil || before.Result.Outcome != openai.OK {
					lost = true
				} else {
					want = max(want, before.Result.End+s.wait)
				}
			}
			if lost != (j == nil) {
				rt.Fatalf("session %d, request %d: lost %v, sent %v", number, i, lost, j != nil)
			}
			if j != nil && i > 0 && (j.At != want || j.Result.Sent != want) {
				rt.Fatalf("session %d, request %d: at %v, sent %v, want %v", number, i, j.At, j.Result.Sent, want)
			}
		}
	}
}

// checkWorkers is the largest number of sessions in flight.
func checkWorkers(r *rig, sessions int) (most int) {
	type span struct{ from, to time.Duration }
	var spans []span
	for number := range sessions {
		s := span{from: time.Hour}
		for _, j := range r.byTurn(number) {
			s.from, s.to = min(s.from, j.Result.Sent), max(s.to, j.Result.End)
		}
		spans = append(spans, s)
	}
	for _, a := range spans {
		n := 0
		for _, b := range spans {
			if b.from <= a.from && a.from < b.to {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

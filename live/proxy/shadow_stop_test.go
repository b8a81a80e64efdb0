package proxy

import (
	"context"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"bench/experiment/openai"
)

var (
	good   = &openai.Result{Outcome: openai.OK}
	failed = &openai.Result{Outcome: openai.Status, Status: 500}
	badReq = &openai.Result{Outcome: openai.Status, Status: 400}
	left   = &openai.Result{Outcome: openai.Left}
)

// TestShadowStops checks what becomes of copies when copying ends.
func TestShadowStops(t *testing.T) {
	for _, c := range []struct{ reason, outcomes string }{
		{stoppedOperator, "none none"}, {stoppedErrors, "none none"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newCandidate(t, ShadowConfig{concurrency: 1}, stream)
				x.offer("u 1")
				x.offer("u 2")
				time.Sleep(1500 * time.Millisecond)
				x.shadow.stop(c.reason)
				x.shadow.stop(stoppedOperator) // the first reason stays
				time.Sleep(time.Minute)
				synctest.Wait()
				if got := x.outcomes(); got != c.outcomes {
					t.Error(got)
				}
				if n := x.shadow.counts(); n.Stopped != c.reason || n.AtUs != 1_500_000 || n.Dropped != 1 || n.Sent != 1 {
					t.Errorf("%+v", n)
				}
				x.end()
			})
		})
	}
}

func TestShadowClose(t *testing.T) {
	for _, patience := range []time.Duration{500 * time.Millisecond, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			x := newCandidate(t, ShadowConfig{}, stream)
			x.offer("u 1")
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			x.shadow.close(ctx)
			want := min(patience, 2*time.Second)
			if got := time.Since(x.started); got != want {
				t.Errorf("closed after %s, want %s", got, want)
			}
			if got := x.outcomes(); (got == "ok") != (patience == time.Minute) {
				t.Error(got)
			}
			x.end()
		})
	}
}

// TestShadowFailures checks which failures end copying: the candidate's own, and those that the primary has not.
func TestShadowFailures(t *testing.T) {
	const never = 1000
	for _, c := range []struct {
		name     string
		pair     func(i int) (primary, candidate *openai.Result)
		from, to int // copying ends after as many pairs
	}{
		{"all well", func(int) (a, b *openai.Result) { return good, good }, never, never},
		{"the candidate fails", func(int) (a, b *openai.Result) { return good, failed }, 5, 20},
		{"only the candidate finds fault", func(int) (a, b *openai.Result) { return good, badReq }, 5, 20},
		{"both find fault", func(int) (a, b *openai.Result) { return badReq, badReq }, never, never},
		{"the primary fails", func(int) (a, b *openai.Result) { return failed, good }, never, never},
		{"callers leave", func(int) (a, b *openai.Result) { return left, left }, never, never},
		{"a third", func(i int) (a, b *openai.Result) { return good, []*openai.Result{good, good, failed}[i%3] }, 15, 80},
		{"later a third", func(i int) (a, b *openai.Result) {
			return good, []*openai.Result{good, good, failed}[i%3*min(1, i/400)]
		}, 420, 600},
	} {
		r := newStopRules()
		n := 0
		for stopped := false; !stopped && n < never; n++ {
			a, b := c.pair(n)
			stopped = r.landed(measurement{b, io.EOF})
			if a.Outcome != openai.Left {
				stopped = r.ended(a, b) || stopped
			}
		}
		if n < c.from || n > c.to {
			t.Errorf("%s: %d pairs, want %d to %d", c.name, n, c.from, c.to)
		}
	}
	for _, m := range []measurement{{good, io.EOF}, {nil, errFlood}, {nil, io.EOF}, {failed, openai.ErrCallerLeft}} {
		r := newStopRules()
		for range maxRow - 1 {
			r.landed(m)
		}
		if got := r.landed(m); got != (m.end == errFlood) {
			t.Errorf("%v %v: %v", m.result, m.end, got)
		}
	}
	if blamesRequest(&openai.Result{Outcome: openai.Status, Status: http.StatusTooManyRequests}) {
		t.Error("429 blames the request")
	}
}

// TestExcessKeepsItsRisk simulates candidates at the limit: their excess is not beyond it.
func TestExcessKeepsItsRisk(t *testing.T) {
	runs, pairs := 400, 5000
	if testing.Short() {
		runs = 60
	}
	for _, c := range []struct{ primary, candidate, limit, atMost float64 }{
		{0, 0.05, 0.05, 0.05}, {0.02, 0.07, 0.05, 0.05}, {0.3, 0.35, 0.05, 0.05}, {0.02, 0.02, 0.05, 0.01}, {0.02, 0.02, 1e-9, 0.05},
	} {
		alarms := 0
		for run := range runs {
			rng := rand.New(rand.NewPCG(uint64(run), 7))
			e := newExcess(c.limit)
			for range pairs {
				if e.add(rng.Float64() < c.primary, rng.Float64() < c.candidate) {
					alarms++
					break
				}
			}
		}
		got := float64(alarms) / float64(runs)
		t.Logf("errors %v and %v, limit %v: alarm in %.1f %% of the runs", c.primary, c.candidate, c.limit, 100*got)
		if got > c.atMost+2*math.Sqrt(0.05*0.95/float64(runs)) {
			t.Errorf("%+v: alarm in %v of the runs", c, got)
		}
	}
}

// TestExcessFinds measures how many pairs an alarm takes, at once and behind a long good time.
func TestExcessFinds(t *testing.T) {
	runs := 40
	if testing.Short() {
		runs = 10
	}
	for _, c := range []struct {
		candidate float64
		good      int // pairs before
		within    int
	}{{1, 0, 10}, {0.5, 0, 40}, {0.3, 0, 90}, {0.15, 0, 600}, {1, 100_000, 50}, {0.3, 100_000, 220}} {
		var needed []int
		for run := range runs {
			rng := rand.New(rand.NewPCG(uint64(run), 9))
			e := newExcess(0.05)
			for range c.good {
				e.add(false, rng.Float64() < 0.01)
			}
			n := 1
			for !e.add(rng.Float64() < 0.01, rng.Float64() < c.candidate) && n < 10*c.within {
				n++
			}
			needed = append(needed, n)
		}
		slices.Sort(needed)
		t.Logf("error rate %v after %d good pairs: median %d pairs, at most %d", c.candidate, c.good, needed[runs/2], needed[runs-1])
		if needed[runs/2] > c.within {
			t.Errorf("error rate %v after %d good pairs: median %d pairs, want %d at most", c.candidate, c.good, needed[runs/2], c.within)
		}
	}
}

// TestStopUnread: an answer that could not be read is no failure.
func TestStopUnread(t *testing.T) {
	rules := newStopRules()
	for range 1000 {
		if rules.ended(&openai.Result{}, &openai.Result{Outcome: openai.OK}) || rules.ended(&openai.Result{Outcome: openai.OK}, &openai.Result{}) {
			t.Fatal("copying ended")
		}
	}
}

package load

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"bench/experiment/openai"
	"bench/experiment/workload"
)

// machines runs a load on several machines, each with its share of it. It returns all requests in the order of the plan,
// and the window.
func machines(t *testing.T, of int, l workload.Load, w workload.Workload, service func(*Job) time.Duration) (jobs []*Job, all Measured) {
	release, over := context.WithCancel(t.Context())
	defer over()
	var mu sync.Mutex
	var parts []Measured
	var rigs []*rig
	begin := time.Now().Add(100 * milli)
	for k := range of {
		if s := (workload.Share{Worker: k, Of: of, RowConcurrency: l.Concurrency, Seed: 3}); !s.Idle() {
			rigs = append(rigs, &rig{share: s, service: service, release: release})
		}
	}
	left := len(rigs)
	var running sync.WaitGroup
	for _, r := range rigs {
		r.start = func(context.Context) (time.Time, error) { return begin, nil }
		r.drained = sync.OnceFunc(func() {
			mu.Lock()
			defer mu.Unlock()
			if left--; left == 0 {
				over()
			}
		})
		running.Go(func() {
			m, err := r.run(t.Context(), l, w)
			if err != nil {
				t.Error(err)
			}
			r.drained() // its grace period may have ended the row
			mu.Lock()
			defer mu.Unlock()
			parts = append(parts, m)
		})
	}
	running.Wait()
	for _, r := range rigs {
		jobs = append(jobs, r.jobs...)
	}
	byIndex(jobs)
	return jobs, (&Config{Load: l, Rate: w.Rate}).Join(parts)
}

// counted are the requests of the window, with their intended arrivals if those are known before the row.
func counted(jobs []*Job, scheduled bool) (out []string) {
	for _, j := range jobs {
		switch {
		case j.Phase != Window:
		case scheduled:
			out = append(out, fmt.Sprintf("%d at %v, %v", j.Request.Index, j.At, j.Result.Outcome))
		default:
			out = append(out, fmt.Sprint(j.Request.Index))
		}
	}
	return out
}

// peakOf is the largest number of requests in flight.
func peakOf(jobs []*Job) int {
	type edge struct {
		at time.Duration
		by int
	}
	var edges []edge
	for _, j := range jobs {
		if j.Result.Sent != openai.Never {
			edges = append(edges, edge{j.Result.Sent, 1}, edge{j.Result.End, -1})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return a.by - b.by // a worker sends the next request when the one before has ended
	})
	now, most := 0, 0
	for _, e := range edges {
		now += e.by
		most = max(most, now)
	}
	return most
}

// Several machines send what one sends. In an open loop their window is the same and has the same arrivals; where requests
// are counted it has the same requests; and the concurrency of all is never above the row's.
func TestShares(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l, w, stalls := drawLoad(rt)
		if stalls || w.Rate == 0 && l.Warmup.Requests > 0 && l.Duration > 0 { // the latter is refused
			rt.Skip()
		}
		of := rapid.IntRange(1, 5).Draw(rt, "machines")
		mean := rapid.SampledFrom([]time.Duration{10 * milli, 300 * milli, 3 * sec}).Draw(rt, "mean")
		service := func(j *Job) time.Duration {
			return milli + mean*time.Duration(uint64(j.Request.Index)*0x9e3779b97f4a7c15>>7%100)/50
		}
		synctest.Test(t, func(t *testing.T) {
			one := &rig{service: service}
			m, err := one.run(t.Context(), l, w)
			if err != nil {
				t.Fatal(err)
			}
			byIndex(one.jobs)
			jobs, all := machines(t, of, l, w, service)
			seen := map[int]bool{}
			for _, j := range jobs {
				if seen[j.Request.Index] {
					t.Errorf("request %d was sent twice", j.Request.Index)
				}
				seen[j.Request.Index] = true
			}
			if peak := peakOf(jobs); l.Concurrency > 0 && peak > l.Concurrency {
				t.Errorf("%d requests in flight", peak)
			}
			c := Config{Load: l, Rate: w.Rate}
			scheduled := c.hasSchedule() && l.Concurrency == 0
			a, b := counted(one.jobs, scheduled), counted(jobs, scheduled)
			byCount := l.Requests > 0 && l.Duration == 0 && l.MaxDuration == 0
			if (scheduled || byCount && l.Warmup.Time == 0) && !slices.Equal(a, b) || byCount && len(a) != len(b) {
				t.Errorf("%d machines:\n%v, one:\n%v", of, b, a)
			}
			if (c.hasSchedule() || l.Requests == 0) && (all.Start != m.Start || all.End != m.End || all.Cut != m.Cut) {
				t.Errorf("%d machines: window %v to %v (%v), one: %v to %v (%v)", of, all.Start, all.End, all.Cut, m.Start, m.End, m.Cut)
			}
			for _, j := range jobs {
				if inside := j.At >= all.Start && j.At < max(all.End, all.Last+1); j.Phase == Window && !inside {
					t.Errorf("request %d of the window arrived at %v, not within %v to %v", j.Request.Index, j.At, all.Start, all.End)
				}
			}
		})
		if t.Failed() {
			rt.Fatal(of, " machines")
		}
	})
}

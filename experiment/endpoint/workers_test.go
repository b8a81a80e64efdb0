package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bench/experiment"
	"bench/experiment/mock"
	"bench/experiment/record"
	"bench/experiment/telemetry"
	"bench/experiment/workload"
)

// goroutines are workers of this process, each with its own connections. What they exchange passes through JSON.
type goroutines struct {
	servers []*Server
	late    time.Duration // of the common start
	change  func(*Share)  // of what a worker gets; nil: nothing
}

func (g *goroutines) Complete(context.Context) error { return nil }

func (g *goroutines) Drive(ctx context.Context, c DriveConfig) ([]ShareResult, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	release, over := context.WithCancel(ctx)
	defer over()
	var mu sync.Mutex
	var ready, draining sync.WaitGroup
	ready.Add(len(g.servers))
	draining.Add(len(g.servers))
	go func() {
		draining.Wait()
		over()
	}()
	start := sync.OnceValue(func() time.Time {
		at := time.Now().Add(20*time.Millisecond - g.late)
		c.Started(at)
		return at
	})
	results, fails := make([]ShareResult, len(g.servers)), make([]error, len(g.servers))
	var running sync.WaitGroup
	for k, s := range g.servers {
		own := ShareConfig{Release: release, Drained: sync.OnceFunc(draining.Done), Ends: c.Ends, Decided: c.Decided, Progress: &Progress{}}
		sent := sync.OnceFunc(ready.Done)
		own.Ready = func(context.Context) (time.Time, error) {
			sent()
			ready.Wait()
			mu.Lock()
			defer mu.Unlock()
			return start(), ctx.Err()
		}
		own.Each = func(r *record.Record) error {
			mu.Lock()
			defer mu.Unlock()
			mine := *r
			mine.Worker = &k
			err := c.Each(&mine)
			c.Progress.Sent.Add(1)
			if err != nil {
				cancel(err)
			}
			return err
		}
		own.Sample = func(sample telemetry.Sample) {
			mu.Lock()
			defer mu.Unlock()
			c.Sample(k, sample)
		}
		running.Go(func() {
			defer sent()
			defer own.Drained()
			var result *ShareResult
			if own.Share, fails[k] = g.share(c.Row, k); fails[k] == nil {
				result, fails[k] = s.RunShare(ctx, own)
			}
			if fails[k] != nil {
				cancel(fails[k])
				return
			}
			results[k] = *result
		})
	}
	running.Wait()
	return results, errors.Join(fails...)
}

// share is a worker's share as it arrives.
func (g *goroutines) share(row Share, k int) (share Share, err error) {
	row.Worker, row.Of = k, len(g.servers)
	text, err := json.Marshal(row)
	if err == nil {
		err = json.Unmarshal(text, &share)
	}
	if g.change != nil {
		g.change(&share)
	}
	return share, err
}

func crew(t *testing.T, s *Server, n int) *goroutines {
	t.Helper()
	g := &goroutines{}
	for range n {
		w, err := Reach(t.Context(), s.Target, s.options.BaseURL, "", []string{"completions"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.Close)
		g.servers = append(g.servers, w)
	}
	return g
}

// driven measures a point with workers; nil: without.
func driven(t *testing.T, s *Server, spec experiment.Spec, w Workers) (*record.Row, []*record.Record, error) {
	t.Helper()
	var records []*record.Record
	row, err := s.Run(t.Context(), RunConfig{Spec: &spec, ID: spec.Name, Salt: "salt", Workers: w, Each: func(r *record.Record) error {
		mine := *r
		records = append(records, &mine)
		return nil
	}})
	slices.SortFunc(records, func(a, b *record.Record) int { return a.I - b.I })
	return row, records, err
}

// sentOf are the requests of a row's window, by index, arrival and lengths.
func sentOf(records []*record.Record, arrivals bool) (out []string) {
	for _, r := range records {
		if r.Phase != record.PhaseWindow {
			continue
		}
		at := int64(0)
		if arrivals {
			at = r.Arrival.Us()
		}
		out = append(out, fmt.Sprint(r.I, at, *r.PromptTokens, r.OutputTokens, r.Outcome))
	}
	return out
}

// Four workers send what one process sends: the same requests at the same times. The row's figures are computed from the merged
// records.
func TestWorkers(t *testing.T) {
	t.Parallel()
	s := mocked(t, mock.Config{TTFT: 5 * time.Millisecond, ITL: time.Millisecond}, experiment.Target{}, "completions")
	length := workload.Length{Dist: "uniform", Min: 20, Max: 60}
	lengths := workload.Workload{Input: length, Output: workload.Length{Dist: "uniform", Min: 2, Max: 9}}
	open := lengths
	open.Rate = 300
	for _, tt := range []struct {
		name  string
		load  workload.Load
		w     workload.Workload
		exact bool // arrivals are known before the row
	}{
		{"an open loop", workload.Load{Warmup: workload.Extent{Time: workload.Span(100 * time.Millisecond)}, Duration: workload.Span(300 * time.Millisecond)}, open, true},
		{"under a cap", workload.Load{Concurrency: 6, Requests: 60}, open, true},
		{"a closed loop", workload.Load{Concurrency: 6, Warmup: workload.Extent{Requests: 7}, Requests: 50}, lengths, false},
		{"one worker of a closed loop", workload.Load{Concurrency: 1, Requests: 10}, lengths, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spec := experiment.Spec{Name: "row", Workload: tt.w, Load: tt.load, Repeat: 1}
			_, alone, err := driven(t, s, spec, nil)
			if err != nil {
				t.Fatal(err)
			}
			row, records, err := driven(t, s, spec, crew(t, s, 4))
			if err != nil {
				t.Fatal(err)
			}
			if a, b := sentOf(alone, tt.exact), sentOf(records, tt.exact); !slices.Equal(a, b) {
				t.Errorf("one process:\n%s\nfour workers:\n%s", strings.Join(a, "\n"), strings.Join(b, "\n"))
			}
			holdToRecords(t, row, records, experiment.Target{})
			holdWorkers(t, row, records)
		})
	}
}

func holdWorkers(t *testing.T, row *record.Row, records []*record.Record) {
	t.Helper()
	most, sent := row.Spec.Concurrency, map[int]int{}
	if n := row.Summary.Concurrency.Max; most > 0 && n > most {
		t.Errorf("%d requests in flight, concurrency %d", n, most)
	}
	for _, r := range records {
		share := row.Spec.Share(*r.Worker, len(row.Workers))
		if !share.Owns(r.I) {
			t.Errorf("worker %d sent request %d", *r.Worker, r.I)
		}
		sent[*r.Worker]++
	}
	if len(row.Workers) != 4 || row.Client != nil || row.Selftest != nil {
		t.Fatalf("%d workers, client %v", len(row.Workers), row.Client)
	}
	total := 0
	for k, w := range row.Workers {
		total += w.Concurrency
		if w.Worker != k || w.Sent > sent[k] || w.MaxInFlight > max(w.Concurrency, sent[k]) || w.Sent > 0 && w.Clock.KernelStamps+w.Clock.UserStamps == 0 {
			t.Errorf("%d records of worker %+v", sent[k], w)
		}
	}
	if total != most {
		t.Errorf("the workers have a concurrency of %d together, want %d", total, most)
	}
}

// A worker whose plan or bodies are not the leader's refuses the row.
func TestWorkerRefuses(t *testing.T) {
	t.Parallel()
	s := mocked(t, mock.Config{}, experiment.Target{}, "completions")
	spec := experiment.Spec{Name: "row", Repeat: 1, Load: workload.Load{Concurrency: 2, Requests: 4},
		Workload: workload.Workload{Input: workload.Fixed(20), Output: workload.Fixed(2)}}
	for problem, change := range map[string]func(*Share){
		"the plan of row is not the leader's":    func(s *Share) { s.Plan = "other" },
		"encodes other requests than the leader": func(s *Share) { s.Bodies = "other" },
	} {
		g := crew(t, s, 2)
		g.change = change
		if _, _, err := driven(t, s, spec, g); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%v, want %s", err, problem)
		}
	}
}

// Workers that get the start too late show it as client lag, and state it.
func TestWorkersLate(t *testing.T) {
	t.Parallel()
	s := mocked(t, mock.Config{}, experiment.Target{}, "completions")
	spec := experiment.Spec{Name: "row", Repeat: 1, Load: workload.Load{Requests: 20},
		Workload: workload.Workload{Rate: 100, Input: workload.Fixed(20), Output: workload.Fixed(2)}}
	g := crew(t, s, 2)
	g.late = 170 * time.Millisecond
	row, records, err := driven(t, s, spec, g)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range row.Workers {
		if w.StartLateUs < 150_000 {
			t.Errorf("worker %d states that it was %d µs late", w.Worker, w.StartLateUs)
		}
	}
	if lag, ok := records[0].Latency("lag", true); !ok || lag < 100 {
		t.Errorf("lag of the first request: %v ms", lag)
	}
}

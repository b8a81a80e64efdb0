package workers

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/record"
	"bench/experiment/target"
)

func TestRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newRig(t, 3)
		x.leader.began = x.leader.began.Add(-500 * time.Millisecond) // the leader's clock is another one
		starts := make(chan time.Time, 6)
		for range 3 { // they get their numbers
			x.run(x.ctx, x.worker(-1, func(ctx context.Context, c endpoint.ShareConfig) (*endpoint.ShareResult, error) {
				ready := c.Ready
				c.Ready = func(ctx context.Context) (time.Time, error) {
					at, err := ready(ctx)
					starts <- at
					return at, err
				}
				return each(ctx, c)
			}))
		}
		x.complete()
		for range 2 { // rows
			var epoch time.Time
			progress := new(endpoint.Progress)
			got, results, err := x.drive(x.ctx, endpoint.DriveConfig{Started: func(at time.Time) { epoch = at }, Progress: progress})
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != 100 || progress.Sent.Load() != 100 {
				t.Errorf("%d records, %d sent, want 100", len(got), progress.Sent.Load())
			}
			share := (&experiment.Spec{}).Share(0, 3)
			for i, r := range got {
				if r.Worker == nil || *r.Worker != share.Owner(i) {
					t.Errorf("record %d is of worker %v", i, r.Worker)
				}
			}
			for k, r := range results {
				if r.Worker.Worker != k || r.Worker.Host != "host--1" || r.Worker.Sent != (&experiment.Spec{}).Share(k, 3).Among(100) || r.Worker.RTTUs > 1 {
					t.Errorf("result %d is %+v", k, r.Worker)
				}
				if at := <-starts; !at.Equal(epoch) {
					t.Errorf("a worker started %v after the others", at.Sub(epoch))
				}
			}
		}
	})
}

// TestLostAnswers loses answers of every kind of request: each record is taken once all the same.
func TestLostAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newRig(t, 2)
		r := rand.New(rand.NewPCG(1, 2))
		lost := 0
		var mu sync.Mutex
		x.fail = func(q *http.Request) error {
			mu.Lock()
			defer mu.Unlock()
			if strings.HasSuffix(q.URL.Path, "/clock") || r.Float64() > 0.4 {
				return nil
			}
			lost++
			return errors.New("connection reset by peer")
		}
		for k := range 2 {
			x.run(x.ctx, x.worker(k, each))
		}
		x.complete()
		got, _, err := x.drive(x.ctx, endpoint.DriveConfig{})
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 100 || lost < 3 {
			t.Errorf("%d records came, %d answers were lost", len(got), lost)
		}
	})
}

// TestClock has round trips that are slow on one way: the start is wrong by half of the fastest one at most.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newRig(t, 1)
		r := rand.New(rand.NewPCG(1, 2))
		var mu sync.Mutex
		x.fail = func(*http.Request) error { // the way back
			mu.Lock()
			slow := time.Duration(r.ExpFloat64() * float64(20*time.Millisecond))
			mu.Unlock()
			time.Sleep(3*time.Millisecond + slow)
			return nil
		}
		var start, epoch time.Time
		x.run(x.ctx, x.worker(0, func(ctx context.Context, c endpoint.ShareConfig) (*endpoint.ShareResult, error) {
			var err error
			start, err = c.Ready(ctx)
			return &endpoint.ShareResult{}, err
		}))
		x.complete()
		_, results, err := x.drive(x.ctx, endpoint.DriveConfig{Started: func(at time.Time) { epoch = at }})
		if err != nil {
			t.Fatal(err)
		}
		skew := start.Sub(epoch).Abs()
		if w := results[0].Worker; skew == 0 || skew > time.Duration(w.StartSkewUs+1)*time.Microsecond || w.StartSkewUs > 5000 {
			t.Errorf("the start is %v off; stated %+v", skew, w)
		}
	})
}

// TestLateStart delays the start's way to one worker: it gets the common start, which is past.
func TestLateStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newRig(t, 2)
		late := make(chan time.Duration, 2)
		for k := range 2 {
			w := x.worker(k, func(ctx context.Context, c endpoint.ShareConfig) (*endpoint.ShareResult, error) {
				ready := c.Ready
				c.Ready = func(ctx context.Context) (time.Time, error) {
					at, err := ready(ctx)
					if c.Worker == 1 {
						time.Sleep(time.Second) // the machine was busy
					}
					late <- time.Since(at)
					return at, err
				}
				return each(ctx, c)
			})
			x.run(x.ctx, w)
		}
		x.complete()
		got, _, err := x.drive(x.ctx, endpoint.DriveConfig{})
		if err != nil || len(got) != 100 {
			t.Fatal(len(got), err)
		}
		if first, second := <-late, <-late; first >= 0 || second < 800*time.Millisecond {
			t.Errorf("the workers were %v and %v late", first, second)
		}
	})
}

// TestTarget checks that the target comes as it was, with what its JSON does not have.
func TestTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newRig(t, 1)
		w := x.worker(0, each)
		x.run(x.ctx, w)
		x.complete()
		want := experiment.Target{Target: target.Target{
			Model: "m", Headers: map[string]string{"X-Env": "prod"}, Proxy: "http://proxy:3128",
			ExtraBody: map[string]any{"top_k": int64(1 << 60), "temperature": 0.5, "tags": []any{int64(1), "a"}},
		}}
		if _, _, err := x.drive(x.ctx, endpoint.DriveConfig{Server: endpoint.ServerAddress{Target: want}}); err != nil {
			t.Fatal(err)
		}
		got := w.target.server.(*fake).got
		if got.Headers["X-Env"] != "prod" || got.Proxy != want.Proxy || got.ExtraBody["top_k"] != int64(1<<60) || got.ExtraBody["temperature"] != 0.5 ||
			got.ExtraBody["tags"].([]any)[0] != int64(1) {
			t.Errorf("the target is %#v", got)
		}
	})
}

// TestEnds checks that the ends of a window and of a row reach the workers.
func TestEnds(t *testing.T) {
	for _, which := range []string{"ends", "decided"} {
		t.Run(which, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newRig(t, 1)
				x.run(x.ctx, x.worker(0, func(ctx context.Context, c endpoint.ShareConfig) (*endpoint.ShareResult, error) {
					if _, err := c.Ready(ctx); err != nil {
						return nil, err
					}
					select {
					case <-map[string]context.Context{"ends": c.Ends, "decided": c.Decided}[which].Done():
						return &endpoint.ShareResult{}, nil
					case <-time.After(time.Hour):
						return nil, errors.New("the end did not come")
					}
				}))
				x.complete()
				end, cancel := context.WithCancel(x.ctx)
				c := endpoint.DriveConfig{Started: func(time.Time) { time.AfterFunc(time.Second, cancel) }}
				if which == "ends" {
					c.Ends = end
				} else {
					c.Decided = end
				}
				if _, _, err := x.drive(x.ctx, c); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// TestSamples checks that samples come with the number of their worker.
func TestSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newRig(t, 1)
		x.run(x.ctx, x.worker(0, func(ctx context.Context, c endpoint.ShareConfig) (*endpoint.ShareResult, error) {
			if _, err := c.Ready(ctx); err != nil {
				return nil, err
			}
			c.Sample(record.Sample{Source: "client", TUs: 7})
			return &endpoint.ShareResult{}, nil
		}))
		x.complete()
		var got []record.Sample
		_, _, err := x.drive(x.ctx, endpoint.DriveConfig{Sample: func(k int, s record.Sample) { got = append(got, s) }})
		if err != nil || len(got) != 1 || got[0].TUs != 7 {
			t.Errorf("samples %v, error %v", got, err)
		}
	})
}

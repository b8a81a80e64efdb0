package load

import (
	"context"
	"slices"
	"testing"
	"time"

	"bench/experiment/workload"
)

// In real time no wait ends early. BenchmarkWaitUntil reports how late they end.
func TestWaitUntilIsNeverEarly(t *testing.T) { realWaits(t) }

// BenchmarkWaitUntil reports the median lateness in µs.
func BenchmarkWaitUntil(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(float64(realWaits(b).Microseconds()), "µs-late")
	}
}

// realWaits is the median lateness of 41 waits of up to 3.6 ms.
func realWaits(t testing.TB) time.Duration {
	late := make([]time.Duration, 41)
	for i := range late {
		at := time.Now().Add(time.Duration(i%5) * 900 * time.Microsecond)
		waitUntil(t.Context(), at)
		if late[i] = time.Since(at); late[i] < 0 {
			t.Fatalf("woke %v early", -late[i])
		}
	}
	slices.Sort(late)
	return late[len(late)/2]
}

// It returns when its context ends: if it does not, the test hangs.
func TestWaitUntilObeysItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	waitUntil(ctx, time.Now().Add(24*time.Hour))
}

// In real time, with the production Wait.
func TestRunInRealTime(t *testing.T) {
	w := constant(200)
	w.Input, w.Output = workload.Fixed(16), workload.Fixed(1)
	n := 0
	m, err := Run(t.Context(), Config{
		Load: workload.Load{Requests: 40}, Rate: w.Rate, Plan: workload.NewPlan(w, 1, ""),
		Encode: func(*workload.Request) []byte { return nil },
		Send: func(_ context.Context, j *Job, _ []byte, epoch time.Time) func() {
			if time.Since(epoch) < j.At {
				t.Errorf("request %d was sent early", j.Request.Index)
			}
			return func() {}
		},
		Each: func(j *Job) error {
			if j.Phase == Window {
				n++
			}
			return nil
		},
	})
	if err != nil || n != 40 || m.Start != 0 || m.End != 200*milli {
		t.Errorf("%d requests, %+v, %v", n, m, err)
	}
}

// BenchmarkDispatch is what a request costs the driver in a closed loop, from worker to worker.
func BenchmarkDispatch(b *testing.B) {
	for name, workers := range map[string]int{"1": 1, "64": 64} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			w := workload.Workload{Input: workload.Fixed(16), Output: workload.Fixed(1)}
			_, err := Run(b.Context(), Config{
				Load: workload.Load{Concurrency: workers, Requests: b.N}, Plan: workload.NewPlan(w, 1, ""),
				Encode: func(*workload.Request) []byte { return nil },
				Send:   func(context.Context, *Job, []byte, time.Time) func() { return func() {} },
				Each:   func(*Job) error { return nil },
			})
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}

package live

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/record"
	"bench/experiment/workload"
	"bench/sweep"
)

// tick returns a live view at the start of its row.
func tick(w io.Writer, end func(error)) (*Tiling, *endpoint.Progress) {
	return tickUntil(w, end, nil)
}

func tickUntil(w io.Writer, end func(error), told <-chan struct{}) (*Tiling, *endpoint.Progress) {
	l := &Tiling{View: &View{W: w, Every: 5 * time.Second, Interrupted: told}, End: end}
	p := &endpoint.Progress{}
	l.Event(sweep.Event{Begun: &sweep.Begun{Progress: p, Spec: &experiment.Spec{Load: workload.Load{Warmup: workload.Extent{Requests: 61}}}}})
	return l, p
}

// ended is a request with a TTFT of 2 s, and two gaps of 0.5 s.
func ended(outcome string) *record.Record {
	return &record.Record{Phase: record.PhaseWindow, Outcome: outcome, Error: "HTTP 500", PromptRequested: 990, PromptTokens: new(1000), CachedTokens: new(900),
		Arrival: record.At(1e6), First: record.At(3e6), Last: record.At(4e6), Gaps: record.Pack(500_000, 500_000)}
}

// The metrics in order, in seconds and tokens; an interval without a finished request is printed too.
func TestTilingMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w bytes.Buffer
		l, p := tick(&w, nil)
		p.Sent.Store(3)
		p.Counter.Prompt.Add(2000)
		p.Counter.Output.Add(6)
		p.Each(ended("ok"))
		p.Each(ended("status"))
		cut := ended("unfinished")
		cut.Phase = record.PhaseCooldown
		p.Each(cut)
		cut.Phase = record.PhaseWarmup
		p.Each(cut)
		p.Done.Store(2)
		time.Sleep(10*time.Second + time.Millisecond)
		l.Stop()
		blocks := strings.Split(w.String(), "\n\n")
		want := []string{`Elapsed Time: 5.00
Total Number of Requests Processed: 2
QPS: 0.20
Global Average TTFT: 2.000
Global Average ITL: 0.5000
Global Average Prefill Throughput: 400.00
Global Average Decode Throughput: 1.20
Requests Processed in Last 5 second Interval: 2
Interval Average TTFT: 2.000
Interval Average ITL: 0.5000
Interval Average Prefill Throughput: 400.00
Interval Average Decode Throughput: 1.20
Interval TTFT p50 / p99: 2.000 / 2.000 (n=1)
Errors: 1 in the interval, 1 in all
Cache Hits: 90.0 % of the interval's prompt tokens, 90.0 % of all
Inflight Requests: 1
Phase: warm-up, not counted: 3 of 61 requests`, `Elapsed Time: 10.00
Total Number of Requests Processed: 2
QPS: 0.10
Global Average TTFT: 2.000
Global Average ITL: 0.5000
Global Average Prefill Throughput: 200.00
Global Average Decode Throughput: 0.60
Requests Processed in Last 5 second Interval: 0
Interval Average TTFT: -
Interval Average ITL: -
Interval Average Prefill Throughput: 0.00
Interval Average Decode Throughput: 0.00
Interval TTFT p50 / p99: -
Errors: 0 in the interval, 1 in all
Cache Hits: - of the interval's prompt tokens, 90.0 % of all
Inflight Requests: 1
Phase: warm-up, not counted: 3 of 61 requests
nothing finished for 10 s`}
		for i := range want {
			if blocks[i] != want[i] {
				t.Errorf("interval %d:\n%s\nwant\n%s", i, blocks[i], want[i])
			}
		}
	})
}

// A server that fails all requests for 30 s ends the run; one success in between keeps it.
func TestTilingEndsWhenAllFails(t *testing.T) {
	for name, good := range map[string]bool{"nothing else": false, "one success": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var cause error
				l, p := tick(io.Discard, func(err error) { cause = cmp.Or(cause, err) })
				for i := range 31 {
					time.Sleep(time.Second)
					if good && i == 15 {
						p.Each(ended("ok"))
					} else {
						p.Each(ended("status"))
					}
				}
				l.Stop()
				var failing *FailingError
				if errors.As(cause, &failing) == good {
					t.Errorf("%v", cause)
				}
				if !good && !strings.Contains(cause.Error(), "every request of the last 30s failed (31 requests); the last one: status: HTTP 500\nhint: ") {
					t.Errorf("%v", cause)
				}
			})
		})
	}
}

// A single slow failure does not end the run, and requests that the row's end cut are no failures.
func TestTilingGoesOnAfterAFailure(t *testing.T) {
	for name, outcomes := range map[string][]string{"a slow failure": {"ok", "timeout", "ok", "timeout"}, "cut off": {"ok", "status", "unfinished", "cancelled"}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, p := tick(io.Discard, func(err error) { t.Errorf("it ended: %v", err) })
				for _, outcome := range outcomes {
					time.Sleep(2 * failingTime)
					p.Each(ended(outcome))
				}
				l.Stop()
			})
		})
	}
}

// An interrupt is shown at once, with the effect of a second one.
func TestTilingSaysThatItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w bytes.Buffer
		told := make(chan struct{})
		l, _ := tickUntil(&w, nil, told)
		time.Sleep(time.Second)
		synctest.Wait()
		if w.Len() > 0 {
			t.Errorf("before: %s", &w)
		}
		close(told)
		synctest.Wait()
		if !strings.Contains(w.String(), "Elapsed Time: 1.00\n") || !strings.Contains(w.String(), "\nPhase: draining requests in flight, ") {
			t.Errorf("it said %q", &w)
		}
		l.Stop()
	})
}

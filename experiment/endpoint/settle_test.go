package endpoint

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bench/experiment"
	"bench/experiment/mock"
	"bench/experiment/record"
	"bench/experiment/target"
	"bench/experiment/telemetry"
	"bench/experiment/workload"
)

// TestSettle: a server that does not notice that its client has gone computes what a row cancels at its end. The next
// row waits for it, or says that it did not wait long enough; it never takes it for another client's.
func TestSettle(t *testing.T) {
	for _, tt := range []struct {
		name    string
		longest workload.Span
		metrics string
		check   string // whether the row began behind earlier requests
	}{
		{"waits", 0, "", "passed"},
		{"too short", workload.Span(time.Millisecond), "", "failed"},
		{"without metrics", 0, telemetry.Off, "failed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := mocked(t, mock.Config{MaxNumSeqs: 2, StepBase: 5 * time.Millisecond, IgnoreDisconnect: true}, experiment.Target{}, target.Completions)
			s.OpenTelemetry(t.Context(), Telemetry{Server: telemetry.Pages{Source: tt.metrics}, GPU: telemetry.Off}, record.RooflineSource{})
			flood := point()
			flood.Rate, flood.Warmup, flood.Requests, flood.Output, flood.Grace = 400, workload.Extent{}, 20, workload.Fixed(20), workload.Span(time.Millisecond)
			first := run(t, s, &flood)
			if first.Server.Abandoned != 0 || tt.metrics == "" && (first.Server.Settle == nil || !first.Server.Settle.Idle()) {
				t.Errorf("the first row began with %+v, %d abandoned", first.Server.Settle, first.Server.Abandoned)
			}
			after := point()
			after.Concurrency, after.Settle = 1, tt.longest
			second := run(t, s, &after)
			settle, n := second.Server.Settle, second.Server.Abandoned
			switch tt.name {
			case "waits":
				if settle == nil || !settle.Idle() || settle.WaitedS <= 0 || n != 0 || s.Abandoned != 0 {
					t.Errorf("settled %+v, %d abandoned", settle, n)
				}
			case "too short":
				if settle.Idle() || n < 1 {
					t.Errorf("settled %+v, %d abandoned", settle, n)
				}
			case "without metrics":
				if settle != nil || n < 10 {
					t.Errorf("settled %+v, %d abandoned", settle, n)
				}
			}
			var behind, shared bool
			for _, f := range second.Findings {
				behind = behind || strings.HasPrefix(f.Text, "the row began behind ") || strings.HasPrefix(f.Text, "the row before gave up ")
				shared = shared || strings.Contains(f.Text, "another client uses it")
			}
			if behind != (tt.check == "failed") || shared {
				t.Errorf("findings %+v", second.Findings)
			}
		})
	}
}

// run measures a point on a server.
func run(t *testing.T, s *Server, spec *experiment.Spec) *record.Row {
	t.Helper()
	row, err := s.Run(t.Context(), RunConfig{Spec: spec, ID: "row-r1", Salt: spec.Name, Each: func(*record.Record) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// page is a metrics page whose figures follow from the time since the bubble began.
type page struct {
	engine string
	at     func(since time.Duration) (running, waiting, tokens float64) // running < 0: no answer
	began  time.Time
}

func newPage(engine string, at func(time.Duration) (running, waiting, tokens float64)) *page {
	return &page{engine, at, time.Now()}
}

func (p *page) read(context.Context) (*telemetry.ServerReading, bool) {
	running, waiting, tokens := p.at(time.Since(p.began))
	if running < 0 {
		return nil, true
	}
	return &telemetry.ServerReading{Engine: p.engine, Running: &running, Waiting: &waiting, Generated: &tokens}, true
}

func still(time.Duration) (running, waiting, tokens float64) { return 3, 5, 77 }

// TestSettleWaits: how long, and what is recorded.
func TestSettleWaits(t *testing.T) {
	until := func(end time.Duration) func(time.Duration) (running, waiting, tokens float64) {
		return func(since time.Duration) (running, waiting, tokens float64) {
			if since >= end {
				return 0, 0, 1000
			}
			return 4, (end - since).Seconds(), float64(since)
		}
	}
	gone := func(since time.Duration) (running, waiting, tokens float64) { return -1, 0, 0 }
	for _, tt := range []struct {
		name, engine  string
		at            func(time.Duration) (running, waiting, tokens float64)
		longest       time.Duration
		least, most   time.Duration
		idle, unknown bool
	}{
		{"idle", "vllm", until(0), time.Minute, 0, 0, true, false},
		{"soon", "vllm", until(2 * time.Second), time.Minute, 2 * time.Second, 3 * time.Second, true, false},
		{"never", "vllm", still, 20 * time.Second, 20 * time.Second, 20 * time.Second, false, false},
		{"SGLang's gauges of long ago", "sglang", still, time.Minute, staleAfter, staleAfter + longestPoll, true, false},
		{"SGLang at work", "sglang", until(20 * time.Second), time.Minute, 20 * time.Second, 21 * time.Second, true, false},
		{"gone", "vllm", gone, time.Minute, 0, time.Second, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPage(tt.engine, tt.at)
				settled, err := settle(t.Context(), p.read, tt.longest, nil, new(Progress))
				if took := time.Since(p.began); err != nil || took < tt.least || took > tt.most {
					t.Errorf("%v after %v", err, took)
				}
				if settled.Idle() != tt.idle || (settled == nil) != tt.unknown {
					t.Errorf("settled %+v", settled)
				}
			})
		})
	}
}

// TestSettleEnds: the end of the context, or of the row, ends the wait at once.
func TestSettleEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPage("vllm", still)
		ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
		defer cancel()
		progress := new(Progress)
		time.AfterFunc(5*time.Second, func() {
			if n := progress.Snapshot().Settling; n != 8 {
				t.Errorf("the display has %d requests in the server", n)
			}
		})
		if _, err := settle(ctx, p.read, time.Minute, nil, progress); !errors.Is(err, context.DeadlineExceeded) || time.Since(p.began) != 7*time.Second {
			t.Errorf("%v after %v", err, time.Since(p.began))
		}
		ended := make(chan struct{})
		time.AfterFunc(3*time.Second, func() { close(ended) })
		settled, err := settle(t.Context(), p.read, time.Minute, ended, progress)
		if err != nil || time.Since(p.began) != 10*time.Second || settled.Idle() || progress.Snapshot().Settling != 0 {
			t.Errorf("%+v, %v after %v", settled, err, time.Since(p.began))
		}
	})
}

package endpoint

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"

	"bench/experiment/openai"
	"bench/experiment/record"
	"bench/experiment/telemetry"
)

const (
	firstPoll   = 100 * time.Millisecond
	longestPoll = time.Second
	mostFailed  = 3 // readings in a row; a server that is gone must not cost the longest wait
	// staleAfter is how long SGLang's page stays the same until its server computes nothing. It renews the gauges
	// with each batch, but when it is idle only every 30 s (scheduler_runtime_checker_mixin.py).
	staleAfter = 5 * time.Second
)

// settle waits until the server has no requests, at most for a time, so that a row does not begin behind those of
// the row before. nil: the server does not report its requests. ended, when it is done, ends the wait.
func (s *Server) settle(ctx context.Context, longest time.Duration, ended <-chan struct{},
	p *Progress) (*record.Settle, error) {
	if s.sources == nil {
		return nil, ctx.Err()
	}
	settled, err := settle(ctx, s.sources.ReadServer, longest, ended, p)
	if settled != nil && settled.Idle() {
		s.Abandoned = 0
	}
	return settled, err
}

func settle(ctx context.Context, read func(context.Context) (r *telemetry.ServerReading, ok bool),
	longest time.Duration,
	ended <-chan struct{}, p *Progress) (*record.Settle, error) {
	defer p.change(func(s *Snapshot) { s.Settling = 0 })
	w := &settling{began: time.Now()}
	for pause := firstPoll; ; pause = min(pause*3/2, longestPoll) {
		r, ok := read(ctx)
		left := longest - time.Since(w.began)
		if !ok || ctx.Err() != nil || w.add(r) || left <= 0 {
			break
		}
		p.change(func(s *Snapshot) { s.Settling = int(w.running + w.waiting) })
		timer := time.NewTimer(min(pause, left))
		select {
		case <-timer.C:
			continue
		case <-ended:
		case <-ctx.Done():
		}
		timer.Stop()
		break
	}
	if w.last == nil || ctx.Err() != nil {
		return nil, ctx.Err()
	}
	took := telemetry.Round(time.Since(w.began).Seconds(), 3)
	return &record.Settle{WaitedS: took, Running: w.running, Waiting: w.waiting, Stale: w.stale}, nil
}

type settling struct {
	began            time.Time
	last             *telemetry.ServerReading // nil: none yet
	since            time.Time                // when last was read first
	running, waiting float64                  // requests, by last
	stale            bool
	failed           int // readings since last
}

func (w *settling) add(r *telemetry.ServerReading) (over bool) {
	if r == nil {
		w.failed++
		return w.failed >= mostFailed
	}
	w.failed = 0
	if r.Running == nil && r.Waiting == nil {
		w.last = nil
		return true
	}
	if w.last == nil || !reflect.DeepEqual(w.last, r) {
		w.last, w.since = r, time.Now()
	}
	w.running, w.waiting = value(r.Running), value(r.Waiting)
	w.stale = r.Engine == "sglang" && time.Since(w.since) >= staleAfter
	return w.stale || w.running+w.waiting == 0
}

// value is a gauge; 0: not reported.
func value(gauge *float64) float64 {
	if gauge == nil {
		return 0
	}
	return *gauge
}

const (
	loadingPause = 500 * time.Millisecond // between two tries
	loadingEvery = 10 * time.Second       // between two calls of progress
)

// AwaitLoaded calls reach while the server loads its model, and passes its answer to progress at once and every 10 s.
func AwaitLoaded(ctx context.Context, limit time.Duration, progress func(waited time.Duration, answer string),
	reach func() (*Server, error)) (*Server, error) {
	began := time.Now()
	next := began // call of progress
	for {
		s, err := reach()
		r := Failed(err)
		if r == nil || !loading(r) {
			return s, err
		}
		now := time.Now()
		if now.Sub(began) >= limit {
			return nil, fmt.Errorf("the server still loads its model after %v: %w", limit, err)
		}
		if !now.Before(next) {
			progress(now.Sub(began), r.Error)
			next = now.Add(loadingEvery)
		}
		if pause(ctx, loadingPause); ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
}

// Failed is the request at which Reach failed; nil: err has another reason.
func Failed(err error) *openai.Result {
	probe, request := new(ProbeError), new(openai.FailedError)
	switch {
	case errors.As(err, &probe):
		return &probe.Result
	case errors.As(err, &request):
		return &request.Result
	}
	return nil
}

// loading reports whether a server is not ready: llama.cpp answers "Loading model", gateways send Retry-After.
func loading(r *openai.Result) bool {
	return r.Status == http.StatusServiceUnavailable &&
		(strings.Contains(strings.ToLower(r.Error), "loading") || r.Header.Get("Retry-After") != "")
}

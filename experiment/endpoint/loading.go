package endpoint

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"bench/experiment/openai"
)

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

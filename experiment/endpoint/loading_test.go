package endpoint

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bench/experiment"
	"bench/experiment/openai"
	"bench/experiment/target"
)

func answered(status int, text, retryAfter string) error {
	r := openai.Result{Outcome: openai.Status, Status: status, Error: text, Header: http.Header{}}
	if retryAfter != "" {
		r.Header.Set("Retry-After", retryAfter)
	}
	return &ProbeError{Result: r}
}

// TestAwaitLoaded: only a server that loads is waited for, within the limit.
func TestAwaitLoaded(t *testing.T) {
	loads := answered(503, "HTTP 503: Loading model", "")
	tests := []struct {
		name     string
		err      error
		tries    int // that fail
		waited   time.Duration
		progress int
		text     string
	}{
		{"at once", nil, 0, 0, 0, ""},
		{"loads for 25 s", loads, 50, 25 * time.Second, 3, ""},
		{"Retry-After", answered(503, "HTTP 503: wait", "3"), 2, time.Second, 1, ""},
		{"loads for ever", loads, 1e6, time.Minute, 6, "the server still loads its model after 1m0s: "},
		{"busy", answered(503, "HTTP 503: busy", ""), 1e6, 0, 0, "busy"},
		{"another status", answered(500, "HTTP 500: Loading model", ""), 1e6, 0, 0, "500"},
		{"no answer", errors.New("loading"), 1e6, 0, 0, "loading"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, tries, progress := time.Now(), 0, 0
				s, err := AwaitLoaded(t.Context(), time.Minute, func(time.Duration, string) { progress++ }, func() (*Server, error) {
					if tries++; tries <= tt.tries {
						return nil, tt.err
					}
					return new(Server), nil
				})
				if (s == nil) != (err != nil) || (err == nil) != (tt.text == "") || err != nil && !strings.Contains(err.Error(), tt.text) {
					t.Errorf("%v, %v", s, err)
				}
				if waited := time.Since(began); waited != tt.waited || progress != tt.progress {
					t.Errorf("waited %v with %d calls of progress, want %v and %d", waited, progress, tt.waited, tt.progress)
				}
			})
		})
	}
}

func TestAwaitLoadedIsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := AwaitLoaded(ctx, time.Hour, func(time.Duration, string) {}, func() (*Server, error) {
			return nil, answered(503, "Loading model", "")
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

// TestReachReportsLoading: a failed model list and a failed probe both say that the server loads.
func TestReachReportsLoading(t *testing.T) {
	loads := func(w http.ResponseWriter) { refusal(w, 503, "Loading model") }
	f := &fake{down: loads}
	f.broken.Store(true)
	if _, err := f.reach(t, experiment.Target{}, target.Completions); Failed(err) == nil || !loading(Failed(err)) {
		t.Error(err)
	}
	base := serveAll(t, loads)
	for _, model := range []string{"", "m"} {
		tgt := experiment.Target{}
		tgt.Model = model
		if _, err := Reach(t.Context(), tgt, base, "", []string{target.Completions}, nil); Failed(err) == nil || !loading(Failed(err)) ||
			!strings.HasPrefix(err.Error(), "listing models: ") {
			t.Error(err)
		}
	}
}

// serveAll answers every request alike.
func serveAll(t *testing.T, reply func(http.ResponseWriter)) (base string) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { reply(w) }))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

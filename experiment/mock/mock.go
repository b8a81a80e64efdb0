// Package mock is a simulated vLLM that answers HTTP: a target for a sweep where there is no GPU, and a server whose true
// times are known, so that a client's error can be measured.
//
// A request is tokenized (one token a word), queued, and given to an engine. The simulated engine composes steps as vLLM's
// scheduler does, with a prefix cache and a KV cache of blocks; the fixed engine has every token due at a given time after
// admission. One goroutine, the pacer, advances the engine to each deadline in turn and writes the tokens that fall due straight to
// their sockets; a request's own goroutine writes what comes before and after them, and the tokens where the pacer can't
// (a connection that isn't TCP, a socket that is full). Deadlines are absolute: a late token does not delay the next.
//
// What really happened to each request, to the nanosecond, is at /debug/requests. The package shares no code with the client that it is
// held against, so that the protocol is read twice. It computes nothing: tokens are drawn from a seed and the prompt.
package mock

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Server is one simulated server. Make it with New, and let it serve one listener.
type Server struct {
	cfg   Config // resolved
	vocab vocab
	rules []faultRule
	start time.Time
	// clock makes the waiter of the goroutine that calls it; a test in a synctest bubble, where a nanosleep would stop the
	// virtual time, has timers here.
	clock func() (waiter, func())

	requests atomic.Uint64
	records  recordRing
	anchor   int64         // CLOCK_MONOTONIC at start, in nanoseconds; zero where there is none
	rotation int           // of the pacer: who goes first among those due at once
	wake     chan struct{} // room for one: the engine has something new

	mu       sync.Mutex // of what follows
	engine   engine
	counters *counters
	sim      *simulated // the engine, unless it is fixed
}

// engine decides when tokens are due. Times are durations since the server's start.
type engine interface {
	add(q *seq)
	// drop forgets a sequence that is not over.
	drop(q *seq, now time.Duration)
	// advance emits everything due until now and returns when it wants to be called again, if it does.
	advance(now time.Duration) (next time.Duration, pending bool)
}

// New makes a server of a valid configuration; the error lists the mistakes of another.
func New(c Config) (*Server, error) {
	var mistakes []error
	c.Check(func(key, problem, hint string) {
		mistakes = append(mistakes, fmt.Errorf("mock: %s: %s (%s)", key, problem, hint))
	})
	if len(mistakes) > 0 {
		return nil, errors.Join(mistakes...)
	}
	c = c.resolved()
	s := &Server{cfg: c, vocab: vocab(c.Vocab), start: time.Now(), clock: preciseClock, wake: make(chan struct{}, 1), counters: newCounters()}
	s.anchor = monotonicAt(s.start)
	for _, text := range c.Faults {
		rule, err := parseFault(text)
		if err != nil {
			return nil, err
		}
		s.rules = append(s.rules, rule)
	}
	moves, err := parseDrift(c.Drift)
	if err != nil {
		return nil, err
	}
	if c.fixed() {
		s.engine = newFixed(c, moves, s.counters)
		return s, nil
	}
	if s.sim, err = newSimulated(c, moves, s.counters); err != nil {
		return nil, err
	}
	s.engine = s.sim
	return s, nil
}

// Serve answers on l until ctx ends, then closes l and every connection and returns nil once nothing of it is left running. An
// error is one of the listener.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var parts sync.WaitGroup // connections, handlers and the two goroutines below
	srv := &http.Server{
		Handler:     s.counted(&parts),
		BaseContext: func(net.Listener) context.Context { return ctx },
		ConnContext: withSocket,
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				parts.Add(1)
			case http.StateClosed, http.StateHijacked:
				parts.Done()
			}
		},
	}
	parts.Go(func() { s.pace(ctx) })
	parts.Go(func() {
		<-ctx.Done()
		srv.Close()
	})
	err := srv.Serve(retryingListener{l, ctx})
	cancel()
	parts.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serving: %w", err)
}

// counted is the handler of s, with each call in wg: a hijacked connection is no longer counted, but its handler may still run.
func (s *Server) counted(wg *sync.WaitGroup) http.Handler {
	routes := s.routes()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		wg.Add(1)
		defer wg.Done()
		routes.ServeHTTP(w, r)
	})
}

// submit gives q to the engine, or refuses it where the queue is full.
func (s *Server) submit(q *seq) *apiError {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counters.waiting >= s.cfg.Queue && s.cfg.MaxNumSeqs > 0 { // without a limit nobody waits but for the pacer to look
		return &apiError{status: s.cfg.QueueStatus, message: fmt.Sprintf("The queue of %d requests is full.", s.cfg.Queue)}
	}
	s.counters.waiting++
	s.engine.add(q)
	s.wakePacer()
	return nil
}

// drop tells the engine that nobody waits for q any more, and notes in rec what has become of q by now: a sequence that has not ended
// stays with the engine, which may change it, until the next step.
func (s *Server) drop(q *seq, rec *Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec.AdmittedNS, rec.CachedTokens, rec.Preemptions = int64(q.admitted), q.cached, q.preemptions
	if q.stage == over {
		return
	}
	s.engine.drop(q, time.Since(s.start))
	s.wakePacer()
}

func (s *Server) wakePacer() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

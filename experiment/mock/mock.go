// Package mock is a simulated vLLM that answers HTTP: a target for sweeps without a GPU, and a server with
// known timings, which the client's error is measured against.
//
// A request is tokenized (one token per word), queued and given to an engine. The simulated engine composes
// steps like vLLM's scheduler, with a paged KV cache and a prefix cache. The fixed engine emits every token
// at a fixed time after admission. One goroutine, the pacer, advances the engine from deadline to deadline
// and writes due tokens directly to their sockets. The request's goroutine writes everything else, and the
// tokens if the pacer cannot (not a TCP connection, or a full socket). Deadlines are absolute: a late token
// does not delay the next one.
//
// /debug/requests reports the actual times of each request in ns. The package shares no code with the client,
// so that two readings of the protocol check each other. Tokens are random numbers from the seed and the
// prompt.
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

	"bench/internal/listen"
)

// Server is one simulated server for one listener. Use New.
type Server struct {
	responder
	rules []faultRule
	start time.Time
	// clock makes the waiter of the calling goroutine. Tests in a synctest bubble use timers, since a
	// nanosleep would stop the virtual time.
	clock func() (waiter, func())

	requests atomic.Uint64
	// by the fault freeze, ns since start: no token leaves before
	frozenUntil atomic.Int64
	records     recordRing
	rotation    int           // of the pacer: offset of the first sequence among those due at once
	wake        chan struct{} // capacity 1: the engine has new work

	mu       sync.Mutex // guards the fields below
	engine   engine
	counters *counters
	sim      *simulated // the engine; nil: fixed times
}

// responder reads the prompts of requests and decides on the responses, but not on their times.
type responder struct {
	cfg   Config // resolved
	vocab vocab
}

// engine decides when tokens are due. Times are durations since the server's start.
type engine interface {
	add(q *seq)
	drop(q *seq, now time.Duration)
	// advance emits all tokens due until now. If work is pending, the next call is due at next.
	advance(now time.Duration) (next time.Duration, pending bool)
}

// New makes a server. The error lists all mistakes of the configuration.
func New(c Config) (*Server, error) {
	var mistakes []error
	c.Check(func(key, problem, hint string) {
		mistakes = append(mistakes, fmt.Errorf("mock: %s: %s (%s)", key, problem, hint))
	})
	if len(mistakes) > 0 {
		return nil, errors.Join(mistakes...)
	}
	c = c.resolved()
	s := &Server{responder: responder{c, vocab(c.Vocab)}, start: time.Now(), clock: preciseClock,
		wake: make(chan struct{}, 1), counters: newCounters(c)}
	if c.Timers {
		s.clock = func() (waiter, func()) { return timerWait, func() {} }
	}
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
		s.engine = &fixed{cfg: c, drift: moves, counters: s.counters, freeSince: make([]time.Duration, c.MaxNumSeqs)}
		return s, nil
	}
	if s.sim, err = newSimulated(c, moves, s.counters); err != nil {
		return nil, err
	}
	s.engine = s.sim
	return s, nil
}

// Serve answers on l until ctx ends, then waits for all goroutines and returns nil. An error is the listener's. A load
// may have a connection for each request in flight, so that only open files limit their number: one above the limit
// takes the place of an idle one, or waits in the listen queue for the end of another.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	pacing, cancel := context.WithCancel(ctx)
	var pacer sync.WaitGroup
	pacer.Go(func() { s.pace(pacing) })
	defer pacer.Wait()
	defer cancel()
	door := listen.Door{Handler: s.routes(), MaxConnections: -1, Traffic: true, ConnContext: withSocket}
	return door.Serve(ctx, l)
}

func (s *Server) submit(q *seq) *apiError {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counters.waiting >= s.cfg.Queue && s.cfg.MaxNumSeqs > 0 { // without a limit a request waits only for the pacer
		return &apiError{status: http.StatusServiceUnavailable,
			message: fmt.Sprintf("The queue of %d requests is full.", s.cfg.Queue)}
	}
	s.counters.wait(q, 1)
	s.engine.add(q)
	s.wakePacer()
	return nil
}

// drop removes q from the engine, which may change it until the next step, and adds its state to rec.
func (s *Server) drop(q *seq, rec *Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec.AdmittedNS = max(rec.AdmittedNS, int64(q.admitted))
	rec.CachedTokens += q.cached
	rec.Preemptions += q.preemptions
	rec.DraftTokens = q.drafter.drafted
	rec.Drafts, rec.AcceptedTokens = q.drafter.verified()
	if q.stage == over || s.cfg.IgnoreDisconnect {
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

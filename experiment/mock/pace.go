package mock

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// pace advances the engine from deadline to deadline and delivers due tokens, until ctx ends.
func (s *Server) pace(ctx context.Context) {
	wait, release := s.clock()
	defer release()
	for ctx.Err() == nil {
		if until := time.Duration(s.frozenUntil.Load()); time.Since(s.start) < until {
			wait(ctx, s.wake, s.start.Add(until))
			continue
		}
		s.mu.Lock()
		next, pending := s.engine.advance(time.Since(s.start))
		ready := s.counters.ready
		s.mu.Unlock()
		// Only advance changes ready, and only this goroutine calls advance.
		if s.deliver(ready) {
			// A nanosleep would keep this goroutine's P, and the goroutines it has just woken, until sysmon
			// retakes it. Yield first.
			runtime.Gosched()
		}
		clear(ready)
		s.counters.ready = ready[:0]
		if pending {
			wait(ctx, s.wake, s.start.Add(next))
			continue
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
		}
	}
}

// deliver passes emitted tokens on by due time and reports whether it woke goroutines. Among sequences due at
// the same time, the order is rotated each time: over about 64 bursts every sequence takes every position.
// The rotation steps are small because each shifts a stream's token gaps slightly.
func (s *Server) deliver(ready []*seq) (woke bool) {
	for len(ready) > 0 {
		n := 1
		for n < len(ready) && ready[n].emitted[0] == ready[0].emitted[0] {
			n++
		}
		s.rotation += 1 + n/64
		for i := range n {
			q := ready[(s.rotation+i)%n]
			woke = q.mail.post(q.emitted) || woke
			q.emitted = q.emitted[:0]
		}
		ready = ready[n:]
	}
	return woke
}

// mailbox passes the due times of tokens from the engine to their writer; the engine never waits. The writer
// is the request's goroutine or, while that sleeps with a sink set, the pacer itself, which saves waking a
// goroutine per token.
type mailbox struct {
	mu    sync.Mutex
	due   []time.Duration
	spare []time.Duration
	sink  func(due []time.Duration) bool // writes tokens; false: the request's goroutine must continue. Called under mu
	ready chan struct{}                  // capacity 1: due is not empty, or the sink returned false
}

func (m *mailbox) post(due []time.Duration) (woke bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sink != nil {
		if m.sink(due) {
			return false
		}
		m.sink = nil
	} else {
		m.due = append(m.due, due...)
	}
	select {
	case m.ready <- struct{}{}:
	default:
	}
	return true
}

// take waits for tokens and returns their due times; the slice is valid until the next call. With a sink,
// tokens go to the sink while take waits, and take returns when sink returns false, possibly without tokens.
// sink does not run after take has returned.
func (m *mailbox) take(ctx context.Context, sink func([]time.Duration) bool) ([]time.Duration, error) {
	m.setSink(sink)
	select {
	case <-m.ready:
		return m.drain(), nil
	case <-ctx.Done():
		m.drain()
		return nil, ctx.Err()
	}
}

func (m *mailbox) setSink(sink func([]time.Duration) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.due) == 0 {
		m.sink = sink
	}
}

func (m *mailbox) drain() []time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sink = nil
	due := m.due
	m.due, m.spare = m.spare[:0], due
	return due
}

package mock

import (
	"context"
	"sync"
	"time"
)

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

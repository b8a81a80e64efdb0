package mock

import (
	"context"
	"sync"
	"time"
)

// mailbox carries the due times of tokens from the engine to who writes them, without the engine ever waiting. That is the goroutine
// of the request, or, while it sleeps and has left a sink, the pacer itself: no goroutine has to be woken for a token then.
type mailbox struct {
	mu    sync.Mutex
	due   []time.Duration
	spare []time.Duration
	sink  func(due []time.Duration) bool // writes tokens; false: it can't go on by itself. Called under mu
	ready chan struct{}                  // room for one: something is in due, or the sink was given back
}

// post passes tokens on, and tells whether that woke a goroutine.
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

// take waits for tokens and returns the due times of all that are there; the slice is good until the next call. Meanwhile sink, if
// there is one, gets those that come, and take returns once that gives up; nothing may be there then. What sink uses is the
// caller's again when take has returned.
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

// lend leaves sink to the pacer, unless tokens are there that come first.
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

package mock

import (
	"context"
	"runtime"
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

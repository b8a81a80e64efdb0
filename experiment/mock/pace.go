package mock

import (
	"context"
	"runtime"
	"time"
)

// pace advances the engine, deadline by deadline, and delivers what is due, until ctx ends. With nothing due it waits on a channel and
// takes no time.
func (s *Server) pace(ctx context.Context) {
	wait, release := s.clock()
	defer release()
	for ctx.Err() == nil {
		s.mu.Lock()
		next, pending := s.engine.advance(time.Since(s.start))
		ready := s.counters.ready
		s.mu.Unlock()
		// Only advance touches the list of the ready, and only this goroutine calls it.
		if s.deliver(ready) {
			// A nanosleep keeps this goroutine's processor, and the goroutines that it has just woken with it, until the runtime's
			// monitor notices: it is given away first.
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

// deliver passes fresh tokens on, by the time that they are due, and tells whether goroutines have been woken for them. Of those due at
// the very same time another one is the first each time, the rest following in their order: over some 64 such
// bursts everybody has been everywhere. The steps are small because each shifts the gaps between a stream's tokens a little.
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

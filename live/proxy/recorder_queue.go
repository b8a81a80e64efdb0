package proxy

type step struct {
	x    *exchange
	what event
}

type event int

const (
	eventSent event = iota
	eventEnded
	eventCopyEnded
)

func (r *recorder) requestSent(x *exchange) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.dropped {
		return
	}
	select {
	case r.queue <- step{x, eventSent}:
		x.queued = true
	default: // requestEnded tries again
	}
}

func (r *recorder) requestEnded(x *exchange) {
	select {
	case r.queue <- step{x, eventEnded}:
	default:
		r.drop(x)
	}
}

// drop gives an exchange up whose end found the queue full. A request that waits to be read is copied all the same.
func (r *recorder) drop(x *exchange) {
	r.p.counts.unrecorded.Add(1)
	x.mu.Lock()
	x.dropped = true
	queued := x.queued
	x.mu.Unlock()
	if !queued {
		x.body.free()
		if x.tap != nil || x.sent.Load() != 0 {
			r.missed.Store(true)
		}
	}
	r.late.Go(func() { x.finish() }) // scanning an answer takes time
}

// copyEnded queues the end of a copy. It does not wait, and the step is not lost: the exchange waits for it.
func (r *recorder) copyEnded(x *exchange) {
	select {
	case r.queue <- step{x, eventCopyEnded}:
	default:
		r.late.Go(func() { r.queue <- step{x, eventCopyEnded} })
	}
}

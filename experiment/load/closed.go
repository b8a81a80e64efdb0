package load

import "time"

// worker of a closed loop sends a request, and when that has ended the next. It takes its requests itself:
// waking another goroutine for each would be client lag inside every latency.
func (d *driver) worker() {
	freed, more := d.pause(0)
	for more {
		job, body, ok := d.takeRequest(freed)
		if !ok {
			return
		}
		freed, more = d.pause(d.runTurns(job, body, d.Send(d.requestCtx, job, body, d.epoch)))
	}
}

// pause waits for Load.Idle before the worker's next request; false when there is no next.
func (d *driver) pause(freed time.Duration) (time.Duration, bool) {
	if d.Idle == 0 {
		return freed, true
	}
	d.mu.Lock()
	complete := d.window.complete()
	d.mu.Unlock()
	if complete {
		d.donePending() // the window ends without an arrival behind it, which would cost another pause
		return freed, false
	}
	freed += time.Duration(d.Idle)
	d.Wait(d.dispatchCtx, d.epoch.Add(freed))
	return freed, true
}

// takeRequest gives the plan's next request to a worker that became free at freed; false when the row is
// over.
func (d *driver) takeRequest(freed time.Duration) (*Job, []byte, bool) {
	ctx := d.dispatchCtx
	select {
	case d.takeLock <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, false
	}
	defer func() { <-d.takeLock }()
	p, ok := d.next(ctx)
	if !ok || ctx.Err() != nil {
		return nil, nil, false
	}
	d.lastFreed = max(d.lastFreed, freed) // two workers may come in the other order: arrivals never go back
	job := &Job{Request: p.request, At: d.lastFreed, Ready: d.lastFreed}
	d.assignPhase(ctx, job)
	return job, p.body, d.active(job)
}

package load

import "time"

// work is what a worker of a closed loop does that became free, after the request before: it sends a request, and when
// that has ended the next. It takes its requests itself: waking another goroutine for each would be client lag inside
// every latency.
//
// The request before is released only when the next one has its phase: a client that notices an answer late,
// when the window is over, still owes the window the request that was due in it.
func (d *driver) work(before *Job, freed time.Duration) {
	freed, more := d.pause(freed)
	for more {
		job, body := d.takeRequest(freed)
		d.release(before)
		if job == nil || !d.active(job) {
			return
		}
		finish := d.Send(d.requestCtx, job, body, d.epoch)
		var over bool
		if before, freed, over = d.finishSession(job, body, finish, d.work); !over {
			return
		}
		freed, more = d.pause(freed)
	}
	d.release(before)
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
	d.wait(d.dispatchCtx, d.epoch.Add(freed))
	return freed, true
}

// takeRequest gives the plan's next request to a worker that became free at freed; nil when the row is over.
//
// The request is due at that moment, whichever worker comes first: of two answers that came while the client
// was late, each shows its own wait as lag. Requests are thus in the order of the plan, and their intended
// arrivals nearly so.
func (d *driver) takeRequest(freed time.Duration) (*Job, []byte) {
	ctx := d.dispatchCtx
	select {
	case d.takeLock <- struct{}{}:
	case <-ctx.Done():
		return nil, nil
	}
	defer func() { <-d.takeLock }()
	p, ok := d.next(ctx)
	if !ok || ctx.Err() != nil {
		return nil, nil
	}
	d.sessionBegun(&p.request)
	job := &Job{Request: p.request, At: freed, Ready: freed}
	d.assignPhase(ctx, job)
	return job, p.body
}

package load

import "context"

// sendAll takes the requests of an open loop one by one, until loop ends or the last has been sent.
func (d *driver) dispatchArrivals(loop, ctx, killCtx context.Context) {
	defer lockTimerThread()()
	for {
		p, ok := d.next(loop)
		if !ok && runEnded(loop) {
			p, ok = d.next(ctx) // no request of the window is forgotten, not the one at hand either
		}
		if !ok {
			return
		}
		job := &Job{Request: p.request}
		if !d.admit(loop, job) {
			d.abandon(loop, ctx, job)
			return
		}
		finish := d.Send(killCtx, job, p.body, d.epoch) // here, and not by a goroutine that has to be woken first
		d.inFlight.Go(func() {
			freed := d.runTurns(loop, killCtx, job, p.body, finish)
			if d.freeWorkers != nil {
				d.freeWorkers <- freed
			}
		})
	}
}

// admit waits until the request may go; false when the dispatching is over.
func (d *driver) admit(ctx context.Context, job *Job) bool {
	job.At = job.Request.At
	d.assignPhase(ctx, job)
	if job.Phase == Cooldown && d.Rate.IsInf() {
		return false // all are sent: no load goes on behind them
	}
	d.Wait(ctx, d.epoch.Add(job.At))
	job.Ready = job.At
	if d.freeWorkers != nil {
		select {
		case freed := <-d.freeWorkers:
			job.Ready = max(job.At, freed)
		case <-ctx.Done():
			return false
		}
	}
	return ctx.Err() == nil
}

// abandon accounts for the arrivals of the window, from this one on, that were never sent when the
// row came to its end: they are unfinished, not forgotten. After an interruption nothing is counted.
func (d *driver) abandon(loop, ctx context.Context, job *Job) {
	for runEnded(loop) && job.Phase != Cooldown {
		d.reportUnsent(job)
		p, ok := d.next(ctx)
		if !ok {
			return
		}
		job = &Job{Request: p.request, At: p.request.At}
		d.assignPhase(loop, job)
	}
}

// waiting is a conversation that has arrived and has no slot.
type queued struct {
	job  *Job
	body []byte // nil: it is not among the first of the queue, whose bodies alone are kept
}

// receive takes the conversations of an open loop as they arrive, until the row is over. Their phase is
// a matter of the moment, since later turns arrive in between: none is looked at ahead of its time, and
// one that has to wait for a slot does not keep the next. Those that wait when the plan ends are left to the slots.
func (d *driver) dispatchConversations(loop, ctx, killCtx context.Context) {
	defer lockTimerThread()()
	for {
		p, ok := d.next(loop)
		if !ok && runEnded(loop) {
			p, ok = d.next(ctx)
		}
		if !ok {
			break
		}
		job := &Job{Request: p.request, At: p.request.At, Ready: p.request.At}
		d.Wait(loop, d.epoch.Add(job.At))
		d.assignPhase(loop, job)
		if loop.Err() != nil {
			d.abandon(loop, ctx, job)
			break
		}
		if d.getWorker(job, p.body) {
			finish := d.Send(killCtx, job, p.body, d.epoch)
			d.inFlight.Go(func() { d.serveQueue(loop, killCtx, job, p.body, finish) })
		}
	}
	<-loop.Done()
	d.mu.Lock()
	left := d.queue
	d.queue = nil
	d.mu.Unlock()
	for _, w := range left {
		d.active(loop, w.job)
	}
}

// enter gives a slot to a conversation; under a cap it may have to queue for one.
func (d *driver) getWorker(job *Job, body []byte) bool {
	if d.freeWorkers == nil {
		return true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case freed := <-d.freeWorkers:
		job.Ready = max(job.At, freed)
		return true
	default:
		if len(d.queue) >= ahead { // a queue may grow as long as the row lasts
			body = nil
		}
		d.queue = append(d.queue, &queued{job, body})
		return false
	}
}

// serve holds a conversation that has been sent, and then in the same slot those that queue for one, first come first
// served.
func (d *driver) serveQueue(loop, killCtx context.Context, job *Job, body []byte, finish func()) {
	for {
		freed := d.runTurns(loop, killCtx, job, body, finish)
		if d.freeWorkers == nil {
			return
		}
		d.mu.Lock()
		if len(d.queue) == 0 {
			d.freeWorkers <- freed // there is room: it is this slot's
			d.mu.Unlock()
			return
		}
		job, body = d.queue[0].job, d.queue[0].body
		d.queue[0] = nil
		d.queue = d.queue[1:]
		d.mu.Unlock()
		job.Ready = max(job.At, freed)
		if !d.active(loop, job) {
			return
		}
		if body == nil {
			body = d.encodeOne(&job.Request)
		}
		finish = d.Send(killCtx, job, body, d.epoch)
		d.inFlight.Go(d.encodeQueued)
	}
}

// topUp encodes the bodies that are missing of the first in the queue, so that no slot has to wait for them.
func (d *driver) encodeQueued() {
	d.encodeMu.Lock()
	defer d.encodeMu.Unlock()
	for w := d.firstUnencoded(); w != nil; w = d.firstUnencoded() {
		body := d.Encode(&w.job.Request)
		d.mu.Lock()
		w.body = body
		d.mu.Unlock()
	}
}

// bodiless is the first in the queue that should have a body and has none; nil: they all have.
func (d *driver) firstUnencoded() *queued {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range d.queue[:min(len(d.queue), ahead)] {
		if w.body == nil {
			return w
		}
	}
	return nil
}

package load

import "time"

// nextArrival is the plan's next request; after the row's end too, to count the window's that were never sent.
func (d *driver) nextArrival() (prepared, bool) {
	p, ok := d.next(d.dispatchCtx)
	if !ok && d.rowOver() {
		p, ok = d.next(d.encodeCtx)
	}
	return p, ok
}

// dispatchArrivals sends the requests of an open loop one by one, until the row is over or all are sent.
func (d *driver) dispatchArrivals() {
	for {
		p, ok := d.nextArrival()
		if !ok {
			return
		}
		job := &Job{Request: p.request, others: p.others}
		if !d.admit(job) {
			d.abandon(job)
			return
		}
		finish := d.Send(d.requestCtx, job, p.body, d.epoch) // here: a goroutine would have to be woken first
		d.runInFlight(func() {
			last, freed, _ := d.runTurns(job, nil, finish) // without sessions no turn is made of the body
			d.release(last)
			if d.freeWorkers != nil {
				d.freeWorkers <- freed
			}
		})
	}
}

func (d *driver) runInFlight(f func()) {
	d.inFlight.Add(1)
	d.crew.run(func() {
		defer d.inFlight.Done()
		f()
	})
}

func (d *driver) admit(job *Job) bool {
	ctx := d.dispatchCtx
	job.At = job.Request.At
	d.assignPhase(ctx, job)
	if d.refuses(job) {
		return false
	}
	d.wait(ctx, d.epoch.Add(job.At))
	job.Ready = job.At
	if d.freeWorkers != nil {
		select {
		case freed := <-d.freeWorkers:
			job.Ready = max(job.At, freed)
		case <-ctx.Done():
			return false
		}
	}
	return ctx.Err() == nil && !d.refuses(job)
}

// refuses reports that the request is of a cool-down that does not send: rate "inf" has none.
func (d *driver) refuses(job *Job) bool {
	return job.Phase == Cooldown && (d.Rate.IsInf() || d.overloaded.Load())
}

// abandon accounts for the window's arrivals from this one on as unfinished; after an interruption for none.
func (d *driver) abandon(job *Job) {
	for d.rowOver() && job.Phase != Cooldown {
		d.reportUnsent(job)
		p, ok := d.next(d.encodeCtx)
		if !ok {
			return
		}
		job = &Job{Request: p.request, At: p.request.At, others: p.others}
		d.assignPhase(d.dispatchCtx, job)
	}
}

type queued struct {
	job  *Job
	body []byte // nil: behind the first ahead of the queue, which alone keep their bodies
}

// dispatchConversations sends the conversations of an open loop as they arrive, until the row is over. Later
// turns arrive in between and may close the window, so a conversation gets its phase at its arrival and not
// before. One that waits for a worker does not delay the next. Those that wait when the plan ends are left to
// the workers.
func (d *driver) dispatchConversations() {
	for {
		p, ok := d.nextArrival()
		if !ok {
			break
		}
		d.sessionBegun(&p.request)
		job := &Job{Request: p.request, At: p.request.At, Ready: p.request.At}
		d.wait(d.dispatchCtx, d.epoch.Add(job.At))
		d.assignPhase(d.dispatchCtx, job)
		if d.dispatchCtx.Err() != nil {
			d.abandon(job)
			break
		}
		if d.getWorker(job, p.body) {
			finish := d.Send(d.requestCtx, job, p.body, d.epoch)
			d.runInFlight(func() { d.serveQueue(job, p.body, finish) })
		}
	}
	<-d.dispatchCtx.Done()
	d.mu.Lock()
	left := d.queue
	d.queue = nil
	d.mu.Unlock()
	for _, q := range left {
		d.active(q.job)
	}
}

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

// serveQueue finishes a session, and then runs the queue's on the same worker, first come first served.
func (d *driver) serveQueue(job *Job, body []byte, finish func()) {
	for more := true; more; {
		last, freed, over := d.finishSession(job, body, finish, d.serveNext)
		if !over {
			return
		}
		job, body, finish, more = d.nextQueued(last, freed)
	}
}

func (d *driver) serveNext(last *Job, freed time.Duration) {
	if job, body, finish, more := d.nextQueued(last, freed); more {
		d.serveQueue(job, body, finish)
	}
}

// nextQueued sends the queue's next first request on a worker that became free; false: none, or the row is over.
func (d *driver) nextQueued(last *Job, freed time.Duration) (job *Job, body []byte, finish func(), ok bool) {
	d.release(last)
	if d.freeWorkers == nil {
		return nil, nil, nil, false
	}
	d.mu.Lock()
	if len(d.queue) == 0 {
		d.freeWorkers <- freed // never blocks: the channel has room for every worker
		d.mu.Unlock()
		return nil, nil, nil, false
	}
	job, body = d.queue[0].job, d.queue[0].body
	d.queue[0] = nil
	d.queue = d.queue[1:]
	d.mu.Unlock()
	job.Ready = max(job.At, freed)
	if !d.active(job) {
		return nil, nil, nil, false
	}
	if body == nil {
		body = d.encodeOne(&job.Request)
	}
	finish = d.Send(d.requestCtx, job, body, d.epoch)
	d.inFlight.Go(d.encodeQueued)
	return job, body, finish, true
}

// encodeQueued encodes the missing bodies at the head of the queue, so that no worker has to wait for them.
func (d *driver) encodeQueued() {
	d.encodeMu.Lock()
	defer d.encodeMu.Unlock()
	for q := d.firstUnencoded(); q != nil; q = d.firstUnencoded() {
		body := d.Encode(&q.job.Request)
		d.mu.Lock()
		q.body = body
		d.mu.Unlock()
	}
}

// firstUnencoded is the first conversation at the head of the queue without a body; nil: none.
func (d *driver) firstUnencoded() *queued {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, q := range d.queue[:min(len(d.queue), ahead)] {
		if q.body == nil {
			return q
		}
	}
	return nil
}

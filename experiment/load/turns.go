package load

import (
	"time"

	"bench/experiment/workload"
)

// finishSession finishes a request that has been sent, and runs the session that it begins. over reports that the
// session has ended on this goroutine: last and freed are then as of runTurns. Else another goroutine ends it, and
// calls then with these.
func (d *driver) finishSession(job *Job, body []byte, finish func(),
	then func(*Job, time.Duration)) (last *Job, freed time.Duration, over bool) {
	if d.Follow != nil {
		job.session = newSession(job, then)
		for _, next := range job.Request.Begins()[1:] {
			d.pending.Add(1)
			// its body takes time, and job is in flight
			d.branch(func() turn { return job.session.begin(&d.Config, job, next) })
		}
	}
	return d.runTurns(job, body, finish)
}

// runTurns finishes a request that has been sent, and then the turns of its session that wait for it: the first of
// them here, the others on goroutines of their own. When the session is over it returns the last turn, for release,
// and when the worker became free: when the session's last response was over, and not when this process noticed.
func (d *driver) runTurns(job *Job, body []byte, finish func()) (last *Job, freed time.Duration, over bool) {
	for {
		finish()
		next, freed, over := d.endTurn(job, body)
		d.completed(job)
		if over {
			return job, d.backOff(freed), true
		}
		d.release(job)
		if len(next) == 0 {
			return nil, 0, false
		}
		for _, t := range next[1:] {
			d.branch(func() turn { return t })
		}
		if job, body = next[0].job, next[0].body; !d.awaitTurn(job) {
			return nil, 0, false
		}
		finish = d.Send(d.requestCtx, job, body, d.epoch)
	}
}

func (d *driver) branch(made func() turn) {
	d.runInFlight(func() {
		t := made()
		if !d.awaitTurn(t.job) {
			return
		}
		finish := d.Send(d.requestCtx, t.job, t.body, d.epoch)
		if last, freed, over := d.runTurns(t.job, t.body, finish); over {
			t.job.session.then(last, freed)
		}
	})
}

// endTurn makes the turns that were waiting for this one alone. They are pending from now on, since their intended
// arrivals may be in the window; awaitTurn gives each its phase. over reports that the session has no turn left.
func (d *driver) endTurn(job *Job, body []byte) (next []turn, freed time.Duration, over bool) {
	s := job.session
	if s == nil {
		return nil, job.Result.Free, true
	}
	due, over := s.end(job, body)
	d.arrived(job.Lost)
	if over {
		return nil, s.freed, true
	}
	d.pending.Add(int64(len(due)))
	for _, turn := range due {
		next = append(next, s.follow(&d.Config, turn))
	}
	return next, 0, false
}

func (d *driver) sessionBegun(first *workload.Request) {
	if first.Turns > 1 {
		d.mu.Lock()
		d.toCome += first.Turns - 1
		d.mu.Unlock()
	}
}

// arrived counts later turns that have arrived or are lost. The last of all closes the window, unless the row is over.
func (d *driver) arrived(turns int) {
	d.mu.Lock()
	d.toCome -= turns
	last := d.planEnded && d.toCome == 0 && d.dispatchCtx.Err() == nil
	d.mu.Unlock()
	if last {
		d.closeByPlan()
	}
}

// awaitTurn waits for the intended arrival of a later turn; false when the row is over. The turn gets its
// phase at that moment, since a window that counts requests counts them in the order in which they arrive; or
// when the window closes, since the phase is known then.
func (d *driver) awaitTurn(job *Job) bool {
	arrival := d.epoch.Add(job.At)
	d.Wait(d.windowCtx, arrival)
	if d.dispatchCtx.Err() != nil {
		return false
	}
	d.assignPhase(d.dispatchCtx, job)
	d.arrived(1)
	d.donePending()
	d.Wait(d.dispatchCtx, arrival)
	return d.active(job)
}

func (d *driver) completed(job *Job) {
	switch o := job.Result.Outcome; { // a user who left shows neither
	case o.Failed():
		d.failures.Add(1)
	case o.Completed():
		d.failures.Store(0)
	}
	if job.Phase == Window {
		d.mu.Lock()
		// A window excludes its end, and records are rounded to µs: the last token is inside.
		d.lastEnd = max(d.lastEnd, job.Result.Free, job.Result.Last+time.Microsecond)
		d.mu.Unlock()
	}
	d.ended.add(job)
}

// release lets the row end without the request, which has ended; nil: none.
func (d *driver) release(job *Job) {
	if job != nil && d.holdsRow(job) {
		d.donePending()
	}
}

// After backOffAfter failures without a success each worker pauses, so that a server that only fails is not
// flooded. An open loop without a cap keeps its schedule.
const (
	backOffAfter = 8
	backOffTime  = 100 * time.Millisecond
)

func (d *driver) backOff(freed time.Duration) time.Duration {
	if d.Concurrency == 0 || d.failures.Load() < backOffAfter {
		return freed
	}
	freed += backOffTime
	waitTimer(d.dispatchCtx, d.epoch.Add(freed))
	return freed
}

package load

import "time"

// runTurns finishes a request that has been sent and, when it begins a conversation, makes the later turns.
// The worker belongs to the conversation until its end. It returns the last turn, for release, and when the
// worker became free: when that turn's response was over, and not when this process noticed.
func (d *driver) runTurns(job *Job, body []byte, finish func()) (last *Job, freed time.Duration) {
	for {
		finish()
		freed = job.Result.Free
		next, nextBody := d.nextTurn(job, body)
		d.completed(job)
		if next == nil {
			return job, d.backOff(freed)
		}
		d.release(job)
		if !d.awaitTurn(next) {
			return nil, freed
		}
		job, body = next, nextBody
		finish = d.Send(d.requestCtx, job, body, d.epoch)
	}
}

// nextTurn is the next turn of the request's conversation; nil after the last, or after a failure, which ends
// the conversation. The turn is pending from now on, since its intended arrival may be in the window;
// awaitTurn gives it its phase.
func (d *driver) nextTurn(job *Job, body []byte) (*Job, []byte) {
	r := &job.Request
	if d.Follow == nil || r.Turn+1 >= r.Turns || job.Result.Outcome.Failed() {
		return nil, nil
	}
	d.pending.Add(1)
	next, nextBody := d.Follow(job, body)
	next.At = job.Result.End + next.Request.Think
	next.Ready = next.At
	return next, nextBody
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
	d.donePending()
	d.Wait(d.dispatchCtx, arrival)
	return d.active(job)
}

// completed hands on a request that has ended.
func (d *driver) completed(job *Job) {
	if job.Result.Outcome.Failed() {
		d.failures.Add(1)
	} else {
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

// backOff is the pause of a worker that became free at freed; it returns when the worker may be used again.
func (d *driver) backOff(freed time.Duration) time.Duration {
	if d.Concurrency == 0 || d.failures.Load() < backOffAfter {
		return freed
	}
	freed += backOffTime
	waitTimer(d.dispatchCtx, d.epoch.Add(freed))
	return freed
}

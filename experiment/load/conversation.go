package load

import (
	"context"
	"sync/atomic"
	"time"
)

// converse finishes a request that has been sent and, where it begins a conversation, makes the turns that follow it: they
// have its slot to themselves. It returns when the slot became free.
func (d *driver) runTurns(loop, killCtx context.Context, job *Job, body []byte, finish func()) (freed time.Duration) {
	for {
		finish()
		freed = time.Since(d.epoch)
		next, nextBody := d.nextTurn(job, body)
		d.completed(job, freed)
		if next == nil {
			return d.backOff(loop, freed)
		}
		if !d.awaitTurn(loop, next) {
			return freed
		}
		job, body = next, nextBody
		finish = d.Send(killCtx, job, body, d.epoch)
	}
}

// following is the next turn of the request's conversation; nil where there is none, or the request
// failed: that ends its conversation. The turn holds the row open from now on, since its intended
// arrival may lie in the window; think gives it its phase.
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

// think waits for the intended arrival of a later turn; false when the row is over. The phase is
// given at that moment, since a window that counts its requests counts them in the order in which
// they arrive; or when the window is closed, since then it is known.
func (d *driver) awaitTurn(loop context.Context, job *Job) bool {
	at := d.epoch.Add(job.At)
	d.Wait(d.windowCtx, at)
	if loop.Err() != nil {
		return false
	}
	d.assignPhase(loop, job)
	d.donePending()
	d.Wait(loop, at)
	return d.active(loop, job)
}

// over hands on a request that has ended.
func (d *driver) completed(job *Job, ended time.Duration) {
	if job.Result.Outcome.Failed() {
		d.failures.Add(1)
	} else {
		d.failures.Store(0)
	}
	if job.Phase == Window {
		storeMax(&d.lastEnd, int64(ended))
	}
	if d.holdsRunOpen(job) {
		d.donePending()
	}
	d.results <- job
}

// A server that only fails is not hammered: after so many failures without a success each slot pauses
// before it is used again. An open loop without slots keeps its schedule.
const (
	backOffAfter = 8
	backOffTime  = 100 * time.Millisecond
)

// rest is the pause of a slot that became free at freed; it returns when the slot may be used again.
func (d *driver) backOff(loop context.Context, freed time.Duration) time.Duration {
	if d.Concurrency == 0 || d.failures.Load() < backOffAfter {
		return freed
	}
	waitTimer(loop, time.Now().Add(backOffTime))
	return time.Since(d.epoch)
}

func storeMax(a *atomic.Int64, v int64) {
	for old := a.Load(); v > old && !a.CompareAndSwap(old, v); old = a.Load() {
	}
}

package load

import (
	"context"
	"time"
)

// slot is one of a closed loop: it sends a request, and when that is over the next. It does not ask the dispatcher: to
// wake another goroutine for each request would be the client's own delay, inside of every latency.
func (d *driver) worker(loop, killCtx context.Context) {
	freed, more := d.pause(loop, 0)
	for more {
		job, body, ok := d.takeRequest(loop, freed)
		if !ok {
			return
		}
		freed, more = d.pause(loop, d.runTurns(loop, killCtx, job, body, d.Send(killCtx, job, body, d.epoch)))
	}
}

// idle leaves the server alone before the slot's next request, where the load says so; false when
// there is no next.
func (d *driver) pause(loop context.Context, freed time.Duration) (time.Duration, bool) {
	if d.Idle == 0 {
		return freed, true
	}
	d.mu.Lock()
	complete := d.window.complete()
	d.mu.Unlock()
	if complete {
		d.donePending() // nothing need arrive behind the window, to end it, but after another idle time
		return freed, false
	}
	freed += time.Duration(d.Idle)
	d.Wait(loop, d.epoch.Add(freed))
	return freed, true
}

// take gives the plan's next request to a slot that became free at freed; false when the row is over.
func (d *driver) takeRequest(ctx context.Context, freed time.Duration) (*Job, []byte, bool) {
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
	d.lastFreed = max(d.lastFreed, freed) // two slots may come in the other order: arrivals never go back
	job := &Job{Request: p.request, At: d.lastFreed, Ready: d.lastFreed}
	d.assignPhase(ctx, job)
	return job, p.body, d.active(ctx, job)
}

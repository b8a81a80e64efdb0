package load

import (
	"context"
	"time"

	"bench/experiment/openai"
)

// timers begins the row: from here on its end is a matter of time, where it is one. The returned
// function stops them.
func (d *driver) startTimers(scheduled time.Duration) (stop func()) {
	grace := time.AfterFunc(forever, func() { d.endDispatch(openai.ErrUnfinished) })
	latch := time.AfterFunc(forever, d.closeByTime)
	cut := time.AfterFunc(forever, d.cutRun)
	until := func(end time.Duration) time.Duration { return time.Until(d.epoch.Add(end)) }
	d.mu.Lock()
	defer d.mu.Unlock()
	d.window.scheduleGrace = func(end time.Duration) { grace.Reset(until(end) + d.GraceTime()) }
	d.window.scheduleClose = func(end time.Duration) { latch.Reset(until(end)) }
	if scheduled < forever {
		d.window.scheduleGrace(scheduled)
	}
	if d.MaxDuration > 0 {
		cut.Reset(until(time.Duration(d.MaxDuration)))
	}
	d.window.init()
	return func() {
		grace.Stop()
		latch.Stop()
		cut.Stop()
	}
}

// latch closes a window whose time is over, if no request behind it has.
func (d *driver) closeByTime() {
	d.mu.Lock()
	closes := !d.window.closed
	if closes {
		d.window.close(forever)
	}
	d.mu.Unlock()
	if closes {
		d.windowClosed()
	}
}

// endNow closes the window at this moment; one that has not begun is empty.
func (d *driver) closeNow() {
	d.mu.Lock()
	closes := !d.window.closed
	if closes {
		d.window.stop(time.Since(d.epoch))
	}
	d.mu.Unlock()
	if closes {
		d.windowClosed()
	}
}

// exhausted ends the window with the last request that the plan has.
func (d *driver) closeByPlan() {
	d.mu.Lock()
	closes := !d.window.closed
	if closes {
		d.window.close(d.window.lastArrival)
		if d.hasSchedule() {
			d.window.scheduleGrace(d.window.lastArrival)
		} else {
			d.window.onComplete(time.Since(d.epoch))
		}
	}
	d.mu.Unlock()
	if closes {
		d.windowClosed()
	}
}

// cutOff ends a row that has taken as long as it may.
func (d *driver) cutRun() {
	d.mu.Lock()
	d.cut = true
	d.mu.Unlock()
	d.endDispatch(openai.ErrUnfinished)
}

// place gives the request its phase. The first one behind the window ends it, but not before its
// time: what the warm-up's requests still do in it counts too.
func (d *driver) assignPhase(ctx context.Context, job *Job) {
	d.mu.Lock()
	open := !d.window.closed
	job.Phase = d.window.phase(job.At)
	if d.holdsRunOpen(job) {
		d.pending.Add(1)
	}
	if job.Phase == Window && d.window.complete() {
		d.window.onComplete(time.Since(d.epoch))
	}
	closes, end := open && d.window.closed, d.window.end
	d.mu.Unlock()
	if closes {
		d.Wait(ctx, d.epoch.Add(end))
		d.windowClosed()
	}
}

// closed tells that the window's end has come.
func (d *driver) windowClosed() {
	d.endWindow()
	d.donePending()
}

// holds says that the row is not over before the request is: one of the window or, since its
// conversation may have a turn in the window, one of the warm-up.
func (d *driver) holdsRunOpen(job *Job) bool {
	return job.Phase == Window || job.Phase == Warmup && d.Follow != nil
}

// release ends the dispatching when nothing is left that holds the row open.
func (d *driver) donePending() {
	if d.pending.Add(-1) == 0 {
		d.endDispatch(openai.ErrUnfinished)
	}
}

// isOver says that the row came to its end, and was not interrupted.
func runEnded(loop context.Context) bool { return context.Cause(loop) == openai.ErrUnfinished }

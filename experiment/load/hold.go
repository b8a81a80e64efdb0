package load

import (
	"context"
	"time"

	"bench/experiment/openai"
)

// timers begins the row: from here on its end is a matter of time, where it is one. The returned
// function stops them.
func (d *driver) timers(scheduled time.Duration) (stop func()) {
	grace := time.AfterFunc(forever, func() { d.halt(openai.ErrUnfinished) })
	latch := time.AfterFunc(forever, d.latch)
	cut := time.AfterFunc(forever, d.cutOff)
	until := func(end time.Duration) time.Duration { return time.Until(d.epoch.Add(end)) }
	d.mu.Lock()
	defer d.mu.Unlock()
	d.window.arm = func(end time.Duration) { grace.Reset(until(end) + d.GraceTime()) }
	d.window.latch = func(end time.Duration) { latch.Reset(until(end)) }
	if scheduled < forever {
		d.window.arm(scheduled)
	}
	if d.MaxDuration > 0 {
		cut.Reset(until(time.Duration(d.MaxDuration)))
	}
	d.window.open()
	return func() {
		grace.Stop()
		latch.Stop()
		cut.Stop()
	}
}

// latch closes a window whose time is over, if no request behind it has.
func (d *driver) latch() {
	d.mu.Lock()
	closes := !d.window.closed
	if closes {
		d.window.close(forever)
	}
	d.mu.Unlock()
	if closes {
		d.closed()
	}
}

// endNow closes the window at this moment; one that has not begun is empty.
func (d *driver) endNow() {
	d.mu.Lock()
	closes := !d.window.closed
	if closes {
		d.window.stop(time.Since(d.epoch))
	}
	d.mu.Unlock()
	if closes {
		d.closed()
	}
}

// exhausted ends the window with the last request that the plan has.
func (d *driver) exhausted() {
	d.mu.Lock()
	closes := !d.window.closed
	if closes {
		d.window.close(d.window.last)
		if d.scheduled() {
			d.window.arm(d.window.last)
		} else {
			d.window.completed(time.Since(d.epoch))
		}
	}
	d.mu.Unlock()
	if closes {
		d.closed()
	}
}

// cutOff ends a row that has taken as long as it may.
func (d *driver) cutOff() {
	d.mu.Lock()
	d.cut = true
	d.mu.Unlock()
	d.halt(openai.ErrUnfinished)
}

// place gives the request its phase. The first one behind the window ends it, but not before its
// time: what the warm-up's requests still do in it counts too.
func (d *driver) place(ctx context.Context, job *Job) {
	d.mu.Lock()
	open := !d.window.closed
	job.Phase = d.window.place(job.At)
	if d.holds(job) {
		d.outstanding.Add(1)
	}
	if job.Phase == Window && d.window.complete() {
		d.window.completed(time.Since(d.epoch))
	}
	closes, end := open && d.window.closed, d.window.end
	d.mu.Unlock()
	if closes {
		d.Wait(ctx, d.epoch.Add(end))
		d.closed()
	}
}

// closed tells that the window's end has come.
func (d *driver) closed() {
	d.shut()
	d.release()
}

// holds says that the row is not over before the request is: one of the window or, since its
// conversation may have a turn in the window, one of the warm-up.
func (d *driver) holds(job *Job) bool {
	return job.Phase == Window || job.Phase == Warmup && d.Follow != nil
}

// release ends the dispatching when nothing is left that holds the row open.
func (d *driver) release() {
	if d.outstanding.Add(-1) == 0 {
		d.halt(openai.ErrUnfinished)
	}
}

// isOver says that the row came to its end, and was not interrupted.
func isOver(loop context.Context) bool { return context.Cause(loop) == openai.ErrUnfinished }

package load

import (
	"context"
	"fmt"
	"time"

	"bench/experiment/openai"
)

// errDecided is the cause with which Config.Decided ends a row, and the error text of the requests that this cancels.
var errDecided = fmt.Errorf("%w: the SLO was decided", openai.ErrUnfinished)

func (d *driver) awaitEnd() {
	idle := make(chan struct{})
	go func() {
		d.inFlight.Wait()
		close(idle)
	}()
	<-d.dispatchCtx.Done()
	cause, drain := context.Cause(d.dispatchCtx), time.Duration(0)
	switch cause {
	case openai.ErrUnfinished:
	case errDecided:
		drain = d.DecidedDrain
	default:
		cause, drain = context.Canceled, d.Drain
	}
	if drain > 0 {
		select {
		case <-idle:
		case <-time.After(drain):
		}
	}
	d.endRequests(cause)
	<-idle
}

// rowOver reports that the dispatching ended because the row is over, and not by an interruption or a decision.
func (d *driver) rowOver() bool { return context.Cause(d.dispatchCtx) == openai.ErrUnfinished }

func (d *driver) startTimers(scheduled time.Duration) (stop func()) {
	graceTimer := time.AfterFunc(forever, func() { d.endDispatch(openai.ErrUnfinished) })
	closeTimer := time.AfterFunc(forever, func() { d.closeWindow(func() { d.window.close(forever) }) })
	cutTimer := time.AfterFunc(forever, d.cutRun)
	until := func(end time.Duration) time.Duration { return time.Until(d.epoch.Add(end)) }
	d.mu.Lock()
	defer d.mu.Unlock()
	d.window.scheduleGrace = func(end time.Duration) { graceTimer.Reset(until(end) + d.GraceTime()) }
	d.window.scheduleClose = func(end time.Duration) { closeTimer.Reset(until(end)) }
	if scheduled < forever {
		d.window.scheduleGrace(scheduled)
	}
	if d.MaxDuration > 0 {
		cutTimer.Reset(until(time.Duration(d.MaxDuration)))
	}
	d.window.init()
	return func() {
		graceTimer.Stop()
		closeTimer.Stop()
		cutTimer.Stop()
		d.mu.Lock()
		defer d.mu.Unlock()
		// at the same moment either could end the row
		d.cut = d.cut || d.MaxDuration > 0 && time.Since(d.epoch) >= time.Duration(d.MaxDuration)
	}
}

func (d *driver) closeWindow(how func()) {
	d.mu.Lock()
	closes := !d.window.closed
	if closes {
		how()
	}
	d.mu.Unlock()
	if closes {
		d.windowClosed()
	}
}

func (d *driver) cutRun() {
	d.mu.Lock()
	d.cut = true
	d.window.cut()
	d.mu.Unlock()
	d.endDispatch(openai.ErrUnfinished)
}

func (d *driver) decided() {
	d.endDispatch(errDecided)
	d.closeWindow(func() { d.window.stop(time.Since(d.epoch)) })
}

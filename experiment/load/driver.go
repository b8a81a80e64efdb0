package load

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"bench/experiment/openai"
	"bench/experiment/workload"
)

// ahead is how many bodies are encoded before their time: enough for a burst, bounded in memory.
const ahead = 128

type prepared struct {
	request workload.Request
	body    []byte
}

// driver is the state of one Run. The package comment names the ends of its contexts.
type driver struct {
	Config
	epoch time.Time

	encodeCtx, dispatchCtx, windowCtx, requestCtx context.Context

	endDispatch context.CancelCauseFunc // cause openai.ErrUnfinished: the row is over
	endWindow   context.CancelFunc
	endRequests context.CancelCauseFunc

	bodies      chan prepared
	freeWorkers chan time.Duration // under a cap: when each free worker became free; nil = no cap
	results     chan *Job
	inFlight    sync.WaitGroup
	encodeMu    sync.Mutex    // held during Encode
	takeLock    chan struct{} // closed loop: held by the worker that takes a request
	pending     atomic.Int64  // requests that keep the row from ending, plus 1 for the open window
	failures    atomic.Int64  // since the last success

	mu      sync.Mutex // never held while waiting; protects what follows
	window  window
	cut     bool
	lastEnd time.Duration // of the window's requests so far
	queue   []*queued     // open loop: conversations that wait for a worker, in order of arrival
}

// Run drives the load until the window and its last request have ended, or its grace period, and then cancels
// what is in flight. The error is ctx's, or Each's. A closed loop that counts requests has no end but theirs,
// and MaxDuration.
func Run(ctx context.Context, c Config) (Measured, error) {
	if c.Wait == nil {
		c.Wait = waitUntil
	}
	d := newDriver(c)
	var endEncode context.CancelFunc
	d.encodeCtx, endEncode = context.WithCancel(ctx)
	defer endEncode()
	d.dispatchCtx, d.endDispatch = context.WithCancelCause(d.encodeCtx)
	d.windowCtx, d.endWindow = context.WithCancel(d.dispatchCtx)
	d.requestCtx, d.endRequests = context.WithCancelCause(context.WithoutCancel(ctx))
	defer d.endRequests(nil)

	scheduled := c.scheduledEnd()
	var helpers sync.WaitGroup
	full := make(chan struct{})
	helpers.Go(func() { d.encode(full) })
	<-full
	d.epoch = time.Now()
	helpers.Go(func() {
		d.dispatch(scheduled)
		endEncode()
		close(d.results)
	})
	var failed error
	for job := range d.results {
		if failed != nil {
			continue
		}
		if failed = d.Each(job); failed != nil {
			d.endRequests(failed)
			endEncode()
		}
	}
	helpers.Wait()
	return d.measured(), cmp.Or(failed, ctx.Err())
}

func newDriver(c Config) *driver {
	d := &driver{
		Config: c, bodies: make(chan prepared, ahead), results: make(chan *Job, 1024), takeLock: make(chan struct{}, 1),
		window: window{Load: c.Load, rate: c.Rate, conversations: c.Follow != nil, enough: c.Enough},
	}
	if c.Rate > 0 && c.Concurrency > 0 {
		d.freeWorkers = make(chan time.Duration, c.Concurrency)
		for range c.Concurrency {
			d.freeWorkers <- 0
		}
	}
	d.pending.Store(1)
	return d
}

func (d *driver) measured() Measured {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := Measured{Epoch: d.epoch, Cut: d.cut}
	m.Start, m.End = d.window.bounds(d.lastEnd)
	return m
}

// encode keeps the bodies ahead of the dispatcher. It closes full when it is ahead for the first time, and
// bodies at the end of the plan.
func (d *driver) encode(full chan struct{}) {
	var once sync.Once
	isFull := func() { once.Do(func() { close(full) }) }
	defer isFull()
	for n := 1; d.Plan.More(); n++ {
		r := d.Plan.Next()
		select {
		case d.bodies <- prepared{r, d.encodeOne(&r)}:
		case <-d.encodeCtx.Done():
			return
		}
		if n == ahead {
			isFull()
		}
	}
	close(d.bodies)
}

func (d *driver) encodeOne(r *workload.Request) []byte {
	d.encodeMu.Lock()
	defer d.encodeMu.Unlock()
	return d.Encode(r)
}

// next is the plan's next request; false at the end of ctx or of the plan.
func (d *driver) next(ctx context.Context) (prepared, bool) {
	select {
	case p, ok := <-d.bodies:
		if !ok {
			d.closeByPlan()
		}
		return p, ok
	case <-ctx.Done():
		return prepared{}, false
	}
}

// dispatch sends each request at its time until the row is over, and then ends what is in flight.
func (d *driver) dispatch(scheduled time.Duration) {
	defer d.endDispatch(nil)
	defer d.startTimers(scheduled)()
	if d.Ends != nil {
		defer context.AfterFunc(d.Ends, func() {
			d.closeWindow(func() { d.window.stop(time.Since(d.epoch)) })
		})()
	}
	switch {
	case d.Rate == 0:
		for range d.Concurrency {
			d.inFlight.Go(d.worker)
		}
	case d.Follow == nil:
		d.dispatchArrivals()
	default:
		d.dispatchConversations()
	}
	d.awaitEnd()
}

// active reports that the row is not over. A request of the window that was due just when the row ended is
// accounted for.
func (d *driver) active(job *Job) bool {
	if d.dispatchCtx.Err() == nil {
		return true
	}
	if d.rowOver() && job.Phase == Window {
		d.reportUnsent(job)
	}
	return false
}

// reportUnsent accounts for a request of the window that was never sent.
func (d *driver) reportUnsent(job *Job) {
	job.Ready = openai.Never
	job.Result = openai.Result{
		Outcome: openai.Unfinished, Error: "not sent before the end of the row", Sent: openai.Never,
		FirstEvent: openai.Never, First: openai.Never, Last: openai.Never, End: openai.Never, Free: openai.Never, Connect: openai.Never,
	}
	d.results <- job
}

// awaitEnd waits for the end of the row, ends what is in flight, and waits for that.
func (d *driver) awaitEnd() {
	idle := make(chan struct{})
	go func() {
		d.inFlight.Wait()
		close(idle)
	}()
	<-d.dispatchCtx.Done()
	cause := openai.ErrUnfinished
	if !d.rowOver() {
		select {
		case <-idle:
		case <-time.After(d.Drain):
		}
		cause = context.Canceled
	}
	d.endRequests(cause)
	<-idle
}

// rowOver reports that the dispatching ended because the row is over, and not by an interruption.
func (d *driver) rowOver() bool { return context.Cause(d.dispatchCtx) == openai.ErrUnfinished }

// startTimers begins the row and sets the timers of its end. The returned function stops them.
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
	}
}

// closeWindow runs how unless the window is closed already: how closes it.
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

// closeByPlan closes the window with the plan's last request.
func (d *driver) closeByPlan() {
	d.closeWindow(func() {
		d.window.close(d.window.lastArrival)
		if d.hasSchedule() {
			d.window.scheduleGrace(d.window.lastArrival)
		} else {
			d.window.onComplete(time.Since(d.epoch))
		}
	})
}

// cutRun ends a row that has taken MaxDuration.
func (d *driver) cutRun() {
	d.mu.Lock()
	d.cut = true
	d.mu.Unlock()
	d.endDispatch(openai.ErrUnfinished)
}

// assignPhase gives the request its phase. The first request behind the window closes it, but not before its
// time, since warm-up requests that still run in the window count too; ctx ends that wait.
func (d *driver) assignPhase(ctx context.Context, job *Job) {
	d.mu.Lock()
	open := !d.window.closed
	job.Phase = d.window.phase(job.At)
	if d.holdsRow(job) {
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

// windowClosed runs once, at the window's end.
func (d *driver) windowClosed() {
	d.endWindow()
	d.donePending()
}

// holdsRow reports that the row ends only after the request: one of the window or, since its conversation may
// have a turn in the window, one of the warm-up.
func (d *driver) holdsRow(job *Job) bool {
	return job.Phase == Window || job.Phase == Warmup && d.Follow != nil
}

// donePending ends the dispatching when nothing is pending.
func (d *driver) donePending() {
	if d.pending.Add(-1) == 0 {
		d.endDispatch(openai.ErrUnfinished)
	}
}

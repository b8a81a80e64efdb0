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

// driver is the state of one Run. The package comment names the ends of its contexts.
type driver struct {
	Config
	epoch time.Time

	encodeCtx, dispatchCtx, windowCtx, requestCtx context.Context

	endDispatch context.CancelCauseFunc // cause openai.ErrUnfinished: the row is over
	endWindow   context.CancelFunc
	endRequests context.CancelCauseFunc

	bodies      *bodies
	freeWorkers chan time.Duration // under a cap: when each free worker became free; nil = no cap
	ended       *ended
	crew        crew
	inFlight    sync.WaitGroup
	encodeMu    sync.Mutex    // held during Encode
	takeLock    chan struct{} // closed loop: held by the worker that takes a request
	pending     atomic.Int64  // requests that keep the row from ending, plus 1 for the open window
	failures    atomic.Int64  // since the last success
	overloaded  atomic.Bool   // Config.Overloaded returned true

	mu      sync.Mutex // never held while waiting; protects what follows
	window  window
	cut     bool
	lastEnd time.Duration // of the window's requests so far
	queue   []*queued     // open loop: conversations that wait for a worker, in order of arrival

	behind []time.Duration // others' arrivals behind the last own one, at the end of the plan

	toCome    int  // later turns of the sessions that the plan has given, without those that are lost
	planEnded bool // it gives no other session
}

// Run drives the load until the window and its last request have ended, or its grace period, and then cancels
// what is in flight. The error is ctx's, or Each's. A closed loop that counts requests has no end but theirs,
// and MaxDuration.
func Run(ctx context.Context, c Config) (Measured, error) {
	if c.wait == nil {
		c.wait = waitUntil
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
	if err := d.start(ctx); err != nil {
		endEncode()
		helpers.Wait()
		return Measured{}, err
	}
	helpers.Go(func() {
		d.dispatch(scheduled)
		endEncode()
		d.crew.end()
		close(d.ended.over)
	})
	var failed error
	d.ended.each(func(job *Job) {
		if failed != nil {
			return
		}
		if failed = d.Each(job); failed != nil {
			d.endRequests(failed)
			endEncode()
			return
		}
		if d.Overloaded != nil && d.windowCtx.Err() != nil && !d.overloaded.Load() {
			d.overloaded.Store(d.Overloaded())
		}
	})
	helpers.Wait()
	return d.measured(), cmp.Or(failed, ctx.Err())
}

func newDriver(c Config) *driver {
	empty := c.takeShare()
	d := &driver{
		Config: c, bodies: newBodies(&c), takeLock: make(chan struct{}, 1),
		ended:  &ended{added: make(chan struct{}, 1), over: make(chan struct{})},
		window: window{Load: c.Load, rate: c.Rate, conversations: c.Follow != nil, empty: empty},
	}
	if c.Rate > 0 && c.Concurrency > 0 {
		d.freeWorkers = make(chan time.Duration, c.Concurrency)
		for range c.Concurrency {
			d.freeWorkers <- 0
		}
	}
	d.pending.Store(1)
	if c.Release != nil {
		d.pending.Add(1)
	}
	return d
}

func (d *driver) start(ctx context.Context) (err error) {
	d.epoch = time.Now()
	if d.Start == nil {
		return nil
	}
	if d.epoch, err = d.Start(ctx); err == nil {
		d.wait(ctx, d.epoch)
	}
	return err
}

func (d *driver) measured() Measured {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := Measured{Epoch: d.epoch, Last: d.window.lastArrival, Requests: d.window.counted, Cut: d.cut}
	m.Start, m.End = d.window.bounds(d.lastEnd)
	return m
}

// encode keeps the bodies ahead of the dispatcher. It closes full when it is ahead for the first time.
func (d *driver) encode(full chan struct{}) {
	isFull := sync.OnceFunc(func() { close(full) })
	defer isFull()
	var others []time.Duration
	for arrival := 0; d.Plan.More(); arrival++ {
		r := d.Plan.Next()
		if d.encodeCtx.Err() != nil {
			return
		}
		if !d.Share.Owns(arrival) {
			if d.hasSchedule() {
				others = append(others, r.At)
			}
			continue
		}
		full := d.bodies.add(prepared{r, d.encodeOne(&r), others})
		if others = nil; !full {
			continue
		}
		isFull()
		select {
		case <-d.bodies.taken:
		case <-d.encodeCtx.Done():
			return
		}
	}
	d.behind = others
	d.bodies.end()
}

func (d *driver) encodeOne(r *workload.Request) []byte {
	d.encodeMu.Lock()
	defer d.encodeMu.Unlock()
	return d.Encode(r)
}

func (d *driver) next(ctx context.Context) (prepared, bool) {
	p, ok, ended := d.bodies.next(ctx)
	if ended {
		d.endOfPlan()
	}
	return p, ok
}

// endOfPlan closes the window with the plan's last request; with sessions, when its last turn arrives.
func (d *driver) endOfPlan() {
	d.place(d.dispatchCtx, func() { d.window.pass(d.behind) })
	d.mu.Lock()
	d.planEnded = true
	d.mu.Unlock()
	d.arrived(0)
}

func (d *driver) dispatch(scheduled time.Duration) {
	defer d.endDispatch(nil)
	defer d.startTimers(scheduled)()
	if d.Release != nil {
		defer context.AfterFunc(d.Release, d.donePending)()
	}
	if d.Ends != nil {
		defer context.AfterFunc(d.Ends, func() {
			d.closeWindow(func() { d.window.stop(time.Since(d.epoch)) })
		})()
	}
	if d.Decided != nil {
		defer context.AfterFunc(d.Decided, d.decided)()
	}
	switch {
	case d.Rate == 0:
		for range d.Concurrency {
			d.inFlight.Go(func() { d.work(nil, 0) })
		}
	case d.Follow == nil:
		d.dispatchArrivals()
	default:
		d.dispatchConversations()
	}
	d.awaitEnd()
}

// active reports that the row is not over. A request of the window that was due at its end is accounted for.
func (d *driver) active(job *Job) bool {
	if d.dispatchCtx.Err() == nil {
		return true
	}
	if d.rowOver() && job.Phase == Window {
		d.reportUnsent(job)
	}
	return false
}

func (d *driver) reportUnsent(job *Job) {
	job.unsent()
	d.ended.add(job)
}

func (j *Job) unsent() {
	j.Result.Reset()
	j.Ready, j.Result.Outcome, j.Result.Error = openai.Never, openai.Unfinished, "not sent before the end of the row"
}

// assignPhase gives the request its phase. The first request behind the window closes it, but not before its
// time, since warm-up requests that still run in the window count too; ctx ends that wait.
func (d *driver) assignPhase(ctx context.Context, job *Job) {
	d.place(ctx, func() {
		d.window.pass(job.others)
		job.Phase = d.window.phase(job.At)
		if d.holdsRow(job) {
			d.pending.Add(1)
		}
		if job.Phase == Window && d.window.complete() {
			d.window.onComplete(time.Since(d.epoch))
		}
	})
}

func (d *driver) place(ctx context.Context, how func()) {
	d.mu.Lock()
	open := !d.window.closed
	how()
	closes, end := open && d.window.closed, d.window.end
	d.mu.Unlock()
	if closes {
		d.wait(ctx, d.epoch.Add(end))
		d.windowClosed()
	}
}

func (d *driver) windowClosed() {
	d.endWindow()
	d.donePending()
}

// donePending ends the dispatching when nothing is pending.
func (d *driver) donePending() {
	switch left := d.pending.Add(-1); {
	case left == 0:
		d.endDispatch(openai.ErrUnfinished)
	case left == 1 && d.Release != nil && d.Release.Err() == nil:
		d.Drained()
	}
}

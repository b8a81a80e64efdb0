package load

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"bench/experiment/openai"
	"bench/experiment/workload"
)

// Phase of a request, by its intended arrival.
type Phase int

// The phases, in their order.
const (
	Warmup Phase = iota
	Window
	Cooldown
)

// Job is one request on its way. Times are offsets from Run's start.
type Job struct {
	Request workload.Request
	Phase   Phase
	At      time.Duration // intended arrival: the schedule; in a closed loop, the moment the slot became free
	Ready   time.Duration // At, and a slot free under the cap
	Result  openai.Result
}

// Config is one row's load.
type Config struct {
	Load
	Rate workload.Rate  // 0 = closed loop
	Plan *workload.Plan // endless; used from one goroutine
	// Encode makes the request's body. It is called from one goroutine, ahead of the request's time.
	Encode func(*workload.Request) []byte
	// Send makes the request, as far as that goes without waiting, and returns what does the rest and fills job.Result, its
	// times counted from epoch. A context cancelled with openai.ErrUnfinished as its cause says that the row is over.
	Send func(ctx context.Context, job *Job, body []byte, epoch time.Time) (finish func())
	// Each takes what became of a request, in the order of their ends, from one goroutine. Its error
	// ends the run.
	Each func(*Job) error
	// Drain is how long requests in flight may go on after ctx has ended.
	Drain time.Duration
	// Wait sleeps until t or the end of ctx; nil = as precisely as the machine can.
	Wait func(ctx context.Context, t time.Time)
}

// Measured is the window that a run had, as offsets from its start.
type Measured struct {
	Epoch      time.Time
	Start, End time.Duration
}

// ahead is how many bodies are encoded before their time: enough for a burst, bounded in memory.
const ahead = 128

type prepared struct {
	request workload.Request
	body    []byte
}

// driver is the state of one Run.
type driver struct {
	Config
	epoch  time.Time
	bodies chan prepared
	free   chan time.Duration // under a cap, an entry for each free slot: when it became free; nil = no bound
	done   chan *Job
	sends  sync.WaitGroup

	// Of the dispatcher alone; in a closed loop, of the slot that has the turn:
	turn   chan struct{}
	window window
	freed  time.Duration // the latest time at which a slot became free

	halt        context.CancelCauseFunc // ends the dispatching; openai.ErrUnfinished: because the row is over
	outstanding atomic.Int64            // requests of the window that are not over, and 1 for the window itself
	lastEnd     atomic.Int64            // of the window's requests so far
}

// Run drives the load until the window and its last request have ended, or its grace period, and
// then cancels what is left in flight. It returns the window's bounds; the error is ctx's, or
// Each's. A closed loop that counts requests has no end but its requests' own: Send must bound them.
func Run(ctx context.Context, c Config) (Measured, error) {
	if c.Wait == nil {
		c.Wait = waitUntil
	}
	d := &driver{Config: c, bodies: make(chan prepared, ahead), done: make(chan *Job, 1024), turn: make(chan struct{}, 1)}
	d.window = window{Load: c.Load, rate: c.Rate}
	if c.Rate > 0 && c.Concurrency > 0 {
		d.free = make(chan time.Duration, c.Concurrency)
		for range c.Concurrency {
			d.free <- 0
		}
	}
	d.outstanding.Store(1)
	stopCtx, stop := context.WithCancel(ctx) // ends encoding and dispatching
	defer stop()
	killCtx, kill := context.WithCancelCause(context.WithoutCancel(ctx)) // ends requests in flight
	defer kill(nil)

	scheduled := c.scheduledEnd()
	var helpers sync.WaitGroup
	full := make(chan struct{})
	helpers.Go(func() { d.encode(stopCtx, full) })
	<-full
	d.epoch = time.Now()
	helpers.Go(func() {
		d.dispatch(stopCtx, killCtx, kill, scheduled)
		stop()
		close(d.done)
	})
	var failed error
	for job := range d.done {
		if failed != nil {
			continue
		}
		if failed = d.Each(job); failed != nil {
			kill(failed)
			stop()
		}
	}
	helpers.Wait()
	measured := Measured{Epoch: d.epoch, Start: d.window.start, End: d.window.bound(time.Duration(d.lastEnd.Load()))}
	if failed != nil {
		return measured, failed
	}
	return measured, ctx.Err()
}

// encode keeps the bodies ahead of the dispatcher, and closes full when it has got ahead once.
func (d *driver) encode(ctx context.Context, full chan struct{}) {
	var once sync.Once
	isFull := func() { once.Do(func() { close(full) }) }
	defer isFull()
	for n := 1; ; n++ {
		r := d.Plan.Next()
		select {
		case d.bodies <- prepared{r, d.Encode(&r)}:
		case <-ctx.Done():
			return
		}
		if n == ahead {
			isFull()
		}
	}
}

// dispatch sends each request at its time until the row is over, and then ends what is in flight.
func (d *driver) dispatch(ctx, killCtx context.Context, kill context.CancelCauseFunc, scheduled time.Duration) {
	loop, halt := context.WithCancelCause(ctx)
	defer halt(nil)
	d.halt = halt
	grace := time.AfterFunc(forever, func() { halt(openai.ErrUnfinished) })
	defer grace.Stop()
	d.window.arm = func(end time.Duration) { grace.Reset(time.Until(d.epoch.Add(end)) + d.GraceTime()) }
	if d.Rate > 0 && !d.Rate.IsInf() {
		d.window.arm(scheduled)
	}
	d.window.open()
	if d.Rate == 0 {
		for range d.Concurrency {
			d.sends.Go(func() { d.slot(loop, killCtx) })
		}
	} else {
		d.sendAll(loop, ctx, killCtx)
	}
	d.finish(loop, kill)
}

// slot is one of a closed loop: it sends a request, and when that is over the next. It does not ask the dispatcher: to
// wake another goroutine for each request would be the client's own delay, inside of every latency.
func (d *driver) slot(loop, killCtx context.Context) {
	for freed := time.Duration(0); ; {
		job, body, ok := d.take(loop, freed)
		if !ok {
			return
		}
		freed = d.end(job, d.Send(killCtx, job, body, d.epoch))
	}
}

// take gives the plan's next request to a slot that became free at freed; false when the row is over.
func (d *driver) take(ctx context.Context, freed time.Duration) (*Job, []byte, bool) {
	select {
	case d.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, false
	}
	defer func() { <-d.turn }()
	p, ok := d.next(ctx)
	if !ok || ctx.Err() != nil {
		return nil, nil, false
	}
	d.freed = max(d.freed, freed) // two slots may come in the other order: arrivals never go back
	job := &Job{Request: p.request, At: d.freed, Ready: d.freed}
	d.place(ctx, job)
	return job, p.body, ctx.Err() == nil
}

// sendAll takes the requests of an open loop one by one, until loop ends or the last has been sent.
func (d *driver) sendAll(loop, ctx, killCtx context.Context) {
	defer lockThread()()
	for {
		p, ok := d.next(loop)
		if !ok && isOver(loop) {
			p, ok = d.next(ctx) // no request of the window is forgotten, not the one at hand either
		}
		if !ok {
			return
		}
		job := &Job{Request: p.request}
		if !d.admit(loop, job) {
			d.abandon(loop, ctx, job)
			return
		}
		finish := d.Send(killCtx, job, p.body, d.epoch) // here, and not by a goroutine that has to be woken first
		d.sends.Go(func() {
			ended := d.end(job, finish)
			if d.free != nil {
				d.free <- ended
			}
		})
	}
}

func (d *driver) next(ctx context.Context) (prepared, bool) {
	select {
	case p := <-d.bodies:
		return p, true
	case <-ctx.Done():
		return prepared{}, false
	}
}

// admit waits until the request may go; false when the dispatching is over.
func (d *driver) admit(ctx context.Context, job *Job) bool {
	job.At = job.Request.At
	d.place(ctx, job)
	if job.Phase == Cooldown && d.Rate.IsInf() {
		return false // all are sent: no load goes on behind them
	}
	d.Wait(ctx, d.epoch.Add(job.At))
	job.Ready = job.At
	if d.free != nil {
		select {
		case freed := <-d.free:
			job.Ready = max(job.At, freed)
		case <-ctx.Done():
			return false
		}
	}
	return ctx.Err() == nil
}

// place gives the request its phase. The first one behind the window ends it, but not before its
// time: what the warm-up's requests still do in it counts too.
func (d *driver) place(ctx context.Context, job *Job) {
	closed := d.window.closed
	job.Phase = d.window.place(job.Request.Index, job.At)
	if job.Phase == Window {
		d.outstanding.Add(1)
		if d.window.complete() {
			d.window.completed(time.Since(d.epoch))
		}
	}
	if d.window.closed && !closed {
		d.Wait(ctx, d.epoch.Add(d.window.end))
		d.release()
	}
}

// release ends the dispatching when nothing of the window is left.
func (d *driver) release() {
	if d.outstanding.Add(-1) == 0 {
		d.halt(openai.ErrUnfinished)
	}
}

// abandon accounts for the arrivals of the window, from this one on, that were never sent when the
// grace period ended: they are unfinished, not forgotten. After an interruption nothing is counted.
func (d *driver) abandon(loop, ctx context.Context, job *Job) {
	for isOver(loop) && job.Phase != Cooldown {
		job.Ready = openai.Never
		job.Result = openai.Result{Outcome: openai.Unfinished, Error: "not sent before the end of the grace period",
			Sent: openai.Never, FirstEvent: openai.Never, First: openai.Never, Last: openai.Never, End: openai.Never, Connect: openai.Never}
		d.done <- job
		p, ok := d.next(ctx)
		if !ok {
			return
		}
		job = &Job{Request: p.request, At: p.request.At}
		d.place(loop, job)
	}
}

// isOver says that the row came to its end, and was not interrupted.
func isOver(loop context.Context) bool { return context.Cause(loop) == openai.ErrUnfinished }

// end waits for the end of a request, and returns when it was over.
func (d *driver) end(job *Job, finish func()) (ended time.Duration) {
	finish()
	ended = time.Since(d.epoch)
	if job.Phase == Window {
		raise(&d.lastEnd, int64(ended))
		d.release()
	}
	d.done <- job
	return ended
}

// finish waits for the end of the row, then ends what is left in flight, and waits for that.
func (d *driver) finish(loop context.Context, kill context.CancelCauseFunc) {
	idle := make(chan struct{})
	go func() {
		d.sends.Wait()
		close(idle)
	}()
	<-loop.Done()
	if isOver(loop) {
		kill(openai.ErrUnfinished)
	} else {
		drained := time.NewTimer(d.Drain)
		defer drained.Stop()
		select {
		case <-idle:
		case <-drained.C:
		}
		kill(context.Canceled)
	}
	<-idle
}

func raise(a *atomic.Int64, v int64) {
	for old := a.Load(); v > old && !a.CompareAndSwap(old, v); old = a.Load() {
	}
}

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
	// Send makes the request and fills job.Result, its times counted from epoch. A context cancelled
	// with openai.ErrUnfinished as its cause says that the row is over.
	Send func(ctx context.Context, job *Job, body []byte, epoch time.Time)
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

// forever is longer than any row.
const forever = time.Duration(1 << 62)

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
	free   chan time.Duration // an entry for each free slot: when it became free; nil = no bound
	done   chan *Job
	sends  sync.WaitGroup

	// Of the dispatcher alone:
	counted  int  // requests of the window so far
	started  bool // the window's start is known
	measured Measured
	grace    *time.Timer

	halt        context.CancelFunc // ends the dispatching
	closed      atomic.Bool        // no further request belongs to the window
	outstanding atomic.Int64       // requests of the window that are not over
	lastEnd     atomic.Int64       // of the window's requests so far
	over        chan struct{}      // closed when the window's last request, or the grace period, has ended
	overOnce    sync.Once
}

// Run drives the load until the window's last request has ended, or its grace period, and then
// cancels what is left in flight. It returns the window's bounds; the error is ctx's, or Each's.
func Run(ctx context.Context, c Config) (Measured, error) {
	if c.Wait == nil {
		c.Wait = waitUntil
	}
	d := &driver{Config: c, bodies: make(chan prepared, ahead), done: make(chan *Job, 1024), over: make(chan struct{})}
	if c.Concurrency > 0 {
		d.free = make(chan time.Duration, c.Concurrency)
		for range c.Concurrency {
			d.free <- 0
		}
	}
	stopCtx, stop := context.WithCancel(ctx) // ends encoding and dispatching
	defer stop()
	killCtx, kill := context.WithCancelCause(context.WithoutCancel(ctx)) // ends requests in flight
	defer kill(nil)

	var helpers sync.WaitGroup
	full := make(chan struct{})
	helpers.Go(func() { d.encode(stopCtx, full) })
	<-full
	d.epoch = time.Now()
	d.measured.Epoch = d.epoch
	helpers.Go(func() {
		d.dispatch(stopCtx, killCtx)
		d.finish(stopCtx, kill)
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
	if failed != nil {
		return d.measured, failed
	}
	return d.measured, ctx.Err()
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

// dispatch sends each request at its time until the window is over.
func (d *driver) dispatch(ctx, killCtx context.Context) {
	if d.Rate > 0 { // a closed loop waits for slots, not for times: hand-over is faster unlocked
		defer lockThread()()
	}
	loop, halt := context.WithCancel(ctx)
	defer halt()
	d.halt = halt
	d.grace = time.AfterFunc(forever, func() {
		d.endOver()
		halt()
	})
	if d.Warmup.Requests == 0 && !d.Rate.IsInf() {
		d.start(time.Duration(d.Warmup.Time))
	}
	for {
		p, ok := d.next(loop)
		if !ok {
			return
		}
		job := &Job{Request: p.request}
		if !d.admit(loop, job) {
			d.abandon(ctx, job)
			return
		}
		d.sends.Add(1)
		go d.send(killCtx, job, p.body)
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

// admit waits for the request's arrival and for a slot; false when the load is over first.
func (d *driver) admit(ctx context.Context, job *Job) bool {
	if d.Rate == 0 {
		freed, ok := d.slot(ctx)
		job.At, job.Ready = freed, freed
		return ok && d.place(job)
	}
	job.At = job.Request.At
	if !d.place(job) {
		return false
	}
	d.Wait(ctx, d.epoch.Add(job.At))
	freed, ok := d.slot(ctx)
	job.Ready = max(job.At, freed)
	return ok && ctx.Err() == nil
}

// slot waits for a free one and says since when it was free.
func (d *driver) slot(ctx context.Context) (freed time.Duration, ok bool) {
	if d.free == nil {
		return 0, true
	}
	select {
	case freed := <-d.free:
		return freed, true
	case <-ctx.Done():
		return 0, false
	}
}

// place gives the request its phase, and the window its bounds as they become known; false when
// the window is over and so is every request of it.
func (d *driver) place(job *Job) bool {
	if !d.started && job.Request.Index >= d.Warmup.Requests {
		d.start(job.At)
	}
	switch {
	case !d.started || job.At < d.measured.Start:
		job.Phase = Warmup
		return true
	case !d.closed.Load() && !d.past(job.At):
		job.Phase = Window
		d.counted++
		d.outstanding.Add(1)
		if d.counted == d.Requests && (!d.Rate.IsInf() || d.Grace > 0) {
			d.grace.Reset(max(0, time.Until(d.epoch.Add(job.At))) + d.GraceTime())
		}
		return true
	}
	job.Phase = Cooldown
	if d.measured.End == 0 && !d.Rate.IsInf() {
		d.measured.End = job.At
	}
	d.closed.Store(true)
	if d.outstanding.Load() == 0 {
		d.endOver()
		return false
	}
	return !d.Rate.IsInf()
}

// start fixes the window's start, and its end where that is a matter of time.
func (d *driver) start(at time.Duration) {
	d.started = true
	d.measured.Start = at
	if d.Duration > 0 && !d.Rate.IsInf() {
		d.grace.Reset(time.Until(d.epoch.Add(at+time.Duration(d.Duration))) + d.GraceTime())
	}
}

// past says that an arrival lies behind the window's end, and fixes that end.
func (d *driver) past(at time.Duration) bool {
	if d.Requests > 0 && d.counted >= d.Requests {
		return true
	}
	if end := d.measured.Start + time.Duration(d.Duration); d.Duration > 0 && at >= end {
		d.measured.End = end
		return true
	}
	return false
}

// abandon accounts for the arrivals of the window, from this one on, that were never sent when the
// grace period ended: they are unfinished, not forgotten. After an interruption nothing is counted.
func (d *driver) abandon(ctx context.Context, job *Job) {
	for d.Rate > 0 && d.isOver() && job.Phase != Cooldown {
		job.Ready = openai.Never
		job.Result = openai.Result{Outcome: openai.Unfinished, Error: "not sent before the end of the grace period",
			Sent: openai.Never, FirstEvent: openai.Never, First: openai.Never, Last: openai.Never, End: openai.Never}
		d.done <- job
		p, ok := d.next(ctx)
		if !ok {
			return
		}
		job = &Job{Request: p.request, At: p.request.At}
		d.place(job)
	}
}

func (d *driver) isOver() bool {
	select {
	case <-d.over:
		return true
	default:
		return false
	}
}

func (d *driver) send(ctx context.Context, job *Job, body []byte) {
	defer d.sends.Done()
	d.Send(ctx, job, body, d.epoch)
	ended := time.Since(d.epoch)
	if job.Phase == Window {
		raise(&d.lastEnd, int64(ended))
		if d.outstanding.Add(-1) == 0 && d.closed.Load() {
			d.endOver()
		}
	}
	if d.free != nil {
		d.free <- ended
	}
	d.done <- job
}

// endOver says that the window's last request, or its grace period, is over. It wakes a dispatcher
// that waits for an arrival; that of a closed loop is woken by the slot that becomes free now, a
// moment that may be the window's end.
func (d *driver) endOver() {
	d.overOnce.Do(func() { close(d.over) })
	if d.Rate > 0 {
		d.halt()
	}
}

// finish waits for the window's requests, then ends what is left in flight, and waits for that.
func (d *driver) finish(ctx context.Context, kill context.CancelCauseFunc) {
	defer d.grace.Stop()
	idle := make(chan struct{})
	go func() {
		d.sends.Wait()
		close(idle)
	}()
	select {
	case <-d.over:
		kill(openai.ErrUnfinished)
	case <-idle:
	case <-ctx.Done():
		drained := time.NewTimer(d.Drain)
		defer drained.Stop()
		select {
		case <-idle:
		case <-drained.C:
		}
		kill(context.Canceled)
	}
	<-idle
	if d.measured.End == 0 {
		d.measured.End = time.Duration(d.lastEnd.Load())
	}
}

func raise(a *atomic.Int64, v int64) {
	for old := a.Load(); v > old && !a.CompareAndSwap(old, v); old = a.Load() {
	}
}

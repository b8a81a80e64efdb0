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
	At      time.Duration // intended arrival: the schedule; in a closed loop, the moment the slot became free; of a later turn, the end of the turn before and the think time
	Ready   time.Duration // At, and a slot free under the cap
	Input   int           // prompt tokens of a later turn, as the answers before it really were; 0 = the request's
	Result  openai.Result
}

// Config is one row's load.
type Config struct {
	Load
	Rate workload.Rate  // of arrivals: requests, or conversations; 0 = closed loop
	Plan *workload.Plan // used from one goroutine; its end, if it has one, ends the window
	// Encode makes the request's body. It is called ahead of the request's time, by one goroutine after the other; of a request
	// that waits long for a slot a second time.
	Encode func(*workload.Request) []byte
	// Send makes the request, as far as that goes without waiting, and returns what does the rest and fills job.Result, its
	// times counted from epoch. A context cancelled with openai.ErrUnfinished as its cause says that the row is over.
	Send func(ctx context.Context, job *Job, body []byte, epoch time.Time) (finish func())
	// Follow makes the next turn of a conversation (Request and Input) and its body, from a turn that ended well and was not
	// the last, and from that one's body. It is called as soon as the turn has ended, on any number of goroutines. nil = there
	// are no conversations.
	Follow func(job *Job, body []byte) (next *Job, nextBody []byte)
	// Each takes what became of a request, in the order of their ends, from one goroutine. Its error
	// ends the run.
	Each func(*Job) error
	// Enough says that the window needs no further request: the next one lies behind it. It is asked at each, on any
	// goroutine; nil = the load itself knows its end.
	Enough func() bool
	// Ends closes the window of a closed loop at the moment at which it ends, as if its duration were over then: the requests
	// of the window go on to their ends, for the grace period at most. nil = the load itself knows its end.
	Ends context.Context
	// Drain is how long requests in flight may go on after ctx has ended.
	Drain time.Duration
	// Wait sleeps until t or the end of ctx; nil = as precisely as the machine can.
	Wait func(ctx context.Context, t time.Time)
}

// Measured is the window that a run had, as offsets from its start.
type Measured struct {
	Epoch      time.Time
	Start, End time.Duration
	Cut        bool // the row's longest duration ended it
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
	epoch       time.Time
	bodies      chan prepared
	freeWorkers chan time.Duration // under a cap, an entry for each free slot: when it became free; nil = no bound
	results     chan *Job
	inFlight    sync.WaitGroup

	mu     sync.Mutex // is never held by one who waits
	window window
	cut    bool
	queue  []*queued // conversations of an open loop that wait for a slot, the first to arrive first

	encodeMu sync.Mutex // is held during Encode

	takeLock  chan struct{} // of a closed loop's slots, to take a request
	lastFreed time.Duration // of the slot that has the turn: the latest time at which one became free

	windowCtx   context.Context // ends when the window is closed, and with the dispatching
	endWindow   context.CancelFunc
	endDispatch context.CancelCauseFunc // ends the dispatching; openai.ErrUnfinished: because the row is over
	pending     atomic.Int64            // requests that hold the row open and are not over, and 1 for the window itself
	lastEnd     atomic.Int64            // of the window's requests so far
	failures    atomic.Int64            // failures since the last success
}

// Run drives the load until the window and its last request have ended, or its grace period, and
// then cancels what is left in flight. It returns the window's bounds; the error is ctx's, or
// Each's. A closed loop that counts requests has no end but its requests' own, and MaxDuration.
func Run(ctx context.Context, c Config) (Measured, error) {
	if c.Wait == nil {
		c.Wait = waitUntil
	}
	d := &driver{Config: c, bodies: make(chan prepared, ahead), results: make(chan *Job, 1024), takeLock: make(chan struct{}, 1)}
	d.window = window{Load: c.Load, rate: c.Rate, conversations: c.Follow != nil, enough: c.Enough}
	if c.Rate > 0 && c.Concurrency > 0 {
		d.freeWorkers = make(chan time.Duration, c.Concurrency)
		for range c.Concurrency {
			d.freeWorkers <- 0
		}
	}
	d.pending.Store(1)
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
		close(d.results)
	})
	var failed error
	for job := range d.results {
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
		return d.measured(), failed
	}
	return d.measured(), ctx.Err()
}

func (d *driver) measured() Measured {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := Measured{Epoch: d.epoch, Cut: d.cut}
	m.Start, m.End = d.window.bounds(time.Duration(d.lastEnd.Load()))
	return m
}

// encode keeps the bodies ahead of the dispatcher, and closes full when it has got ahead once; and
// bodies, when the plan is at its end.
func (d *driver) encode(ctx context.Context, full chan struct{}) {
	var once sync.Once
	isFull := func() { once.Do(func() { close(full) }) }
	defer isFull()
	for n := 1; d.Plan.More(); n++ {
		r := d.Plan.Next()
		select {
		case d.bodies <- prepared{r, d.encodeOne(&r)}:
		case <-ctx.Done():
			return
		}
		if n == ahead {
			isFull()
		}
	}
	close(d.bodies)
}

// encoded is the request's body.
func (d *driver) encodeOne(r *workload.Request) []byte {
	d.encodeMu.Lock()
	defer d.encodeMu.Unlock()
	return d.Encode(r)
}

// next is the plan's next request; false when the row is over, or the plan.
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
func (d *driver) dispatch(ctx, killCtx context.Context, kill context.CancelCauseFunc, scheduled time.Duration) {
	loop, halt := context.WithCancelCause(ctx)
	defer halt(nil)
	d.endDispatch = halt
	d.windowCtx, d.endWindow = context.WithCancel(loop)
	defer d.endWindow()
	defer d.startTimers(scheduled)()
	if d.Ends != nil {
		defer context.AfterFunc(d.Ends, d.closeNow)()
	}
	switch {
	case d.Rate == 0:
		for range d.Concurrency {
			d.inFlight.Go(func() { d.worker(loop, killCtx) })
		}
	case d.Follow == nil:
		d.dispatchArrivals(loop, ctx, killCtx)
	default:
		d.dispatchConversations(loop, ctx, killCtx)
	}
	d.awaitEnd(loop, kill)
}

// goes says that the row is not over. A request of the window that was to be sent just when its row
// came to its end is not forgotten.
func (d *driver) active(loop context.Context, job *Job) bool {
	if loop.Err() == nil {
		return true
	}
	if runEnded(loop) && job.Phase == Window {
		d.reportUnsent(job)
	}
	return false
}

// unsent accounts for a request of the window that was never sent.
func (d *driver) reportUnsent(job *Job) {
	job.Ready = openai.Never
	job.Result = openai.Result{Outcome: openai.Unfinished, Error: "not sent before the end of the row",
		Sent: openai.Never, FirstEvent: openai.Never, First: openai.Never, Last: openai.Never, End: openai.Never, Connect: openai.Never}
	d.results <- job
}

// finish waits for the end of the row, then ends what is left in flight, and waits for that.
func (d *driver) awaitEnd(loop context.Context, kill context.CancelCauseFunc) {
	idle := make(chan struct{})
	go func() {
		d.inFlight.Wait()
		close(idle)
	}()
	<-loop.Done()
	if runEnded(loop) {
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

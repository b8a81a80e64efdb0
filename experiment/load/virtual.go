package load

import (
	"container/heap"
	"context"
	"errors"
	"time"

	"bench/experiment/openai"
)

// Engine answers requests in virtual time: a simulated server without a network.
type Engine interface {
	// Add gives it a request at job.Result.Sent, which is never before a time that Next has reached.
	Add(job *Job)
	// Next runs until the first request ends, at most until a time, and fills its Result; nil: none ended until then.
	// Without a time it is called only if a request is in flight.
	Next(until time.Duration) *Job
	// Drop removes the requests that have not ended, and fills in what came of each so far.
	Drop() []*Job
}

// Simulate does in virtual time what Run does, with a client that is never late: the same plan, phases, workers, cap,
// sessions and ends. Encode, Send, Wait, Ends and the drains are not used. Follow gets and returns no bodies.
func Simulate(ctx context.Context, c Config, e Engine) (Measured, error) {
	v := &virtual{
		Config: c, engine: e, epoch: time.Now(), free: c.Concurrency, grace: forever, closing: forever,
		cutting: forever, pending: 1,
		window: window{Load: c.Load, rate: c.Rate, conversations: c.Follow != nil},
	}
	v.start()
	err := v.run(ctx)
	m := Measured{Epoch: v.epoch, Cut: v.cut}
	m.Start, m.End = v.window.bounds(v.lastEnd)
	return m, err
}

// virtual is the state of one Simulate: the driver's, with a queue of events in place of goroutines and timers.
type virtual struct {
	Config
	engine    Engine
	epoch     time.Time
	now       time.Duration
	events    events
	scheduled uint64 // events so far

	window                  window
	grace, closing, cutting time.Duration // timers; forever = not set
	pending                 int           // requests that keep the row from ending, plus 1 for the open window
	over, cut, decided      bool
	overloaded              bool // Config.Overloaded returned true
	inFlight                int
	lastEnd                 time.Duration // of the window's requests so far
	free                    int           // workers; only under a cap
	capped                  bool          // arriving waits for one
	arriving                *Job          // the next arrival, or the one that waits for a worker; nil: none
	queue                   []*Job        // conversations that wait for a worker
	turns                   []*waiting    // later turns in their think time
	// later turns of the sessions that the plan has given, without those that are lost
	toCome    int
	planEnded bool // it gives no other session
}

type waiting struct {
	job    *Job
	phased bool // it has its phase
}

func (v *virtual) start() {
	v.window.scheduleGrace = func(end time.Duration) { v.grace = end + v.GraceTime() }
	v.window.scheduleClose = func(end time.Duration) { v.closing = end }
	if scheduled := v.scheduledEnd(); scheduled < forever {
		v.window.scheduleGrace(scheduled)
	}
	if v.MaxDuration > 0 {
		v.cutting = time.Duration(v.MaxDuration)
	}
	v.window.init()
	if v.Rate > 0 {
		v.nextArrival()
		return
	}
	for range v.Concurrency {
		v.freeWorker(nil, 0)
	}
}

const checkEvery = 64

func (v *virtual) run(ctx context.Context) error {
	for n := 0; !v.over; n++ {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		timer := min(v.grace, v.closing, v.cutting)
		until := timer
		if len(v.events) > 0 {
			until = min(until, v.events[0].at)
		}
		if until == forever && v.inFlight == 0 {
			return errors.New("simulating: nothing is in flight, and no request follows")
		}
		if job := v.engine.Next(until); job != nil {
			v.inFlight--
			v.now = max(v.now, job.Result.End)
			if err := v.ended(job); err != nil {
				return err
			}
			continue
		}
		v.now = max(v.now, until)
		if until == timer {
			v.fire()
		} else {
			heap.Pop(&v.events).(event).do()
		}
	}
	return v.finish()
}

func (v *virtual) fire() {
	switch v.now {
	case v.cutting:
		v.cut, v.over = true, true
		v.window.cut()
	case v.closing:
		v.closing = forever
		v.closeWindow(func() { v.window.close(forever) })
	default:
		v.over = true
	}
}

func (v *virtual) finish() error {
	for _, job := range v.engine.Drop() {
		r := &job.Result
		r.Outcome, r.Error, r.End, r.Free = openai.Unfinished, openai.ErrUnfinished.Error(), v.now, v.now
		if v.decided {
			r.Error = errDecided.Error()
		}
		v.noteEnd(job)
		if err := v.Each(job); err != nil {
			return err
		}
	}
	if v.decided {
		return nil
	}
	for _, job := range v.unsent() {
		job.unsent()
		if err := v.Each(job); err != nil {
			return err
		}
	}
	return nil
}

// unsent are the window's requests, and a schedule's before it, that were not sent before the end of the row.
func (v *virtual) unsent() []*Job {
	var left []*Job
	for _, job := range v.queue {
		if job.Phase == Window {
			left = append(left, job)
		}
	}
	for _, t := range v.turns {
		if t.phased && t.job.Phase == Window {
			left = append(left, t.job)
		}
	}
	job := v.arriving
	if job != nil && v.Follow != nil {
		v.assignPhase(job)
	}
	for job != nil && job.Phase != Cooldown {
		left = append(left, job)
		if !v.Plan.More() {
			break
		}
		job = v.arrival()
		v.assignPhase(job)
	}
	return left
}

// event is something that happens at a time; of two at the same time the first to be scheduled.
type event struct {
	at time.Duration
	n  uint64 // counts the events
	do func()
}

type events []event

func (e events) Len() int { return len(e) }

func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].n < e[j].n
}

func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

func (e *events) Push(x any) { *e = append(*e, x.(event)) }

func (e *events) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	(*e)[last] = event{}
	*e = (*e)[:last]
	return x
}

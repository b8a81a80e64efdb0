package load

import (
	"container/heap"
	"slices"
	"time"
)

func (v *virtual) schedule(at time.Duration, do func()) {
	v.scheduled++
	heap.Push(&v.events, event{at: max(at, v.now), n: v.scheduled, do: do})
}

// nextArrival schedules the plan's next arrival. A single request has its phase as soon as the one before it is sent,
// a conversation at its arrival, since turns of others may close the window before.
func (v *virtual) nextArrival() {
	if v.arriving = nil; !v.Plan.More() {
		v.endOfPlan()
		return
	}
	job := v.arrival()
	v.arriving = job
	if v.Follow == nil {
		v.assignPhase(job)
	}
	v.schedule(job.At, func() { v.arrive(job) })
}

func (v *virtual) arrival() *Job {
	job := &Job{Request: v.Plan.Next()}
	job.At, job.Ready = job.Request.At, job.Request.At
	v.toCome += max(job.Request.Turns-1, 0)
	return job
}

// arrive sends a request of an open loop if a worker is free. One that waits holds up the next, no conversation does.
func (v *virtual) arrive(job *Job) {
	if v.Follow != nil {
		v.assignPhase(job)
	}
	switch {
	case v.refuses(job):
		v.arriving = nil
	case v.Concurrency == 0 || v.free > 0:
		v.free--
		job.Ready = max(job.Ready, v.now) // later than At if one before it waited, and two workers became free at once
		v.begin(job)
		v.nextArrival()
	case v.Follow != nil:
		v.queue = append(v.queue, job)
		v.nextArrival()
	default:
		v.capped = true
	}
}

func (v *virtual) refuses(job *Job) bool {
	return job.Phase == Cooldown && (v.Rate.IsInf() || v.overloaded && v.Follow == nil)
}

// freeWorker gives a worker that became free its next request: of the closed loop the plan's, else one that waits.
// before is what it had; it is released when the next one has its phase.
func (v *virtual) freeWorker(before *Job, at time.Duration) {
	if v.Rate == 0 {
		v.takeRequest(before, at)
		return
	}
	v.release(before)
	if v.Concurrency == 0 {
		return
	}
	switch {
	case v.capped && v.refuses(v.arriving):
		v.capped, v.arriving = false, nil
	case v.capped:
		v.capped = false
		v.arriving.Ready = max(v.arriving.At, at)
		v.send(v.arriving)
		v.nextArrival()
	case len(v.queue) > 0:
		job := v.queue[0]
		v.queue = v.queue[1:]
		job.Ready = max(job.At, at)
		v.begin(job)
	default:
		v.free++
	}
}

func (v *virtual) takeRequest(before *Job, at time.Duration) {
	if v.Idle > 0 && v.window.complete() {
		v.donePending()
		v.release(before)
		return
	}
	at += time.Duration(v.Idle)
	v.schedule(at, func() {
		defer v.release(before)
		if !v.Plan.More() {
			v.endOfPlan()
			return
		}
		job := v.arrival()
		job.At, job.Ready = at, at
		v.assignPhase(job)
		v.begin(job)
	})
}

func (v *virtual) begin(job *Job) {
	v.send(job)
	if v.Follow == nil || v.over {
		return
	}
	job.session = newSession(job, nil)
	for _, next := range job.Request.Begins()[1:] {
		t := job.session.begin(&v.Config, job, next)
		v.await(t.job)
	}
}

func (v *virtual) send(job *Job) {
	if v.over {
		return
	}
	job.Result.Reset()
	job.Result.Sent = job.Ready
	v.inFlight++
	v.engine.Add(job)
}

func (v *virtual) ended(job *Job) error {
	due, freed, over := v.endTurn(job)
	v.noteEnd(job)
	if err := v.Each(job); err != nil {
		return err
	}
	if v.Decided != nil && v.Decided.Err() != nil {
		v.decided, v.over = true, true
		v.closeWindow(func() { v.window.stop(v.now) })
		return nil
	}
	if v.Overloaded != nil && v.window.closed && v.window.end <= v.now && !v.overloaded {
		v.overloaded = v.Overloaded()
	}
	for _, turn := range due {
		v.await(job.session.follow(&v.Config, turn).job)
	}
	if over {
		v.freeWorker(job, freed)
	} else {
		v.release(job)
	}
	return nil
}

func (v *virtual) endTurn(job *Job) (due []int, freed time.Duration, over bool) {
	s := job.session
	if s == nil {
		return nil, job.Result.Free, true
	}
	due, over = s.end(job, nil)
	v.arrived(job.Lost)
	return due, s.freed, over
}

func (v *virtual) await(job *Job) {
	v.pending++
	t := &waiting{job: job}
	v.turns = append(v.turns, t)
	v.phaseTurns()
	v.schedule(job.At, func() { v.sendTurn(t) })
}

func (v *virtual) noteEnd(job *Job) {
	if job.Phase == Window {
		v.lastEnd = max(v.lastEnd, job.Result.Free, job.Result.Last+time.Microsecond)
	}
}

func (v *virtual) sendTurn(t *waiting) {
	v.phaseTurn(t)
	v.turns = slices.DeleteFunc(v.turns, func(other *waiting) bool { return other == t })
	v.send(t.job)
}

// phaseTurn gives a turn its phase at its arrival, or when the window closes, since the phase is known then.
func (v *virtual) phaseTurn(t *waiting) {
	if t.phased {
		return
	}
	t.phased = true
	v.assignPhase(t.job)
	v.arrived(1)
	v.donePending()
}

func (v *virtual) phaseTurns() {
	if !v.window.closed {
		return
	}
	for _, t := range v.turns {
		v.phaseTurn(t)
	}
}

// assignPhase gives the request its phase, when its time has come. The first one behind the window closes it.
func (v *virtual) assignPhase(job *Job) {
	open := !v.window.closed
	job.Phase = v.window.phase(job.At)
	if v.holdsRow(job) {
		v.pending++
	}
	if job.Phase == Window && v.window.complete() {
		v.window.onComplete(v.now)
	}
	switch {
	case !open || !v.window.closed:
	case v.window.end > v.now:
		v.schedule(v.window.end, v.windowClosed)
	default:
		v.windowClosed()
	}
}

func (v *virtual) windowClosed() {
	v.phaseTurns()
	v.donePending()
}

func (v *virtual) closeWindow(how func()) {
	if !v.window.closed {
		how()
		v.windowClosed()
	}
}

// endOfPlan closes the window with the plan's last request; with sessions, when its last turn arrives.
func (v *virtual) endOfPlan() {
	v.planEnded = true
	v.arrived(0)
}

// arrived counts later turns that have arrived or are lost. The last one of all sessions closes the window.
func (v *virtual) arrived(turns int) {
	if v.toCome -= turns; v.planEnded && v.toCome == 0 {
		v.closeWindow(func() { v.window.closeByPlan(v.hasSchedule(), v.now) })
	}
}

func (v *virtual) release(job *Job) {
	if job != nil && v.holdsRow(job) {
		v.donePending()
	}
}

func (v *virtual) donePending() {
	if v.pending--; v.pending == 0 {
		v.over = true
	}
}

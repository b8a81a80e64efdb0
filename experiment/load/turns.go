package load

import (
	"maps"
	"sync"
	"time"

	"bench/experiment/workload"
)

// finishSession finishes a request that has been sent, and runs the session that it begins. over reports that the
// session has ended on this goroutine: last and freed are then as of runTurns. Else another goroutine ends it, and
// calls then with these.
func (d *driver) finishSession(job *Job, body []byte, finish func(),
	then func(*Job, time.Duration)) (last *Job, freed time.Duration, over bool) {
	if d.Follow != nil {
		job.session = newSession(job, then)
		for _, next := range job.Request.Begins()[1:] {
			d.pending.Add(1)
			// its body takes time, and job is in flight
			d.branch(func() turn { return job.session.begin(&d.Config, job, next) })
		}
	}
	return d.runTurns(job, body, finish)
}

// runTurns finishes a request that has been sent, and then the turns of its session that wait for it: the first of
// them here, the others on goroutines of their own. When the session is over it returns the last turn, for release,
// and when the worker became free: when the session's last response was over, and not when this process noticed.
func (d *driver) runTurns(job *Job, body []byte, finish func()) (last *Job, freed time.Duration, over bool) {
	for {
		finish()
		next, freed, over := d.endTurn(job, body)
		d.completed(job)
		if over {
			return job, d.backOff(freed), true
		}
		d.release(job)
		if len(next) == 0 {
			return nil, 0, false
		}
		for _, t := range next[1:] {
			d.branch(func() turn { return t })
		}
		if job, body = next[0].job, next[0].body; !d.awaitTurn(job) {
			return nil, 0, false
		}
		finish = d.Send(d.requestCtx, job, body, d.epoch)
	}
}

func (d *driver) branch(made func() turn) {
	d.runInFlight(func() {
		t := made()
		if !d.awaitTurn(t.job) {
			return
		}
		finish := d.Send(d.requestCtx, t.job, t.body, d.epoch)
		if last, freed, over := d.runTurns(t.job, t.body, finish); over {
			t.job.session.then(last, freed)
		}
	})
}

// endTurn makes the turns that were waiting for this one alone. They are pending from now on, since their intended
// arrivals may be in the window; awaitTurn gives each its phase. over reports that the session has no turn left.
func (d *driver) endTurn(job *Job, body []byte) (next []turn, freed time.Duration, over bool) {
	s := job.session
	if s == nil {
		return nil, job.Result.Free, true
	}
	due, over := s.end(job, body)
	d.arrived(job.Lost)
	if over {
		return nil, s.freed, true
	}
	d.pending.Add(int64(len(due)))
	for _, turn := range due {
		next = append(next, s.follow(&d.Config, turn))
	}
	return next, 0, false
}

func (d *driver) sessionBegun(first *workload.Request) {
	if first.Turns > 1 {
		d.mu.Lock()
		d.toCome += first.Turns - 1
		d.mu.Unlock()
	}
}

// arrived counts later turns that have arrived or are lost. The last of all closes the window, unless the row is over.
func (d *driver) arrived(turns int) {
	d.mu.Lock()
	d.toCome -= turns
	last := d.planEnded && d.toCome == 0 && d.dispatchCtx.Err() == nil
	d.mu.Unlock()
	if last {
		d.closeWindow(func() { d.window.closeByPlan(d.hasSchedule(), time.Since(d.epoch)) })
	}
}

// awaitTurn waits for the intended arrival of a later turn; false when the row is over. The turn gets its
// phase at that moment, since a window that counts requests counts them in the order in which they arrive; or
// when the window closes, since the phase is known then.
func (d *driver) awaitTurn(job *Job) bool {
	arrival := d.epoch.Add(job.At)
	d.wait(d.windowCtx, arrival)
	if d.dispatchCtx.Err() != nil {
		return false
	}
	d.assignPhase(d.dispatchCtx, job)
	d.arrived(1)
	d.donePending()
	d.wait(d.dispatchCtx, arrival)
	return d.active(job)
}

func (d *driver) completed(job *Job) {
	switch o := job.Result.Outcome; { // a user who left shows neither
	case o.Failed():
		d.failures.Add(1)
	case o.Completed():
		d.failures.Store(0)
	}
	if job.Phase == Window {
		d.mu.Lock()
		// A window excludes its end, and records are rounded to µs: the last token is inside.
		d.lastEnd = max(d.lastEnd, job.Result.Free, job.Result.Last+time.Microsecond)
		d.mu.Unlock()
	}
	d.ended.add(job)
}

// release lets the row end without the request, which has ended; nil: none.
func (d *driver) release(job *Job) {
	if job != nil && d.holdsRow(job) {
		d.donePending()
	}
}

// After backOffAfter failures without a success each worker pauses, so that a server that only fails is not
// flooded. An open loop without a cap keeps its schedule.
const (
	backOffAfter = 8
	backOffTime  = 100 * time.Millisecond
)

func (d *driver) backOff(freed time.Duration) time.Duration {
	if d.Concurrency == 0 || d.failures.Load() < backOffAfter {
		return freed
	}
	freed += backOffTime
	waitTimer(d.dispatchCtx, d.epoch.Add(freed))
	return freed
}

// session is a conversation or a run of an agent in flight. Its worker belongs to it until its last turn has ended.
type session struct {
	then func(last *Job, freed time.Duration) // what the worker does next

	mu    sync.Mutex
	first workload.Request
	walk  *workload.Walk
	freed time.Duration // end of its last response so far
	sent  map[int]turn  // ended turns that another may continue
}

type turn struct {
	job  *Job
	body []byte
}

func newSession(first *Job, then func(*Job, time.Duration)) *session {
	s := &session{then: then, first: first.Request}
	s.walk = workload.NewWalk(&s.first)
	return s
}

// end notes the end of a turn, sets job.Lost and job.SessionOver, and returns the turns that are due now.
func (s *session) end(job *Job, body []byte) (due []int, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.freed = max(s.freed, job.Result.Free)
	if !job.Result.Outcome.Completed() { // failed, or its user left
		job.Lost = s.walk.Fail(job.Request.Turn)
		maps.DeleteFunc(s.sent, func(before int, _ turn) bool { return !s.walk.Needed(before) })
		job.SessionOver = s.walk.Over()
		return nil, job.SessionOver
	}
	if s.walk.Needed(job.Request.Turn) {
		if s.sent == nil {
			s.sent = map[int]turn{}
		}
		s.sent[job.Request.Turn] = turn{job, body}
	}
	due = s.walk.End(job.Request.Turn, job.At, job.Result.End)
	job.SessionOver = s.walk.Over()
	return due, job.SessionOver
}

// before is the turn that next continues; the zero turn: none. Bodies are large: the last to continue it frees it.
func (s *session) before(next int) turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.walk.Make(next)
	if !ok {
		return turn{}
	}
	before := s.sent[t]
	if !s.walk.Needed(t) {
		delete(s.sent, t)
	}
	return before
}

func (s *session) follow(c *Config, next int) turn {
	t := s.later(c, next)
	s.mu.Lock()
	t.job.At = s.walk.Due(next, t.job.Request.Think)
	s.mu.Unlock()
	t.job.Ready = t.job.At
	return t
}

func (s *session) later(c *Config, next int) turn {
	before := s.before(next)
	job, body := c.Follow(&s.first, next, before.job, before.body)
	job.session = s
	return turn{job, body}
}

func (s *session) begin(c *Config, first *Job, next int) turn {
	t := s.later(c, next)
	t.job.At = first.Ready + t.job.Request.Think
	t.job.Ready = t.job.At
	return t
}

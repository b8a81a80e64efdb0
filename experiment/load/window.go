package load

import (
	"time"

	"bench/experiment/workload"
)

// forever is longer than any row.
const forever = time.Duration(1 << 62)

// window is what is known so far of a row's window.
type window struct {
	Load
	rate          workload.Rate
	conversations bool                    // there are conversations: when their turns arrive, the answers decide
	scheduleGrace func(end time.Duration) // sets the grace period to follow that moment
	enough        func() bool             // no further request is needed; nil = never so
	scheduleClose func(end time.Duration) // closes the window at that moment, whether or not a request arrives behind it
	started       bool                    // start is known
	closed        bool                    // end is known: the window ends there at the latest
	start, end    time.Duration
	stopped       bool          // at end, by the caller
	placed        int           // requests so far, of every phase
	counted       int           // its requests so far
	lastArrival   time.Duration // the latest intended arrival of them
}

// open begins the row.
func (w *window) init() {
	if w.Warmup.Requests == 0 && !w.rate.IsInf() {
		w.begin(time.Duration(w.Warmup.Time))
	}
}

// begin fixes the window's start and, where its end is a matter of time that no schedule tells, what
// follows from that.
func (w *window) begin(at time.Duration) {
	w.started, w.start = true, at
	if w.Duration == 0 {
		return
	}
	if w.rate == 0 || w.conversations {
		w.scheduleGrace(w.latestEnd())
	}
	if w.conversations {
		w.scheduleClose(w.latestEnd())
	}
}

// latest is the last moment at which the window can end: by its duration, or with the row's.
func (w *window) latestEnd() time.Duration {
	end := forever
	if w.Duration > 0 && !w.rate.IsInf() {
		end = w.start + time.Duration(w.Duration)
	}
	if w.MaxDuration > 0 {
		end = min(end, time.Duration(w.MaxDuration))
	}
	if w.stopped {
		end = min(end, w.end)
	}
	return end
}

// stop closes the window now, and has its requests end within the grace period.
func (w *window) stop(now time.Duration) {
	if !w.started {
		w.started, w.start = true, now
	}
	w.close(now)
	w.stopped = true
	w.scheduleGrace(now)
}

// place gives the phase of the next request, and closes the window when it lies behind it. Without
// conversations requests come in the order of their intended arrivals; turns of conversations that are
// due at nearly the same moment may come in another. A slot that was freed just before the window was stopped, and
// has its request only now, is behind it: the row may be over, and nobody failed to answer what was never sent.
func (w *window) phase(at time.Duration) Phase {
	if !w.started && w.placed >= w.Warmup.Requests && at >= time.Duration(w.Warmup.Time) {
		w.begin(at)
	}
	w.placed++
	switch {
	case !w.started || at < w.start:
		return Warmup
	case !w.stopped && !w.complete() && at < w.latestEnd():
		w.counted++
		w.lastArrival = max(w.lastArrival, at)
		return Window
	case !w.closed:
		w.close(max(at, w.lastArrival))
	}
	return Cooldown
}

// close ends the window, at the given moment or at its latest.
func (w *window) close(at time.Duration) { w.closed, w.end = true, min(at, w.latestEnd()) }

// complete says that the window has the requests that it should have.
func (w *window) complete() bool {
	return w.Requests > 0 && w.counted >= w.Requests || w.enough != nil && w.enough()
}

// completed sets the grace period where the requests end the window, and not the schedule. When all
// are sent at once, how long they take is what is measured: only a stated grace period bounds that.
func (w *window) onComplete(now time.Duration) {
	if w.rate == 0 || w.conversations || w.rate.IsInf() && w.Grace > 0 {
		w.scheduleGrace(now)
	}
}

// bounds are the window's start and end. It ends at the arrival behind it or by its duration; failing
// both (all arrived at once, or the grace period was over before another slot was free) at the end of
// its last request. A window that never began is empty.
func (w *window) bounds(lastEnd time.Duration) (start, end time.Duration) {
	switch {
	case !w.started:
		return time.Duration(w.MaxDuration), time.Duration(w.MaxDuration)
	case w.closed && (w.end > w.start || w.stopped):
		return w.start, w.end
	case w.complete() || w.closed:
		return w.start, min(lastEnd, w.latestEnd())
	}
	return w.start, w.latestEnd()
}

// scheduledEnd is the last moment of an open loop's window by its schedule, whatever the server
// does; it walks the plan's arrivals only as far as requests are counted.
func (c *Config) scheduledEnd() time.Duration {
	if !c.hasSchedule() || c.Duration == 0 && c.Requests == 0 {
		return forever
	}
	w := window{Load: c.Load, rate: c.Rate}
	w.init()
	ends := true
	for at := range c.Plan.Arrivals {
		if phase := w.phase(at); phase == Cooldown || phase == Window && w.Requests == 0 {
			ends = false
			break
		}
	}
	switch {
	case w.closed:
		return w.end
	case ends: // with the plan
		return w.lastArrival
	}
	return w.latestEnd()
}

// scheduled says that every arrival is known before the row begins.
func (c *Config) hasSchedule() bool { return c.Rate > 0 && !c.Rate.IsInf() && c.Follow == nil }

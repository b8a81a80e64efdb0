package load

import (
	"time"

	"bench/experiment/workload"
)

// forever is longer than any row.
const forever = time.Duration(1 << 62)

// window is what is known so far of a row's window. It waits for nothing: the driver owns its timers and lock.
type window struct {
	workload.Load
	rate          workload.Rate
	conversations bool                    // arrivals of later turns depend on the answers
	empty         bool                    // it has no request: other machines have all of them
	scheduleGrace func(end time.Duration) // starts the grace period at that moment
	// closes the window at that moment, whether or not a request arrives behind it
	scheduleClose func(end time.Duration)
	started       bool // start is known
	closed        bool // end is known: the window ends there at the latest
	start, end    time.Duration
	stopped       bool          // at end, by Config.Ends or Config.Decided
	placed        int           // requests so far, of every phase
	counted       int           // requests of the window so far
	lastArrival   time.Duration // the latest intended arrival of them
}

func (w *window) init() {
	if w.Warmup.Requests == 0 && !w.rate.IsInf() {
		w.begin(time.Duration(w.Warmup.Time))
	}
}

// begin fixes the window's start and, when its end is a matter of time but of no schedule, its timers.
func (w *window) begin(start time.Duration) {
	w.started, w.start = true, start
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

// latestEnd is the last moment at which the window can end: by its duration, or with the row's.
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

// stop closes the window now and starts its grace period. A window that has not begun is empty.
func (w *window) stop(now time.Duration) {
	if !w.started {
		w.started, w.start = true, now
	}
	w.close(now)
	w.stopped = true
	w.scheduleGrace(now)
}

// phase is the phase of the next request; the first one behind the window closes it. Requests come in the
// order of their intended arrivals, except turns of conversations that are due at nearly the same moment, and
// workers that became free at nearly the same moment or while the client was late. Where requests are counted
// the order in which they come decides.
//
// A stopped window takes no further request, even if the worker became free before the stop: the row may be
// over already, and a request that was never sent is no failure of the server.
func (w *window) phase(arrival time.Duration) Phase {
	if !w.started && w.placed >= w.Warmup.Requests && arrival >= time.Duration(w.Warmup.Time) {
		w.begin(arrival)
	}
	w.placed++
	switch {
	case !w.started || arrival < w.start && w.Warmup.Requests == 0:
		return Warmup
	case !w.stopped && !w.complete() && arrival < w.latestEnd():
		w.counted++
		w.lastArrival = max(w.lastArrival, arrival)
		return Window
	case !w.closed:
		w.close(max(arrival, w.lastArrival))
	}
	return Cooldown
}

// close ends the window, at the given moment or at its latest end.
func (w *window) close(end time.Duration) { w.closed, w.end = true, min(end, w.latestEnd()) }

// cut closes the window with the row if it waits for the timer that is due at the same moment.
func (w *window) cut() {
	if w.started && !w.closed && w.Duration > 0 && w.conversations {
		w.close(forever)
	}
}

// closeByPlan closes the window at the plan's last arrival. scheduled: every arrival was known before the row began.
func (w *window) closeByPlan(scheduled bool, now time.Duration) {
	w.close(w.lastArrival)
	if scheduled {
		w.scheduleGrace(w.lastArrival)
	} else {
		w.onComplete(now)
	}
}

func (w *window) complete() bool {
	return w.empty || w.Requests > 0 && w.counted >= w.Requests
}

func (w *window) pass(others []time.Duration) {
	for _, at := range others {
		w.phase(at)
	}
}

// onComplete starts the grace period when the requests end the window, and not the schedule. With rate "inf"
// the time that all requests take is the measurement: only a grace period that the row states bounds it.
func (w *window) onComplete(now time.Duration) {
	if w.rate == 0 || w.conversations || w.rate.IsInf() && w.Grace > 0 {
		w.scheduleGrace(now)
	}
}

// bounds are the window's start and end. It ends at the arrival behind it or by its duration; without either
// (all arrived at once, or the grace period was over before another worker was free) at the end of its last
// request. A window that never began is empty.
func (w *window) bounds(lastEnd time.Duration) (start, end time.Duration) {
	cut := time.Duration(w.MaxDuration)
	switch {
	case !w.started || cut > 0 && w.start > cut: // of arrivals that never come
		return cut, cut
	case w.closed && (w.end > w.start || w.stopped):
		return w.start, w.end
	case w.complete() || w.closed:
		return w.start, min(lastEnd, w.latestEnd())
	}
	return w.start, w.latestEnd()
}

// scheduledEnd is the last moment of an open loop's window by its schedule, however the server answers. It
// walks the plan's arrivals only as far as requests are counted.
func (c *Config) scheduledEnd() time.Duration {
	if !c.hasSchedule() || c.Duration == 0 && c.Requests == 0 {
		return forever
	}
	w := window{Load: c.Load, rate: c.Rate}
	w.init()
	planEnded := true
	for arrival := range c.Plan.Arrivals {
		if phase := w.phase(arrival); phase == Cooldown || phase == Window && w.Requests == 0 {
			planEnded = false
			break
		}
	}
	switch {
	case w.closed:
		return w.end
	case planEnded:
		return w.lastArrival
	}
	return w.latestEnd()
}

// holdsRow reports that the row ends only after the request: of the window, or of a conversation that may reach it.
func (c *Config) holdsRow(job *Job) bool {
	return job.Phase == Window || job.Phase == Warmup && c.Follow != nil
}

func (c *Config) hasSchedule() bool { return c.Rate > 0 && !c.Rate.IsInf() && c.Follow == nil }

// takeShare reduces the load to the driver's share of it. In an open loop only the cap is divided, since every machine
// counts the arrivals of all. empty: requests are counted, and the share has none of the window.
func (c *Config) takeShare() (empty bool) {
	s := c.Share
	if s.Of == 0 {
		return false
	}
	c.Concurrency = s.Concurrency()
	if c.hasSchedule() {
		return false
	}
	warmup := s.Among(c.Warmup.Requests)
	if c.Requests > 0 {
		c.Requests = s.Among(c.Warmup.Requests+c.Requests) - warmup
		empty = c.Requests == 0
	}
	c.Warmup.Requests = warmup
	return empty
}

// Join is the window of a row whose load several machines sent.
//
// Where time ends it they all have the same. Where requests are counted, each ended its own after its part of them:
// together it goes from the first start to the first arrival behind, or the latest arrival of a request that counts.
// With rate "inf" it goes to the last end.
func (c *Config) Join(parts []Measured) Measured {
	var all Measured
	for i, m := range parts {
		cut := m.Cut || all.Cut
		switch {
		case i == 0 || all.Requests == 0 && m.Requests > 0:
			all = m
		case m.Requests > 0 || all.Requests == 0:
			end := min(all.End, m.End)
			if c.Rate.IsInf() {
				end = max(all.End, m.End)
			}
			all.Start, all.Last, all.End = min(all.Start, m.Start), max(all.Last, m.Last), end
		}
		all.Cut = cut
	}
	all.End = max(all.End, all.Last)
	return all
}

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
	rate       workload.Rate
	arm        func(end time.Duration) // sets the grace period to follow that moment
	started    bool                    // start is known
	closed     bool                    // no further request belongs to it
	start, end time.Duration
	counted    int // its requests so far
}

// open begins the row.
func (w *window) open() {
	if w.Warmup.Requests == 0 && !w.rate.IsInf() {
		w.begin(time.Duration(w.Warmup.Time))
	}
}

// begin fixes the window's start, and the grace period where its end is a matter of time.
func (w *window) begin(at time.Duration) {
	w.started, w.start = true, at
	if w.rate == 0 && w.Duration > 0 {
		w.arm(w.latest())
	}
}

// latest is the end that the duration sets.
func (w *window) latest() time.Duration {
	if w.Duration == 0 || w.rate.IsInf() {
		return forever
	}
	return w.start + time.Duration(w.Duration)
}

// place gives the phase of the next request, and closes the window when it lies behind it.
func (w *window) place(index int, at time.Duration) Phase {
	if !w.started && index >= w.Warmup.Requests {
		w.begin(at)
	}
	switch {
	case !w.started || at < w.start:
		return Warmup
	case !w.closed && !w.complete() && at < w.latest():
		w.counted++
		return Window
	case !w.closed:
		w.closed, w.end = true, min(at, w.latest())
	}
	return Cooldown
}

// complete says that the window has the requests that it should have.
func (w *window) complete() bool { return w.Requests > 0 && w.counted >= w.Requests }

// completed sets the grace period where the requests end the window, and not the schedule. When all
// are sent at once, how long they take is what is measured: only a stated grace period bounds that.
func (w *window) completed(now time.Duration) {
	if w.rate == 0 || w.rate.IsInf() && w.Grace > 0 {
		w.arm(now)
	}
}

// bound is the window's end: the arrival behind it or its duration; failing both (all arrived at
// once, or the grace period was over before another slot was free) the end of its last request.
func (w *window) bound(lastEnd time.Duration) time.Duration {
	switch {
	case w.closed && w.end > w.start:
		return w.end
	case w.complete():
		return min(lastEnd, w.latest())
	}
	return w.latest()
}

// scheduledEnd is the last moment of an open loop's window by its schedule, whatever the server
// does; it walks the plan's arrivals only as far as requests are counted.
func (c *Config) scheduledEnd() time.Duration {
	if c.Rate == 0 || c.Rate.IsInf() || c.Duration == 0 && c.Requests == 0 {
		return forever
	}
	w := window{Load: c.Load, rate: c.Rate}
	w.open()
	i := 0
	for at := range c.Plan.Arrivals {
		if phase := w.place(i, at); phase == Cooldown || phase == Window && w.Requests == 0 {
			break
		}
		i++
	}
	if w.closed {
		return w.end
	}
	return w.latest()
}

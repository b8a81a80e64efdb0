package mock

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// timerReach is how near to a deadline a timer of the runtime may go: about what it can be late, and some more.
	timerReach = 1500 * time.Microsecond
	// maxNap bounds how long an earlier deadline that comes in meanwhile can go unseen.
	maxNap = 250 * time.Microsecond
	// maxSpin is about what a nanosleep oversleeps; the rest of the way to a deadline is spent looking at the clock.
	maxSpin = 60 * time.Microsecond
)

// preciseClock returns a waiter for the goroutine that calls it, which gets a thread of its own, and what to do after use. The
// runtime's timers rest on epoll's milliseconds; a nanosleep on a thread whose timer slack is 1 ns does not. It goes the long way
// with the former, the short one with the latter.
func preciseClock() (waiter, func()) {
	runtime.LockOSThread()
	// Without the smaller slack (50 µs by default) it is only less precise, so an error is of no interest.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	last := time.Now()
	wait := func(ctx context.Context, wake <-chan struct{}, until time.Time) bool {
		if far := until.Add(-timerReach); time.Until(far) > 0 && !timerWait(ctx, wake, far) {
			return false
		}
		// Deadlines close to each other get a shorter spin, so that spinning takes 1/16 of a core at the most.
		spin := min(maxSpin, until.Sub(last)/16)
		reached := napUntil(ctx, wake, until, spin)
		if reached {
			last = until
		}
		return reached
	}
	return wait, func() {
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0) // 0: the default again
		runtime.UnlockOSThread()
	}
}

// napUntil sleeps and then spins; false if it was woken before the time.
func napUntil(ctx context.Context, wake <-chan struct{}, until time.Time, spin time.Duration) bool {
	for {
		left := time.Until(until)
		if left <= 0 {
			return true
		}
		select {
		case <-wake:
			return false
		case <-ctx.Done():
			return false
		default:
		}
		if left > spin {
			nap := unix.NsecToTimespec(int64(min(left-spin, maxNap)))
			_ = unix.Nanosleep(&nap, nil) // cut short by a signal: the loop goes on
		}
	}
}

package mock

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// timerReach is the distance to the deadline at which the runtime timer fires: its delay plus a margin.
	timerReach = 1500 * time.Microsecond
	// maxNap bounds the delay until a new, earlier deadline is noticed.
	maxNap = 250 * time.Microsecond
	// maxSpin is about the oversleep of a nanosleep; the last part before a deadline is a busy wait.
	maxSpin = 60 * time.Microsecond
)

// preciseClock returns a waiter for the calling goroutine, which it locks to its thread, and a function that
// undoes this. Runtime timers have the millisecond resolution of epoll; a nanosleep on a thread with a timer
// slack of 1 ns is precise. Long waits use the former, the last part the latter.
func preciseClock() (waiter, func()) {
	runtime.LockOSThread()
	// An error only costs precision: the default slack is 50 µs.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	last := time.Now()
	wait := func(ctx context.Context, wake <-chan struct{}, until time.Time) bool {
		if far := until.Add(-timerReach); time.Until(far) > 0 && !timerWait(ctx, wake, far) {
			return false
		}
		// Spinning takes at most 1/16 of a core: close deadlines get a shorter spin.
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
			_ = unix.Nanosleep(&nap, nil) // after a signal the loop continues
		}
	}
}

package load

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Go's timers fire up to 1 ms late on Linux (the granularity of its poller). The last coarseMargin is
// therefore slept by the kernel's timer, and the last spinMargin is spun.
const (
	coarseMargin = 1500 * time.Microsecond
	spinMargin   = 60 * time.Microsecond
)

// lockTimerThread gives the calling goroutine a thread of its own, whose timers the kernel does not batch.
// unlock gives it back.
func lockTimerThread() (unlock func()) {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // the default adds 50 µs of client lag
	return func() {
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0) // 0 = the default
		runtime.UnlockOSThread()
	}
}

// waitUntil returns at t, or when ctx ends (noticed up to coarseMargin late).
func waitUntil(ctx context.Context, t time.Time) {
	if !waitTimer(ctx, t.Add(-coarseMargin)) {
		return
	}
	if d := time.Until(t) - spinMargin; d > 0 {
		ts := unix.NsecToTimespec(int64(d))
		_ = unix.Nanosleep(&ts, nil) // a signal may end it early: the spin makes up for it
	}
	for time.Now().Before(t) {
	}
}

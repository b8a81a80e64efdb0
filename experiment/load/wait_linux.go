package load

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Go's timers wake up to 1 ms late on Linux (the granularity of its poller), so the last stretch
// is slept by the kernel's own timer, and the very last is spun.
const (
	coarseMargin = 1500 * time.Microsecond
	spinMargin   = 60 * time.Microsecond
)

// lockThread gives the dispatcher a thread of its own whose timers the kernel does not batch; the
// returned function gives it back.
func lockTimerThread() (unlock func()) {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // without it: 50 µs later, and seen as lag
	return func() {
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0) // 0 = the default
		runtime.UnlockOSThread()
	}
}

// waitUntil returns at t, or when ctx ends (noticed up to coarse late).
func waitUntil(ctx context.Context, t time.Time) {
	if !waitTimer(ctx, t.Add(-coarseMargin)) {
		return
	}
	if d := time.Until(t) - spinMargin; d > 0 {
		ts := unix.NsecToTimespec(int64(d))
		_ = unix.Nanosleep(&ts, nil) // cut short by a signal: the spin makes up for it
	}
	for time.Now().Before(t) {
	}
}

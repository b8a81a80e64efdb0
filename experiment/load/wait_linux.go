package load

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Go's timers fire up to 1 ms late on Linux (the granularity of its poller). The last coarseMargin is
// therefore slept by a kernel timer, which wakes the poller itself, and what is left at its wake-up is spun.
const (
	coarseMargin = 1500 * time.Microsecond
	maxMargin    = 60 * time.Microsecond // the longest spin
	marginStep   = time.Microsecond
)

var alarms = sync.Pool{New: func() any { return newAlarm() }}

// margin is how long before its time a wait ends its sleep, ns. It follows the machine's wake-up latency: each
// wake-up that comes too late raises it by two steps, each that comes in time lowers it by one, so that two
// of three come in time and the spin of the others is as short as it can be.
var margin atomic.Int64

// waitUntil returns at t, or when ctx ends (noticed up to coarseMargin late).
func waitUntil(ctx context.Context, t time.Time) {
	if !waitTimer(ctx, t.Add(-coarseMargin)) {
		return
	}
	before := time.Duration(margin.Load())
	if wake := t.Add(-before); time.Until(wake) > 0 {
		a := alarms.Get().(*alarm)
		a.sleep(wake)
		alarms.Put(a)
		step := -marginStep
		if !time.Now().Before(t) {
			step = 2 * marginStep
		}
		margin.Store(int64(min(max(before+step, 0), maxMargin)))
	}
	for time.Now().Before(t) {
	}
}

// alarm is a kernel timer (timerfd). Its expiry wakes the goroutine by the runtime's poller: a sleep in a
// system call would keep the runtime's monitor polling every 20 µs, which costs more than the sleeps.
type alarm struct {
	file *os.File
	raw  syscall.RawConn // nil: no timer, for instance because too many files are open
	wake time.Time
	arm  func(fd uintptr) bool // kept here, so that a wait does not allocate
}

func newAlarm() *alarm {
	a := &alarm{}
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return a
	}
	a.file = os.NewFile(uintptr(fd), "timerfd") // closed when it is garbage
	if a.raw, err = a.file.SyscallConn(); err != nil {
		a.raw = nil
	}
	a.arm = a.armOrDone
	return a
}

func (a *alarm) sleep(wake time.Time) {
	if a.raw == nil {
		ts := unix.NsecToTimespec(int64(time.Until(wake)))
		_ = unix.Nanosleep(&ts, nil) // a signal may end it early: the spin makes up for it
		return
	}
	a.wake = wake
	_ = a.raw.Read(a.arm)
}

// armOrDone is what the poller calls: at first, to set the timer (inside, since the poller forgets expiries
// from before), and after each wake-up. Nothing is read: setting the timer anew resets it.
func (a *alarm) armOrDone(fd uintptr) (done bool) {
	d := time.Until(a.wake)
	if d <= 0 {
		return true
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))} // also after a wake-up that came too early
	_, _, errno := unix.RawSyscall6(unix.SYS_TIMERFD_SETTIME, fd, 0, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
	return errno != 0
}

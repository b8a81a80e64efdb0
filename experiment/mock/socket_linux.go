package mock

import (
	"errors"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const canAttempt = true

// writeOnce makes one write to a non-blocking socket. As it can't wait, the runtime is not told of the call: it would look
// for other work for this processor, and the pacer would have to queue for one when it comes back.
func writeOnce(fd uintptr, b []byte) (int, error) {
	n, _, errno := unix.RawSyscall(unix.SYS_WRITE, fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	switch errno {
	case 0:
		return int(n), nil
	case unix.EAGAIN, unix.EINTR:
		return 0, nil
	}
	return 0, errno
}

// unpaced takes a congestion control that sends at once: BBR, the default of some systems, spaces segments by timers, so that one could
// leave after its write has returned.
func disablePacing(fd uintptr) {
	_ = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, "reno") // every kernel has it
}

// monotonicAt is the reading of CLOCK_MONOTONIC at a time of this process, good to a fraction of a microsecond.
func monotonicAt(t time.Time) int64 {
	var at int64
	best := time.Hour
	for range 10 { // the try that was interrupted the least
		var ts unix.Timespec
		before := time.Since(t)
		if errors.Is(unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts), unix.ENOSYS) {
			return 0
		}
		if took := time.Since(t) - before; took < best {
			best = took
			at = ts.Nano() - int64(before+took/2)
		}
	}
	return at
}

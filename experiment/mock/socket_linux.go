package mock

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const canAttempt = true

// writeOnce makes one write to a non-blocking socket. The raw system call bypasses the Go scheduler: it
// cannot block, and a normal call could cost the pacer its P.
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

// disablePacing sets a congestion control that sends at once. BBR, the default of some systems, spaces
// segments by timers and could send one after its write has returned.
func disablePacing(fd uintptr) {
	_ = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, "reno") // every kernel has it
}

package openai

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// neededTCPInfo is the size of the kernel's struct up to the newest field that is read: Linux 5.4.
const neededTCPInfo = unsafe.Offsetof(unix.TCPInfo{}.Rcv_ooopack) + unsafe.Sizeof(unix.TCPInfo{}.Rcv_ooopack)

// counts reads the socket's counters; ok is false without a socket, on an older kernel, and after Close.
func (r *receiver) counts() (c SocketCounts, ok bool) {
	if r.raw == nil {
		return c, false
	}
	_ = r.raw.Control(func(fd uintptr) { // an error means that it is closed
		var info unix.TCPInfo
		size := uint32(unsafe.Sizeof(info))
		_, _, errno := unix.RawSyscall6(unix.SYS_GETSOCKOPT, fd, unix.IPPROTO_TCP, unix.TCP_INFO,
			uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
		if ok = errno == 0 && uintptr(size) >= neededTCPInfo; ok {
			c = countsOf(&info)
		}
	})
	return c, ok
}

// countsOf are the counters of one open connection. The kernel's times are in µs.
func countsOf(t *unix.TCPInfo) SocketCounts {
	return SocketCounts{
		Connections: 1, Open: 1, SegmentsOut: int64(t.Data_segs_out), SegmentsIn: int64(t.Data_segs_in),
		Retransmits: int64(t.Total_retrans), Needless: int64(t.Dsack_dups), OutOfOrder: int64(t.Rcv_ooopack),
		WindowLimited: time.Duration(t.Rwnd_limited) * time.Microsecond,
		MinRTT:        time.Duration(t.Min_rtt) * time.Microsecond, RTT: time.Duration(t.Rtt) * time.Microsecond,
	}
}

package openai

import (
	"encoding/binary"
	"io"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// receiver is a connection whose reads bring the kernel's receive stamp along (SO_TIMESTAMPING, Linux 5.1 and newer,
// no privileges needed). Like any connection of net/http it has one reader at a time.
type receiver struct {
	net.Conn
	raw   syscall.RawConn // nil: no stamps
	stamp int64           // of the last read's last segment, ns of the Unix epoch; 0: none

	// Arguments and results of one read, here so that it does not allocate.
	p       []byte
	n, oobn int
	err     error
	oob     [128]byte
	recv    func(fd uintptr) bool
}

// receive switches stamps on where the connection is a socket and the kernel has them.
func receive(c net.Conn) *receiver {
	r := &receiver{Conn: c}
	r.recv = r.receive
	socket, ok := c.(syscall.Conn)
	if !ok {
		return r
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return r
	}
	err = raw.Control(func(fd uintptr) {
		const flags = unix.SOF_TIMESTAMPING_RX_SOFTWARE | unix.SOF_TIMESTAMPING_SOFTWARE
		if unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPING_NEW, flags) == nil {
			r.raw = raw
		}
	})
	if err != nil {
		r.raw = nil
	}
	return r
}

// receive is one attempt; it is false where there is nothing to read yet.
func (r *receiver) receive(fd uintptr) bool {
	for {
		r.n, r.oobn, _, _, r.err = unix.Recvmsg(int(fd), r.p, r.oob[:], unix.MSG_DONTWAIT)
		if r.err != unix.EINTR {
			return r.err != unix.EAGAIN
		}
	}
}

func (r *receiver) Read(p []byte) (int, error) {
	if r.raw == nil || len(p) == 0 {
		return r.Conn.Read(p)
	}
	r.p = p
	err := r.raw.Read(r.recv)
	r.p = nil
	switch {
	case err != nil: // a deadline, or closed
		return 0, err
	case r.err != nil:
		return 0, &net.OpError{Op: "read", Net: "tcp", Addr: r.RemoteAddr(), Err: os.NewSyscallError("recvmsg", r.err)}
	case r.n == 0:
		return 0, io.EOF
	}
	r.stamp = readStamp(r.oob[:r.oobn])
	return r.n, nil
}

// readStamp finds the software stamp among the control messages: struct scm_timestamping64, three pairs of 64-bit
// seconds and nanoseconds, of which the first is it (Documentation/networking/timestamping.rst, §1.3.4).
func readStamp(oob []byte) int64 {
	for len(oob) >= unix.SizeofCmsghdr {
		header, data, rest, err := unix.ParseOneSocketControlMessage(oob)
		if err != nil {
			return 0
		}
		if header.Level == unix.SOL_SOCKET && header.Type == unix.SO_TIMESTAMPING_NEW && len(data) >= 16 {
			seconds, nanos := binary.NativeEndian.Uint64(data), binary.NativeEndian.Uint64(data[8:])
			return int64(seconds)*1e9 + int64(nanos)
		}
		oob = rest
	}
	return 0
}

// closed says whether the peer has closed an idle connection already.
func (r *receiver) closed() bool {
	if r.raw == nil {
		return false
	}
	gone := false
	err := r.raw.Control(func(fd uintptr) {
		var one [1]byte
		n, _, err := unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		gone = n == 0 && err == nil || err != nil && err != unix.EAGAIN && err != unix.EINTR
	})
	return gone || err != nil
}

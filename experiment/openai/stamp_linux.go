package openai

import (
	"cmp"
	"encoding/binary"
	"io"
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// receiver is a connection whose reads return the kernel's receive stamp (SO_TIMESTAMPING, Linux 5.1 and
// newer, no privileges needed), and which records when it last handed bytes to the kernel. It supports one
// reader and one writer at a time.
//
// Its system calls never block, so they bypass the scheduler's system-call hooks: on few cores these would
// release and reacquire the processor for each event, and take longer than the call itself.
type receiver struct {
	net.Conn
	raw         syscall.RawConn // nil: not a socket
	stamp       int64           // of the last segment read, ns since the Unix epoch; 0: none
	lastWrite   time.Time       // just before the latest bytes were handed over
	typicalRead int             // bytes of the last read that contained one event

	// Arguments of a read, kept here so that it does not allocate.
	msg unix.Msghdr
	iov unix.Iovec
	oob [64]byte
	inq int32
}

func newReceiver(c net.Conn) *receiver {
	r := &receiver{Conn: c}
	socket, ok := c.(syscall.Conn)
	if !ok {
		return r
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return r
	}
	r.raw = raw
	_ = raw.Control(func(fd uintptr) { // without stamps the reads' own times are used
		const flags = unix.SOF_TIMESTAMPING_RX_SOFTWARE | unix.SOF_TIMESTAMPING_SOFTWARE
		_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPING_NEW, flags)
	})
	return r
}

// readLoop calls onData with each piece that arrives until it returns true; b is only valid during the call.
// The error is io.EOF at the connection's end.
//
// The loop runs inside one call of the runtime's poller: entering the poller for each read costs more, and
// takes a lock. It leaves the poller after readsAtOnce reads, since only entering and waiting obey deadlines,
// and a server can send so fast that there is never a wait.
func (r *receiver) readLoop(onData func(b []byte, at time.Time) (done bool)) error {
	if r.raw == nil {
		return readLoop(r.Conn, onData)
	}
	var end struct { // one allocation
		done   bool
		failed error
	}
	read := func(fd uintptr) (leave bool) {
		buf := readBuffers.Get().(*[32 << 10]byte) // an idle stream has no buffer
		defer readBuffers.Put(buf)
		end.done, leave, end.failed = r.readAvailable(fd, buf[:], onData)
		return leave
	}
	for !end.done {
		if err := r.raw.Read(read); err != nil { // a deadline, or closed
			return err
		}
	}
	return end.failed
}

// readsAtOnce is the number of reads between two checks of the deadline: 2 MiB of buffers, about 1 ms.
const readsAtOnce = 64

// readAvailable passes on what has arrived. leave is false when nothing more is there yet: the poller then
// waits. It is true without done after readsAtOnce reads.
//
// A read has the stamp of its last segment. If more than one event seems to be waiting, because the client is
// late, they are read one by one, so that each has its own stamp, unless the kernel has merged their segments
// (on loopback it does not before they are acknowledged).
func (r *receiver) readAvailable(fd uintptr, buf []byte,
	onData func(b []byte, at time.Time) (done bool)) (done, leave bool, err error) {
	rest := buf[:0] // peeked at, but not yet read
	if r.available(fd) > r.typicalRead+r.typicalRead/2 {
		n, err := r.recv(fd, buf, unix.MSG_PEEK)
		if err == nil {
			rest = buf[:n]
		}
	}
	for range readsAtOnce {
		part := buf
		if len(rest) > 0 {
			part = rest[:firstEvent(rest)]
		}
		n, err := r.recv(fd, part, 0)
		switch {
		case err == unix.EAGAIN:
			return false, false, nil
		case err != nil:
			return true, true, r.readError(err)
		}
		rest = rest[min(n, len(rest)):]
		if n != r.typicalRead && (len(rest) > 0 || firstEvent(part[:n]) == n) {
			r.typicalRead = n
		}
		if onData(part[:n], time.Now()) {
			return true, true, nil
		}
	}
	return false, true, nil
}

// firstEvent is the length of b's first event with its empty line; all of b if none ends before other bytes.
func firstEvent(b []byte) int {
	if end := emptyLineEnd(b); end > 0 && len(b)-end > len("\r\n") {
		return end
	}
	return len(b)
}

func (r *receiver) available(fd uintptr) int {
	if _, _, errno := unix.RawSyscall(unix.SYS_IOCTL, fd, unix.SIOCINQ, uintptr(unsafe.Pointer(&r.inq))); errno != 0 {
		return 0
	}
	return int(r.inq)
}

func (r *receiver) Read(p []byte) (n int, err error) {
	if r.raw == nil || len(p) == 0 {
		return r.Conn.Read(p)
	}
	pollErr := r.raw.Read(func(fd uintptr) bool {
		n, err = r.recv(fd, p, 0)
		return err != unix.EAGAIN
	})
	switch {
	case pollErr != nil: // a deadline, or closed
		return 0, pollErr
	case err != nil:
		return 0, r.readError(err)
	}
	return n, nil
}

func (r *receiver) readError(err error) error {
	if err == io.EOF {
		return err
	}
	return &net.OpError{Op: "read", Net: "tcp", Addr: r.RemoteAddr(), Err: os.NewSyscallError("recvmsg", err)}
}

// recv reads what has arrived, with its stamp: EAGAIN if there is nothing yet, io.EOF at the end.
func (r *receiver) recv(fd uintptr, p []byte, flags uintptr) (int, error) {
	for {
		r.iov.Base = &p[0]
		r.iov.SetLen(len(p))
		r.msg = unix.Msghdr{Iov: &r.iov, Iovlen: 1, Control: &r.oob[0]}
		r.msg.SetControllen(len(r.oob))
		n, _, errno := unix.RawSyscall(unix.SYS_RECVMSG, fd, uintptr(unsafe.Pointer(&r.msg)), unix.MSG_DONTWAIT|flags)
		r.iov.Base = nil
		switch {
		case errno == unix.EINTR:
		case errno != 0:
			return 0, errno
		case n == 0:
			return 0, io.EOF
		default:
			r.stamp = readStamp(r.oob[:r.msg.Controllen])
			return int(n), nil
		}
	}
}

// Write sets lastWrite just before each part that it hands to the kernel.
func (r *receiver) Write(p []byte) (n int, err error) {
	if r.raw == nil {
		r.lastWrite = time.Now()
		return r.Conn.Write(p)
	}
	var failed error
	err = r.raw.Write(func(fd uintptr) bool {
		for n < len(p) {
			r.lastWrite = time.Now()
			sent, errno := send(fd, p[n:], 0)
			switch errno {
			case 0:
				n += sent
			case unix.EAGAIN:
				return false
			case unix.EINTR:
			default:
				failed = &net.OpError{Op: "write", Net: "tcp", Addr: r.RemoteAddr(),
					Err: os.NewSyscallError("sendto", errno)}
				return true
			}
		}
		return true
	})
	return n, cmp.Or(err, failed)
}

// tryWrite hands over what the kernel takes without waiting. Write will return a failure. more: a piece follows.
func (r *receiver) tryWrite(p []byte, more bool) (n int) {
	if r.raw == nil {
		return 0
	}
	flags := uintptr(0)
	if more {
		flags = unix.MSG_MORE
	}
	_ = r.raw.Write(func(fd uintptr) bool {
		r.lastWrite = time.Now()
		n, _ = send(fd, p, flags)
		return true
	})
	return n
}

func send(fd uintptr, p []byte, flags uintptr) (int, syscall.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, fd, uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)),
		flags|unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

// readStamp finds the software stamp in the control messages: the first of the three pairs of seconds and
// nanoseconds in struct scm_timestamping64 (Documentation/networking/timestamping.rst, §1.3.4).
func readStamp(oob []byte) int64 {
	const header = unix.SizeofCmsghdr
	for len(oob) >= header {
		length := int(binary.NativeEndian.Uint64(oob))
		level, kind := binary.NativeEndian.Uint32(oob[header-8:]), binary.NativeEndian.Uint32(oob[header-4:])
		if length < header || length > len(oob) {
			return 0
		}
		if data := oob[header:length]; level == unix.SOL_SOCKET && kind == unix.SO_TIMESTAMPING_NEW && len(data) >= 16 {
			seconds, nanos := binary.NativeEndian.Uint64(data), binary.NativeEndian.Uint64(data[8:])
			return int64(seconds)*1e9 + int64(nanos)
		}
		oob = oob[min(len(oob), (length+7)&^7):]
	}
	return 0
}

func (r *receiver) peek() (bytes, end bool) {
	if r.raw == nil {
		return false, false
	}
	err := r.raw.Control(func(fd uintptr) {
		var one [1]byte
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, fd, uintptr(unsafe.Pointer(&one)), 1,
			unix.MSG_PEEK|unix.MSG_DONTWAIT, 0, 0)
		bytes = errno == 0 && n > 0
		end = errno == 0 && n == 0 || errno != 0 && errno != unix.EAGAIN && errno != unix.EINTR
	})
	return bytes, end || err != nil
}

func (r *receiver) rtt() (rtt time.Duration) {
	if r.raw == nil {
		return 0
	}
	_ = r.raw.Control(func(fd uintptr) {
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			rtt = time.Duration(info.Rtt) * time.Microsecond
		}
	})
	return rtt
}

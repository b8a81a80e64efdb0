package mock

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"syscall"
)

// socket is the TCP connection of a response, for whole chunks while net/http has nothing buffered.
type socket struct {
	conn *net.TCPConn
	raw  syscall.RawConn // its calls prevent a concurrent close of the descriptor

	attempt func(fd uintptr) bool // allocated once, called for every event
	b       []byte                // argument of attempt; n and err are its results
	n       int
	err     error
}

type socketKey struct{}

func withSocket(ctx context.Context, c net.Conn) context.Context {
	tcp, ok := c.(*net.TCPConn) // not a wrapper, which may override Write
	if !ok || !canAttempt {
		return ctx
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return ctx
	}
	_ = raw.Control(disablePacing) // fails on a closed connection
	s := &socket{conn: tcp, raw: raw}
	s.attempt = func(fd uintptr) bool {
		s.n, s.err = writeOnce(fd, s.b)
		return true
	}
	return context.WithValue(ctx, socketKey{}, s)
}

func socketOf(r *http.Request) *socket {
	s, _ := r.Context().Value(socketKey{}).(*socket)
	if r.ProtoMajor != 1 || !r.ProtoAtLeast(1, 1) {
		return nil
	}
	return s
}

// try writes as much as the socket accepts, possibly nothing, without blocking.
func (s *socket) try(b []byte) (int, error) {
	s.b = b
	if err := s.raw.Write(s.attempt); err != nil {
		return 0, err
	}
	return s.n, s.err
}

// appendChunk appends b as a chunk of an HTTP/1.1 body (RFC 9112, section 7.1).
func appendChunk(dst, b []byte) []byte {
	dst = append(strconv.AppendInt(dst, int64(len(b)), 16), "\r\n"...)
	return append(append(dst, b...), "\r\n"...)
}

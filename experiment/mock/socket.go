package mock

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"syscall"
)

// socket is the TCP connection under an answer. While the answer is chunked and net/http has nothing of it in a buffer, whole chunks can
// be written here beside it.
type socket struct {
	conn *net.TCPConn
	raw  syscall.RawConn // its calls keep the descriptor from being closed meanwhile

	attempt func(fd uintptr) bool // made once, for there is one for every event
	b       []byte                // what to attempt, and what became of it
	n       int
	err     error
}

type socketKey struct{}

// withSocket keeps the socket of a connection in the context of its requests.
func withSocket(ctx context.Context, c net.Conn) context.Context {
	tcp, ok := c.(*net.TCPConn) // not what may wrap one: it may have a Write of its own
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

// socketOf is the socket for the answer to r, nil if there is none that takes chunks.
func socketOf(r *http.Request) *socket {
	s, _ := r.Context().Value(socketKey{}).(*socket)
	if r.ProtoMajor != 1 || !r.ProtoAtLeast(1, 1) {
		return nil
	}
	return s
}

// try writes what the socket has room for, which may be nothing, and never waits.
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

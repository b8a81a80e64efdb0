package mock

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"
)

// patient is a listener that waits where there is no room for one more connection now, until ctx ends. net/http would write a
// line to standard error each time.
type retryingListener struct {
	net.Listener
	ctx context.Context
}

// acceptPause is how long it waits: a connection that ends makes room.
const acceptRetry = 10 * time.Millisecond

func (l retryingListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err == nil || !transient(err) || !pause(l.ctx, acceptRetry) {
			return c, err
		}
	}
}

// passing tells whether another try may go well: no files or no memory left, or a client that has left already.
func transient(err error) bool {
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED, syscall.ECONNRESET, syscall.EINTR} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

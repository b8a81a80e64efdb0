package mock

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"
)

// retryingListener retries Accept after transient errors until ctx ends; net/http would print each of them.
type retryingListener struct {
	net.Listener
	ctx context.Context
}

const acceptRetry = 10 * time.Millisecond

func (l retryingListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err == nil || !transient(err) || !pause(l.ctx, acceptRetry) {
			return c, err
		}
	}
}

// transient reports whether a retry can succeed: out of descriptors or memory, or the client has disconnected.
func transient(err error) bool {
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED, syscall.ECONNRESET, syscall.EINTR} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

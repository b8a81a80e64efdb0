package openai

import (
	"io"
	"net"
	"sync"
	"time"
)

// arrival is when a piece of a response came.
type arrival struct {
	at     time.Duration // when it reached this machine, since the clock's base
	lag    time.Duration // from then to the return of the read; 0 without a kernel stamp
	kernel bool          // the stamp is the kernel's
}

// conn is a connection to the server. An exchange has it for itself.
type conn struct {
	net.Conn            // the receiver, or the TLS connection over it
	rx        *receiver // the TCP connection
	setup     Setup
	idleSince time.Time // since when it waits for a request
	prepared  bool      // opened ahead of any request
	used      bool      // by an earlier exchange
}

// readBuffers are for the pieces that are read from a socket; one is in use only while a piece is looked at.
var readBuffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// each gives take what arrives until it returns true; b is only good until it returns. The error is io.EOF at the
// connection's end.
func (c *conn) readLoop(take func(b []byte, read time.Time) (over bool)) error {
	if c.plaintext() {
		return c.rx.readLoop(take)
	}
	return readLoop(c.Conn, take)
}

// plain says that there is no TLS.
func (c *conn) plaintext() bool { return c.Conn == net.Conn(c.rx) }

// eachRead is each by a reader's own reads.
func readLoop(r io.Reader, take func(b []byte, read time.Time) (over bool)) error {
	buf := make([]byte, 8<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 && take(buf[:n], time.Now()) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// usable says whether an idle connection can take a request. Bytes that nobody asked for make a used one unfit; a
// prepared one over TLS has the server's session tickets waiting.
func (c *conn) usable() bool {
	bytes, end := c.rx.peek()
	return !end && (!bytes || !c.plaintext() && !c.used) && time.Since(c.idleSince) < idleTimeout
}

// interrupt makes what reads or writes return.
func (c *conn) interrupt() { _ = c.SetDeadline(time.Unix(1, 0)) } // one that is closed already needs none

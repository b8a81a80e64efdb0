package openai

import (
	"io"
	"net"
	"sync"
	"time"
)

type arrival struct {
	at     time.Duration // at this machine, since the clock's base
	lag    time.Duration // until the read returned; 0 without a kernel stamp
	kernel bool          // at is the kernel's stamp
}

// conn is a connection to the server. One exchange at a time uses it.
type conn struct {
	net.Conn            // the receiver, or the TLS connection over it
	rx        *receiver // the TCP connection
	setup     Setup
	idleSince time.Time // when it was put among the idle ones
	prepared  bool      // opened ahead of any request
	used      bool      // by an earlier exchange

	sockets *openSockets // that it is listed in; nil: in none
	final   SocketCounts // when it was closed; guarded by sockets
}

// Close keeps the socket's counters.
func (c *conn) Close() error {
	if c.sockets != nil {
		c.sockets.remove(c)
	}
	return c.Conn.Close()
}

// readBuffers are for reads from a socket, and in use only while onData runs: idle streams hold none.
var readBuffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// readLoop calls onData with what arrives until it returns true; b is only valid during the call. The error
// is io.EOF at the connection's end.
func (c *conn) readLoop(onData func(b []byte, at time.Time) (done bool)) error {
	if c.plaintext() {
		return c.rx.readLoop(onData)
	}
	return readLoop(c.Conn, onData)
}

func (c *conn) plaintext() bool { return c.Conn == net.Conn(c.rx) }

func readLoop(r io.Reader, onData func(b []byte, at time.Time) (done bool)) error {
	buf := make([]byte, 8<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 && onData(buf[:n], time.Now()) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// usable reports whether an idle connection can take a request. Unrequested bytes on a used one rule it out;
// a prepared one over TLS has received the server's session tickets.
func (c *conn) usable() bool {
	bytes, end := c.rx.peek()
	return !end && (!bytes || !c.plaintext() && !c.used) && time.Since(c.idleSince) < idleTimeout
}

func (c *conn) interrupt() { _ = c.SetDeadline(time.Unix(1, 0)) } // an error means that it is closed already

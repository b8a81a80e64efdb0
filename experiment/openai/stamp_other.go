//go:build !linux

package openai

import (
	"net"
	"time"
)

// receiver is a connection without kernel stamps: its bytes are stamped when a read returns.
type receiver struct {
	net.Conn
	stamp     int64     // always 0: none
	lastWrite time.Time // when the last bytes so far were about to be handed over
}

func newReceiver(c net.Conn) *receiver { return &receiver{Conn: c} }

func (r *receiver) readLoop(onData func(b []byte, at time.Time) (done bool)) error {
	return readLoop(r.Conn, onData)
}

func (r *receiver) Write(p []byte) (int, error) {
	r.lastWrite = time.Now()
	return r.Conn.Write(p)
}

// start leaves all to Write.
func (r *receiver) tryWrite([]byte) int { return 0 }

// pending can't be known here without reading.
func (r *receiver) peek() (bytes, end bool) { return false, false }

// roundTrip is not known here.
func (r *receiver) rtt() time.Duration { return 0 }

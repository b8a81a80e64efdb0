//go:build !linux

package openai

import (
	"net"
	"time"
)

type receiver struct {
	net.Conn
	stamp     int64     // always 0: none
	lastWrite time.Time // just before the latest bytes were handed over
}

func newReceiver(c net.Conn) *receiver { return &receiver{Conn: c} }

func (r *receiver) readLoop(onData func(b []byte, at time.Time) (done bool)) error {
	return readLoop(r.Conn, onData)
}

func (r *receiver) Write(p []byte) (int, error) {
	r.lastWrite = time.Now()
	return r.Conn.Write(p)
}

func (r *receiver) tryWrite([]byte, bool) int { return 0 }

func (r *receiver) peek() (bytes, end bool) { return false, false }

func (r *receiver) rtt() time.Duration { return 0 }

func (r *receiver) counts() (SocketCounts, bool) { return SocketCounts{}, false }

//go:build !linux

package openai

import (
	"net"
	"time"
)

// receiver is a connection without kernel stamps: its bytes are stamped when a read returns.
type receiver struct {
	net.Conn
	stamp int64     // always 0: none
	wrote time.Time // when the last bytes so far were about to be handed over
}

func receive(c net.Conn) *receiver { return &receiver{Conn: c} }

func (r *receiver) each(take func(b []byte, read time.Time) (over bool)) error {
	return eachRead(r.Conn, take)
}

func (r *receiver) Write(p []byte) (int, error) {
	r.wrote = time.Now()
	return r.Conn.Write(p)
}

// start leaves all to Write.
func (r *receiver) start([]byte) int { return 0 }

// pending can't be known here without reading.
func (r *receiver) pending() (bytes, end bool) { return false, false }

// roundTrip is not known here.
func (r *receiver) roundTrip() time.Duration { return 0 }

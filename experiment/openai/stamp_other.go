//go:build !linux

package openai

import "net"

// receiver is a connection without kernel stamps: its bytes are stamped when a read returns.
type receiver struct {
	net.Conn
	stamp int64 // always 0: none
}

func receive(c net.Conn) *receiver { return &receiver{Conn: c} }

// closed can't be known here without reading.
func (r *receiver) closed() bool { return false }

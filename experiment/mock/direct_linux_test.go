package mock

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Nothing is held back by the kernel: an event leaves within its write.
func TestUnpaced(t *testing.T) {
	d := newDirect(t, 1)
	var name string
	var err error
	d.reply.sock.raw.Control(func(fd uintptr) { name, err = unix.GetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION) })
	if err != nil || name != "reno" {
		t.Errorf("congestion control %q, %v", name, err)
	}
	d.lent(t)
	d.reply.q.mail.post([]time.Duration{1})
	<-d.ended
}

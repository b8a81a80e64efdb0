package openai

import (
	"net"
	"sync"
	"time"
)

// arrival is one read of a connection that brought bytes of a body.
type arrival struct {
	end    int64         // the body's offset just past them
	at     time.Duration // when they reached this machine, since the clock's base
	lag    time.Duration // from then to the return of the read; 0 without a kernel stamp
	kernel bool          // the stamp is the kernel's
}

// conn is a connection as net/http holds it. It notes when the first byte of a request was handed to the kernel and
// which part of the response came when; the notes are of one exchange, from its begin to the next one's.
type conn struct {
	net.Conn           // the receiver, or the TLS connection over it
	rx       *receiver // the TCP connection
	clock    *clock
	setup    time.Duration // what dialling took, with the TLS handshake
	opened   time.Time
	prepared bool // opened ahead of any request

	mu       sync.Mutex
	began    time.Duration
	sent     time.Duration // when the first byte was about to be written; Never before
	received int64         // bytes of the response, header and all
	frames   framing
	body     int64 // bytes of the body
	log      []arrival
	next     int // the first arrival that may still be asked for
}

// begin starts the notes of a new exchange.
func (c *conn) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.began = time.Since(c.clock.base)
	c.sent, c.received, c.frames, c.body = Never, 0, framing{}, 0
	c.log, c.next = c.log[:0], 0
}

// marks returns what is known of the exchange so far: when it was sent, since the clock's base or Never, and how many
// bytes have come back.
func (c *conn) marks() (sent time.Duration, received int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sent, c.received
}

func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	if c.sent == Never {
		c.sent = time.Since(c.clock.base)
	}
	c.mu.Unlock()
	return c.Conn.Write(p)
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.note(p[:n], time.Now())
	}
	return n, err
}

// note logs a read that returned at user.
func (c *conn) note(b []byte, user time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.received += int64(len(b))
	n := c.frames.feed(b)
	if n == 0 {
		return
	}
	c.body += int64(n)
	now := user.Sub(c.clock.base)
	a := arrival{end: c.body, at: now}
	if c.rx.stamp != 0 {
		if at, ok := c.clock.place(c.rx.stamp, user, c.began); ok {
			a.at, a.lag, a.kernel = at, now-at, true
		}
	}
	if last := len(c.log) - 1; last >= 0 && a.at < c.log[last].at { // no byte comes before the one ahead of it
		a.at, a.lag = c.log[last].at, now-c.log[last].at
	}
	c.log = append(c.log, a)
}

// arrival returns the read that brought the body's byte before offset. Offsets must not fall from call to call: what
// lies before is forgotten.
func (c *conn) arrival(offset int64) arrival {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.next < len(c.log)-1 && c.log[c.next].end < offset {
		c.next++
	}
	if len(c.log) == 0 {
		return arrival{at: time.Since(c.clock.base)}
	}
	a := c.log[c.next]
	if c.next >= 32 {
		c.log, c.next = c.log[:copy(c.log, c.log[c.next:])], 0
	}
	return a
}

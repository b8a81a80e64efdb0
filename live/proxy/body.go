package proxy

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
)

var errTooLarge = errors.New("the request's body is too large")

type body struct {
	io.ReadCloser
	url    *url.URL    // the request's, at the server
	left   int64       // bytes that may still come
	x      *exchange   // nil = not recorded
	ended  bool        // its end was read
	length int64       // bytes that are announced and have not come; 0 and below = all have, or none was announced
	rest   atomic.Bool // an HTTP/1 caller may still be sending
	broken atomic.Bool
}

// Read implements io.Reader. The transport asks once more behind the end, to find a body that is longer than it was
// announced. When the answer has begun by then, net/http has closed the body, and the question would be an error that
// cuts the answer.
func (b *body) Read(p []byte) (int, error) {
	if b.ended {
		return 0, io.EOF
	}
	n, err := b.ReadCloser.Read(p)
	b.length -= int64(n)
	// an answer can come before the transport asks for the end
	if b.ended = err == io.EOF; b.ended || n > 0 && b.length == 0 {
		b.rest.Store(false)
	}
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLarge
	}
	if b.x != nil {
		b.x.body.add(p[:n], err == io.EOF)
	}
	if err != nil && err != io.EOF {
		b.broken.Store(true)
	}
	return n, err
}

// closeAfter makes an answer the last one of its connection if the request is not read to its end. In full duplex
// net/http reads the rest behind the answer, and then ends the connection by a panic: the next request would fail.
func (b *body) closeAfter(answer http.Header) {
	if b.rest.Load() {
		answer.Set("Connection", "close")
	}
}

type budget struct {
	mu   sync.Mutex
	left int64 // bytes
}

func (b *budget) take(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if int64(n) > b.left {
		return false
	}
	b.left -= int64(n)
	return true
}

func (b *budget) give(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left += int64(n)
}

// bodyCopy is the copy of a request's body. It is written by the goroutine that sends the request, which can outlive
// the answer, and read by the recorder.
type bodyCopy struct {
	budget *budget
	size   int64 // as announced; below 1 = not known

	mu    sync.Mutex
	bytes []byte
	taken int  // of the budget
	whole bool // the body has ended
	over  bool // nothing more is copied
	short bool // the budget had no room
}

func (c *bodyCopy) add(p []byte, last bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || !c.grow(len(p)) {
		c.drop()
		return
	}
	c.bytes = append(c.bytes, p...)
	c.whole = last || c.size > 0 && int64(len(c.bytes)) == c.size
}

func (c *bodyCopy) grow(n int) bool {
	need := len(c.bytes) + n
	if need <= cap(c.bytes) {
		return true
	}
	if need > maxCopy {
		return false
	}
	room := max(2*cap(c.bytes), need, 4<<10)
	if c.size > 0 && c.size < 1<<20 { // larger ones grow as they come: an announcement costs nothing
		room = max(need, int(c.size))
	}
	room = min(room, maxCopy)
	if !c.budget.take(room - c.taken) {
		c.short = true
		return false
	}
	c.taken = room
	larger := make([]byte, len(c.bytes), room)
	copy(larger, c.bytes)
	c.bytes = larger
	return true
}

func (c *bodyCopy) drop() {
	c.budget.give(c.taken)
	c.bytes, c.taken, c.over, c.whole = nil, 0, true, false
}

// get is the whole body, nil if it has not come or is not kept. Its bytes are not written again.
func (c *bodyCopy) get() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.whole {
		return nil
	}
	return c.bytes
}

func (c *bodyCopy) lacksRoom() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.short
}

func (c *bodyCopy) free() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		c.drop()
	}
}

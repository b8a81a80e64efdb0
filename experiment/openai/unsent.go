package openai

import "sync"

// unsent is what the kernel has not taken yet of a request: one piece, and a long body that is not copied.
type unsent struct {
	buf  *[]byte // of first, from requestBuffers; nil: all is taken
	more []byte  // a long body
	from int     // bytes of the first piece that are taken
}

// requestBuffers are in use only until a request is written: thousands can be in flight.
var requestBuffers = sync.Pool{New: func() any { return new([]byte) }}

func (u *unsent) fill(t *requestTemplate, call *Call, keep bool) {
	u.buf, u.from = requestBuffers.Get().(*[]byte), 0
	*u.buf = t.head((*u.buf)[:0], call, keep)
	if u.more = call.Body; len(u.more) <= maxKeptBuffer {
		*u.buf = append(*u.buf, u.more...)
		u.more = nil
	}
}

// piece is what to hand over next, empty at the end. more: another piece follows.
func (u *unsent) piece() (b []byte, more bool) {
	if u.buf != nil {
		return (*u.buf)[u.from:], len(u.more) > 0
	}
	return u.more, false
}

func (u *unsent) take(n int) {
	if u.buf == nil {
		u.more = u.more[n:]
	} else if u.from += n; u.from == len(*u.buf) {
		requestBuffers.Put(u.buf)
		u.buf = nil
	}
}

func (u *unsent) drop() {
	if u.buf != nil {
		requestBuffers.Put(u.buf)
	}
	*u = unsent{}
}

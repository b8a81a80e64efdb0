package openai

import (
	"errors"
	"sync/atomic"
)

const (
	maxKeptBuffer = 64 << 10  // a larger buffer is not reused, and counts against the budget
	maxEvent      = 16 << 20  // bytes; a longer event or answer is an error
	maxBuffered   = 256 << 20 // bytes of all large buffers of a client
	maxEvents     = 4 << 20   // token-bearing events of one answer
	maxEmpties    = 256 << 10 // events without text of one answer
	growStep      = 4 << 20   // a large buffer grows by this instead of doubling
	largeJSON     = 1 << 20   // bytes; larger JSON is decoded one at a time
)

var (
	errTooLong    = errors.New("an event or answer is longer than 16 MiB")
	errBudget     = errors.New("the unfinished answers of all requests are longer than 256 MiB")
	errManyEvents = errors.New("an answer has more than 4,194,304 token-bearing events")
	errEmpties    = errors.New("an answer has more than 262,144 events without text")
)

// budget limits the memory of the large buffers of all requests in flight, so that hostile answers cannot use
// up this machine's memory. Small buffers don't count: an ordinary answer never fails by the budget.
type budget struct {
	limit int64
	used  atomic.Int64
}

// append is like the builtin, within the budget; nil: without a limit. On errBudget it returns buf unchanged.
func (b *budget) append(buf, more []byte) ([]byte, error) {
	need := len(buf) + len(more)
	if need <= cap(buf) {
		return append(buf, more...), nil
	}
	size := max(need, min(2*cap(buf), cap(buf)+growStep), 512)
	if !b.take(counted(size) - counted(cap(buf))) {
		return buf, errBudget
	}
	grown := make([]byte, 0, size)
	return append(append(grown, buf...), more...), nil
}

// reuse returns buf emptied, or nil for a large buffer, which it gives back to the budget.
func (b *budget) reuse(buf []byte) []byte {
	if large := counted(cap(buf)); large > 0 {
		b.take(-large)
		return nil
	}
	return buf[:0]
}

// decode reads any chunk. Large JSON waits for its turn, since encoding/json's tree can need 50 times its bytes; when
// the request ends meanwhile, the error is protocolErr, too.
func (x *exchange) decode(data []byte) (chunk, error) {
	if len(data) > largeJSON {
		if x.observed != nil && x.call.Stream { // it would hold up the stream that passes
			x.protocolErr = errTooLong
			return chunk{}, errTooLong
		}
		select {
		case x.client.decoding <- struct{}{}:
			defer func() { <-x.client.decoding }()
		case <-x.ctx.Done():
		}
		if x.ctx.Err() != nil {
			x.protocolErr = x.ctx.Err()
			return chunk{}, x.protocolErr
		}
	}
	return x.walker.decode(data)
}

func (x *exchange) checkBounds() error {
	switch r := x.result; {
	case r.Events > maxEvents:
		return errManyEvents
	case len(x.empties) > maxEmpties:
		return errEmpties
	case len(r.Answer.Text) > maxEvent:
		return errTooLong
	}
	return nil
}

func counted(capacity int) int64 {
	if capacity > maxKeptBuffer {
		return int64(capacity)
	}
	return 0
}

// take reserves n bytes; it reserves nothing and returns false if they exceed the limit.
func (b *budget) take(n int64) bool {
	if b == nil || n == 0 {
		return true
	}
	if b.used.Add(n) > b.limit && n > 0 {
		b.used.Add(-n)
		return false
	}
	return true
}

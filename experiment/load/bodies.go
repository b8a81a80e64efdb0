package load

import (
	"context"
	"sync"
	"time"

	"bench/experiment/workload"
)

// Bodies are encoded before their time, bounded in memory.
const (
	ahead      = 128      // bodies at least
	aheadBytes = 64 << 20 // more than that have aheadBytes at most
	aheadTime  = 100 * time.Millisecond
)

type prepared struct {
	request workload.Request
	body    []byte
	others  []time.Duration // as Job.others
}

// bodies are the encoded bodies whose time has not come. One goroutine adds, one at a time takes. The encoder
// is woken only when a quarter is used up, since waking it costs as much as encoding a short prompt.
type bodies struct {
	most  int // largest number of encoded ones
	least int // number even if they have more than aheadBytes: one for each worker of a closed loop, at most 128

	mu    sync.Mutex
	list  []prepared
	bytes int
	ended bool          // no other will come
	added chan struct{} // has an element after a change, for the one who waits for a body
	taken chan struct{} // has an element when there is room again
}

// newBodies is for a load: as many bodies as are sent at once, or by an open loop in aheadTime.
func newBodies(c *Config) *bodies {
	b := &bodies{most: ahead, least: 1, added: make(chan struct{}, 1), taken: make(chan struct{}, 1)}
	switch {
	case c.Rate == 0:
		b.most, b.least = max(ahead, c.Concurrency+1), min(ahead, c.Concurrency+1)
	case c.Rate.IsInf():
		b.most = max(ahead, c.Warmup.Requests+c.Requests)
	default:
		b.most = max(ahead, int(float64(c.Rate)*aheadTime.Seconds()))
	}
	return b
}

// add adds a body. full reports that there is room for no other: the caller then waits for taken.
func (b *bodies) add(p prepared) (full bool) {
	b.mu.Lock()
	b.list = append(b.list, p)
	b.bytes += len(p.body)
	full = b.filled(b.most, aheadBytes)
	b.mu.Unlock()
	signal(b.added)
	return full
}

func (b *bodies) filled(count, size int) bool {
	return len(b.list) >= count || b.bytes >= size && len(b.list) >= b.least
}

func (b *bodies) end() {
	b.mu.Lock()
	b.ended = true
	b.mu.Unlock()
	signal(b.added)
}

// next waits for the next body; ok is false at the end of ctx or, with ended, of the plan.
func (b *bodies) next(ctx context.Context) (p prepared, ok, ended bool) {
	for ctx.Err() == nil {
		if p, ok, ended = b.take(); ok || ended {
			return p, ok, ended
		}
		select {
		case <-b.added:
		case <-ctx.Done():
		}
	}
	return prepared{}, false, false
}

func (b *bodies) take() (p prepared, ok, ended bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.list) == 0 {
		return prepared{}, false, b.ended
	}
	p = b.list[0]
	b.list[0] = prepared{}
	b.list = b.list[1:]
	b.bytes -= len(p.body)
	if !b.filled(b.most*3/4, aheadBytes*3/4) {
		signal(b.taken)
	}
	return p, true, false
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

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

// restTime is how long the collector rests: waking it for each request would cost more than what it does.
const restTime = 2 * time.Millisecond

type ended struct {
	mu    sync.Mutex
	jobs  []*Job
	added chan struct{} // has an element after a change
	over  chan struct{} // closed: no other will come
}

func (e *ended) add(job *Job) {
	e.mu.Lock()
	e.jobs = append(e.jobs, job)
	e.mu.Unlock()
	signal(e.added)
}

func (e *ended) each(f func(*Job)) {
	rest := time.NewTimer(0)
	defer rest.Stop()
	for last := false; !last; {
		select {
		case <-e.added:
		case <-e.over:
			last = true
		}
		e.mu.Lock()
		jobs := e.jobs
		e.jobs = nil
		e.mu.Unlock()
		for _, job := range jobs {
			f(job)
		}
		rest.Reset(restTime)
		select {
		case <-rest.C:
		case <-e.over:
		}
	}
}

// crew runs functions on goroutines that it keeps: a new one for each request would have to grow its stack first.
type crew struct {
	all sync.WaitGroup

	mu    sync.Mutex
	idle  []chan func() // the one that has waited longest first
	ended bool
}

func (c *crew) run(f func()) {
	if work := c.pop(); work != nil {
		work <- f
		return
	}
	c.all.Go(func() { c.serve(f) })
}

func (c *crew) serve(f func()) {
	work := make(chan func(), 1)
	for more := true; more; f, more = <-work {
		f()
		if !c.push(work) {
			return
		}
	}
}

func (c *crew) pop() chan func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := len(c.idle) - 1
	if last < 0 {
		return nil
	}
	work := c.idle[last]
	c.idle = c.idle[:last]
	return work
}

func (c *crew) push(work chan func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		c.idle = append(c.idle, work)
	}
	return !c.ended
}

func (c *crew) end() {
	c.mu.Lock()
	c.ended = true
	for _, work := range c.idle {
		close(work)
	}
	c.idle = nil
	c.mu.Unlock()
	c.all.Wait()
}

package load

import "sync"

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

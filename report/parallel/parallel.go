// Package parallel calls a function for each of many rows on all cores, with a bound on the memory that the
// calls need together. Results belong into a slice, by the number of the call: then they do not depend on the
// order in which calls end.
package parallel

import (
	"runtime"
	"sync"
)

// most is in bytes: on two cores two rows of a hundred thousand requests fit.
const most = 128 << 20

// Do calls f for 0 to n−1 on GOMAXPROCS goroutines, and returns when all calls have returned. size is what a
// call needs, in bytes; nil = nothing. A call that needs more than all may have together runs alone.
func Do(n int, size func(i int) int64, f func(i int)) {
	c := calls{n: n, size: size, do: f}
	c.ended.L = &c.mu
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Go(c.work)
	}
	wg.Wait()
}

type calls struct {
	n    int
	size func(int) int64
	do   func(int)

	mu            sync.Mutex
	ended         sync.Cond // a call has
	next, running int
	used          int64 // by the running calls
}

func (c *calls) work() {
	for i, size, ok := c.begin(); ok; i, size, ok = c.begin() {
		c.do(i)
		c.end(size)
	}
}

func (c *calls) begin() (i int, size int64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.next < c.n {
		if c.size != nil {
			size = c.size(c.next)
		}
		if c.running == 0 || c.used+size <= most {
			i = c.next
			c.next, c.running, c.used = c.next+1, c.running+1, c.used+size
			return i, size, true
		}
		c.ended.Wait()
	}
	return 0, 0, false
}

func (c *calls) end(size int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running, c.used = c.running-1, c.used-size
	c.ended.Broadcast()
}

// Package parallel calls a function for each of many rows on all cores, with a bound on the memory that the
// calls need together. Results belong into a slice, by the number of the call: then they do not depend on the
// order in which calls end.
package parallel

import (
	"context"
	"runtime"
	"sync"

	"golang.org/x/sync/semaphore"
)

// most is in bytes: on two cores two rows of a hundred thousand requests fit.
const most = 128 << 20

// Do calls f for 0 to n−1 on GOMAXPROCS goroutines, and returns when all calls have returned. size is what a
// call needs, in bytes; nil = nothing. A call that needs more than all may have together runs alone.
func Do(n int, size func(i int) int64, f func(i int)) {
	cores, memory := semaphore.NewWeighted(int64(runtime.GOMAXPROCS(0))), semaphore.NewWeighted(most)
	background := context.Background() // Acquire has no other error than that of its context
	var calls sync.WaitGroup
	for i := range n {
		var need int64
		if size != nil {
			need = min(size(i), most)
		}
		_, _ = cores.Acquire(background, 1), memory.Acquire(background, need)
		calls.Go(func() {
			f(i)
			memory.Release(need)
			cores.Release(1)
		})
	}
	calls.Wait()
}

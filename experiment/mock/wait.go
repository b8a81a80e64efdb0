package mock

import (
	"context"
	"time"
)

// waiter returns true at a time, or false before it when ctx ends or something is in wake.
type waiter func(ctx context.Context, wake <-chan struct{}, until time.Time) bool

// timerWait waits by a timer of the runtime: exact in a synctest bubble, good to about a millisecond elsewhere.
func timerWait(ctx context.Context, wake <-chan struct{}, until time.Time) bool {
	t := time.NewTimer(time.Until(until))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-wake:
	case <-ctx.Done():
	}
	return false
}

package mock

import (
	"context"
	"time"
)

// waiter returns true at until, or false earlier if ctx ends or wake has a value.
type waiter func(ctx context.Context, wake <-chan struct{}, until time.Time) bool

// timerWait waits with a runtime timer: exact in a synctest bubble, with an error of about 1 ms elsewhere.
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

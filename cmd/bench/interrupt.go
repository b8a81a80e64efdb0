package main

import (
	"context"
	"errors"
)

var errInterruptedEarly = &exitError{codeInterrupted, errors.New("interrupted before anything was measured")}

// interruptible runs what reads files and computes: a signal ends the wait for it at once, however large a file is.
// Such work leaves nothing to clean up, so it may go on until the process exits, which is next.
func interruptible[T any](ctx context.Context, work func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		value, err := work()
		done <- outcome{value, err}
	}()
	select {
	case o := <-done:
		if ctx.Err() == nil {
			return o.value, o.err
		}
	case <-ctx.Done():
	}
	var none T
	return none, errInterruptedEarly
}

//go:build !linux

package mock

// preciseClock returns the best waiter of the system for the goroutine that calls it, and what to do with it after use.
func preciseClock() (waiter, func()) { return timerWait, func() {} }

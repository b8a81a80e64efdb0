//go:build !linux

package mock

// preciseClock returns the best available waiter and a function to release it.
func preciseClock() (waiter, func()) { return timerWait, func() {} }
